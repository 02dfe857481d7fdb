"""How many durable transitions a second the journal makes, and how long each one takes, alone and beside others."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from django.db import connections

from lifecycle_core.application import bootstrap
from lifecycle_core.application.bench import figures
from lifecycle_core.application.bench.figures import Figure, Options
from lifecycle_core.application.bench.stage import WORKER, Stage
from lifecycle_core.contract import events, identities
from lifecycle_core.contract.ports import Change, Claim
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import machine

LEASE_MS = 3_600_000


def measure(options: Options) -> Iterator[Figure]:
    """Let callers append to invocations of their own as fast as they can."""
    stage = Stage("http://127.0.0.1:1/v1", "unused", 1)
    for callers in options.callers:
        yield from _load(stage, callers, options.seconds)


def _load(stage: Stage, callers: int, seconds: float) -> Iterator[Figure]:
    journals = [_Caller(stage.start(0)) for _ in range(callers)]
    for caller in journals:
        caller.append()
        caller.samples_ns.clear()
    together = threading.Barrier(callers)
    began = time.perf_counter()
    with ThreadPoolExecutor(max_workers=callers) as pool:
        for done in [pool.submit(caller.run, together, seconds) for caller in journals]:
            done.result()
    took = time.perf_counter() - began
    samples = [sample for caller in journals for sample in caller.samples_ns]
    yield Figure(
        name="transitions.rate",
        value=len(samples) / took,
        unit="1/s",
        conditions={"callers": callers, "events": 2, "samples": len(samples)},
    )
    yield from figures.latencies("transitions.latency", samples, "median", "p99", "max", callers=callers)


class _Caller:
    """Hold the lease of one invocation and append to it."""

    def __init__(self, invocation: UUID) -> None:
        self._invocation = invocation
        self._journal = bootstrap.journal()
        self._clock = bootstrap.clock()
        self._turn = 0
        self._token = self._take()
        self.samples_ns: list[int] = []

    def run(self, together: threading.Barrier, seconds: float) -> None:
        """Append until the time is over."""
        try:
            connections["default"].ensure_connection()
            together.wait()
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                self.append()
        finally:
            connections.close_all()

    def append(self) -> None:
        """Append the two facts of one model call."""
        self._turn += 1
        facts = (
            events.ModelRequested(model_turn=self._turn, model="scripted"),
            events.ModelResponded(
                model_turn=self._turn,
                text=f"This is turn {self._turn}.",
                reasoning="",
                calls=[],
                finish="stop",
                usage={"input": 100, "output": 20, "cached": 0},
                took_ms=1,
            ),
        )
        started = time.perf_counter_ns()
        self._journal.append(
            Change(
                invocation=self._invocation,
                actor="agent:bench",
                at_ms=self._clock.now_ms(),
                transitions=machine.transitions(facts, {Status.RUNNING}),
                events=facts,
                token=self._token,
            )
        )
        self.samples_ns.append(time.perf_counter_ns() - started)

    def _take(self) -> int:
        """Take the lease and open a session, as a worker does first."""
        affinity = self._journal.load(self._invocation).affinity
        session = f"bench-{self._invocation.hex}"
        facts = (
            events.InvocationClaimed(worker=WORKER, token=1),
            events.SessionOpened(
                binding=identities.session_binding(affinity, session),
                affinity=affinity,
                opaque_identity=session,
                generation=1,
            ),
        )
        change = Change(
            invocation=self._invocation,
            actor="agent:bench",
            at_ms=self._clock.now_ms(),
            transitions=machine.transitions(facts, {Status.STARTING}),
            events=facts,
            claim=Claim(worker=WORKER, ttl_ms=LEASE_MS, seen_token=0),
        )
        return self._journal.append(change).token
