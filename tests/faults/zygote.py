"""A process with everything loaded and nothing opened, which forks a child for every order that it reads.

It has one thread and no connection, so its children begin as a fresh process would, without the second that loading takes.
"""

import gc
import importlib
import os
import signal
import sys
import traceback
from pathlib import Path

import django

from lifecycle_core.engine import redaction
from lifecycle_core.providers import chat_completions
from tests.faults.orders import Order

LONGEST_LIFE = 60


def main() -> None:
    """Answer every order with how its child ended: 0, an exit code, or the negative number of a signal."""
    _load()
    for line in sys.stdin:
        order = Order.of(line)
        # Its patterns stay in the cache of `re`, which a server fills once in its long life and a child would fill anew.
        redaction.Redactor((order.secret,))
        status = born(order)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


def _load() -> None:
    """Load what every child needs: the code, and the authorities that a client of TLS trusts."""
    django.setup()
    for name in ("tests.faults.incarnation", "django.db.models.sql.compiler"):
        importlib.import_module(name)
    from lifecycle_core.application import bootstrap

    bootstrap.providers().get(chat_completions.KEY)
    gc.collect()
    gc.freeze()


def born(order: Order) -> int:
    """Fork a child, wait for its end and return its wait status."""
    child = os.fork()
    if child == 0:
        _exit_after(order)
    return os.waitpid(child, 0)[1]


def _exit_after(order: Order) -> None:
    """Carry an order out and end without any tidying up; what goes wrong is in the child's log."""
    signal.alarm(LONGEST_LIFE)
    log = os.open(Path(order.folder) / f"log-{order.life}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 1
    try:
        importlib.import_module("tests.faults.incarnation").carry_out(order)
        code = 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
