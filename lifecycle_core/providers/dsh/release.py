"""Know the one release of the harness that this provider is made for."""

from importlib import metadata, util
from pathlib import Path
from typing import Final

from lifecycle_core.contract import errors

VERSION: Final = "0.2.1rc2"
DISTRIBUTIONS: Final = ("deepseek-harness-sdk", "deepseek-harness-runtime-bin")
MODULES: Final = ("deepseek_harness", "deepseek_harness_runtime")


def is_installed() -> bool:
    """Tell whether the extra `dsh` is here, in whatever version."""
    return all(util.find_spec(module) is not None for module in MODULES)


def check() -> None:
    """Raise `errors.ConfigurationInvalid` for any other version: what the harness mounts is known of this one alone."""
    for distribution in DISTRIBUTIONS:
        found = metadata.version(distribution)
        if found != VERSION:
            raise errors.ConfigurationInvalid(
                detail=f"dsh-headless needs {distribution} {VERSION}, and {found} is installed"
            )


def runtime() -> Path:
    """Return the runtime of this machine. Raises `errors.ConfigurationInvalid` where there is none for it."""
    import deepseek_harness_runtime

    try:
        return Path(deepseek_harness_runtime.bundled_runtime_path())
    except (OSError, ValueError) as cause:
        raise errors.ConfigurationInvalid(
            detail=f"the runtime of the harness cannot be used: {cause}"
        ) from cause
