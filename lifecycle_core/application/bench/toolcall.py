"""What one tool call costs, from one model call to the next: facts, commits, gates, approval, session messages.

The model is a function in this process, so that nothing but the console is measured; the wire's share is what the same run
costs more with a model server behind a real socket. A gated call is one that a person is asked about: what is measured is the
decision through its use case, and all that a worker does from there to the next question. Nobody waits for a thread.
"""

import operator
import secrets
import statistics
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from uuid import UUID

from lifecycle_core.application import approvals, bootstrap, queries
from lifecycle_core.application.bench import figures, model
from lifecycle_core.application.bench.figures import Figure, Options
from lifecycle_core.application.bench.stage import Stage, services
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.status import Status
from lifecycle_core.providers.in_process import InProcessProvider
from lifecycle_core.testing import answers
from lifecycle_core.testing.model_server import ModelServer

type Samples = list[int]
type Run = Callable[[int], Samples]
type Taken = Mapping[tuple[str, int], list[Samples]]

WARM_UP: Final = 3
QUANTILES: Final = ("min", "median", "p99")


def measure(options: Options) -> Iterator[Figure]:
    """Measure calls that run at once, calls that are asked about, and the wire."""
    secret = secrets.token_urlsafe(24)
    with ModelServer(_silent, secret=secret, keep=1) as server:
        bench = _Bench(Stage(server.base_url, secret, max(WARM_UP, *options.calls)), server)
        runs: dict[str, Run] = {"ungated": bench.ungated, "gated": bench.gated, "wire": bench.wired}
        for run in runs.values():
            run(WARM_UP)
        bench.decisions.clear()
        yield from _told(_taken(runs, options), bench.decisions, options)


def _taken(runs: dict[str, Run], options: Options) -> Taken:
    """Take every kind of run in turn, so that a slow moment of the machine meets them all."""
    taken: defaultdict[tuple[str, int], list[Samples]] = defaultdict(list)
    for _ in range(options.rounds):
        for name, run in runs.items():
            for calls in options.calls:
                taken[name, calls].append(run(calls))
    return taken


def _told(taken: Taken, decisions: Samples, options: Options) -> Iterator[Figure]:
    few, many = min(options.calls), max(options.calls)
    for name in ("ungated", "gated"):
        for calls in options.calls:
            samples = [cost for run in taken[name, calls] for cost in run]
            yield from figures.latencies(f"toolcall.{name}", samples, *QUANTILES, calls=calls)
        if few != many:
            grown = _compared(taken, (name, many), (name, few), operator.truediv)
            conditions: dict[str, Json] = {"calls": many, "base_calls": few}
            yield Figure(name=f"toolcall.{name}.ratio", value=grown, unit="x", conditions=conditions)
    yield from figures.latencies("toolcall.gated.decision", decisions, *QUANTILES)
    for calls in options.calls:
        share = _compared(taken, ("wire", calls), ("ungated", calls), operator.sub) / figures.NS_PER_MS
        conditions = {"calls": calls, "quantile": "median"}
        yield Figure(name="toolcall.wire", value=share, unit=figures.MS, conditions=conditions)


def _compared(
    taken: Taken, left: tuple[str, int], right: tuple[str, int], compare: Callable[[float, float], float]
) -> float:
    """Compare the medians of two kinds of runs round by round; the median round stands, whatever disturbed the others."""
    rounds = zip(taken[left], taken[right], strict=True)
    return statistics.median(
        compare(statistics.median(one), statistics.median(other)) for one, other in rounds
    )


class _Bench:
    """Run invocations of so many calls; each run returns what its calls cost, in nanoseconds."""

    def __init__(self, stage: Stage, server: ModelServer) -> None:
        self._stage = stage
        self._server = server
        self.decisions: Samples = []

    def ungated(self, calls: int) -> Samples:
        """Run calls that need nobody, the model in process."""
        caller = model.Caller(model.UNGATED, calls)
        return self._through(caller, calls, InProcessProvider(caller.respond))

    def wired(self, calls: int) -> Samples:
        """Run calls that need nobody, the model behind a socket."""
        caller = model.Caller(model.UNGATED, calls)
        self._server.script = caller.script
        return self._through(caller, calls, None)

    def _through(self, caller: model.Caller, calls: int, provider: InProcessProvider | None) -> Samples:
        invocation = self._stage.start(calls)
        self._stage.drive(services(provider), invocation)
        _check(invocation, calls)
        return [after - before for before, after in zip(caller.asked_ns, caller.asked_ns[1:], strict=False)]

    def gated(self, calls: int) -> Samples:
        """Run calls that a person is asked about and approves at once, the model in process."""
        caller = model.Caller(model.GATED, calls)
        parts = services(InProcessProvider(caller.respond))
        invocation = self._stage.start(calls)
        self._stage.drive(parts, invocation)
        samples = []
        for _ in range(calls):
            question = queries.approvals(self._stage.actor, state="pending", invocation=invocation).items[0]
            started = time.perf_counter_ns()
            self._approve(UUID(question.id), question.request_digest)
            self.decisions.append(time.perf_counter_ns() - started)
            self._stage.drive(parts, invocation)
            samples.append(time.perf_counter_ns() - started)
        _check(invocation, calls)
        return samples

    def _approve(self, approval: UUID, request_digest: str) -> None:
        approvals.decide(
            self._stage.actor,
            approval,
            decision="approve",
            request_digest=request_digest,
            key=uuid.uuid4().hex,
        )


def _check(invocation: UUID, calls: int) -> None:
    """Refuse to tell figures of a run that did not do what it should."""
    record = bootstrap.journal().load(invocation)
    if record.status is not Status.COMPLETED or record.tool_calls != calls + 1:
        raise RuntimeError(f"the run is {record.status} after {record.tool_calls} calls of {calls + 1}")


def _silent(request: object) -> answers.Answer:
    raise RuntimeError("no run has begun")
