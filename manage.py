#!/usr/bin/env python
"""Run a command of the console. `--data DIR` names the data folder for any of them."""

import os
import sys


def main(argv: list[str]) -> None:
    """Choose the data folder, since settings are read from it, and run the command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    argv, folder = without_data(argv)
    if folder is not None:
        os.environ["LIFECYCLE_DATA"] = folder
    from django.core.management import execute_from_command_line

    execute_from_command_line(argv)


def without_data(argv: list[str]) -> tuple[list[str], str | None]:
    """Take `--data DIR` or `--data=DIR` out of the arguments; whatever follows `--` is left alone."""
    kept: list[str] = []
    folder: str | None = None
    arguments = iter(argv)
    for argument in arguments:
        if argument == "--":
            return [*kept, argument, *arguments], folder
        if argument == "--data":
            folder = next(arguments, None)
            if folder is None:
                sys.exit("--data needs a folder")
        elif argument.startswith("--data="):
            folder = argument.removeprefix("--data=")
        else:
            kept.append(argument)
    return kept, folder


if __name__ == "__main__":
    main(sys.argv)
