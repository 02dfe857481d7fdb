"""Four other processes that answer one question many times at once, and drive what is to be driven: run as a module.

It loads everything once, reads a line of JSON for each round, forks the processes and answers with what came of it in each:
what its answers were told (nothing, where they counted), and how much of the turn that follows ran there. In a `blind` round
nothing is compared, and nothing driven.
"""

import json
import multiprocessing
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import django

from tests.harness import statements

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue
    from multiprocessing.synchronize import Barrier

NAMES: Final = ("north", "east", "south", "west")
FORKED: Final = multiprocessing.get_context("fork")


def main() -> None:
    """Answer what is asked, round by round."""
    django.setup()
    import tests.lifecycle_core.engine.world  # noqa: F401  (so that no process has to load it)

    tell({"ready": True})
    for line in sys.stdin:
        tell(together(json.loads(line)))


def tell(said: object) -> None:
    """Write one line."""
    print(json.dumps(said), flush=True)  # noqa: T201


def together(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Let every process answer at once."""
    barrier, said = FORKED.Barrier(len(NAMES)), FORKED.SimpleQueue()
    processes = [FORKED.Process(target=process, args=(name, barrier, said), kwargs=asked) for name in NAMES]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    return [said.get() for _ in processes]


def process(
    name: str,
    barrier: "Barrier",
    said: "SimpleQueue[dict[str, Any]]",
    *,
    input: str,
    script: str,
    threads: int,
    each: int,
    blind: bool,
) -> None:
    """Give so many answers from so many threads, every one by somebody else."""
    import pytest

    from lifecycle_core.engine.services import Timing
    from tests.lifecycle_core.engine import world as w

    world = w.World(Timing())
    world.install(pytest.MonkeyPatch())
    world.scripts[script] = [w.calls(w.ask()), w.calls(w.call(w.LOOK)), w.complete()]
    if blind:
        without_comparison()
    told, lock, ready = Counter[str](), threading.Lock(), threading.Barrier(threads)

    def work(thread: int) -> None:
        ready.wait()
        for number in range(each):
            answered = answer(UUID(input), f"user:{name}-{thread}-{number}")
            with lock:
                told[answered] += 1
            if not blind:
                drive(name)

    barrier.wait()
    working = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for one in working:
        one.start()
    for one in working:
        one.join()
    said.put({"told": told, "asked_model": len(world.seen), "ran": len(world.tools[w.LOOK].ran)})


def answer(input: UUID, by: str) -> str:
    """Answer, and return what the answer was refused with."""
    from lifecycle_core.application import inputs
    from lifecycle_core.contract import errors
    from tests.lifecycle_core.engine import world as w

    try:
        inputs.answer(w.actor("operator", name=by), input, content=by)
    except errors.AlreadyDecided as refusal:
        return f"{refusal.state} by {refusal.by}"
    except Exception as fault:  # noqa: BLE001  (the test judges it)
        return repr(fault)
    return ""


def drive(name: str) -> None:
    """Drive whatever a worker of this process could drive now."""
    from lifecycle_core.application import work
    from lifecycle_core.engine.interruption import Interruption

    for found in work.claimable(10):
        work.drive(found.invocation, name, Interruption())


def without_comparison() -> None:
    """Let every answer count that is sent, whatever there was before."""
    from lifecycle_core.application import inputs as cases
    from lifecycle_core.journal.projections import calls, inputs

    setattr(cases, "_is_repeated", lambda *given: False)  # noqa: B010
    statements.replace(inputs, "ANSWERED", " AND state = 'pending'", "")
    statements.replace(calls, "COMPLETED", " AND state <> 'settled'", "")


if __name__ == "__main__":
    main()
