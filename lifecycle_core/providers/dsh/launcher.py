"""Become the harness, and die when whoever started it dies. Run as a script: python launcher.py PARENT RUNTIME ARGUMENT..."""

import ctypes
import os
import signal
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1


def die_with(parent: int) -> None:
    """Ask the kernel for SIGKILL at the end of the parent, where there is such a thing; else the closed stdin has to do."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent is gone already")


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    os.environ.pop("LC_CTYPE", None)  # Python may have added it to what we were given.
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606  (the runtime of the pinned package, with arguments that are ours)
