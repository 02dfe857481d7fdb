"""What plugins cost one tool call: admission, the way through interceptors and the result, without anything of the world."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from lifecycle_core.application.bench import figures
from lifecycle_core.application.bench.figures import Figure, Options
from lifecycle_core.contract import stages
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.frozen import freeze
from lifecycle_core.contract.plugins import Plugin, Verdict
from lifecycle_core.contract.ports import EffectClass
from lifecycle_core.contract.subjects import Budget, Identity, Moment, ToolCall, Trusted
from lifecycle_core.engine import tool_stages
from lifecycle_core.engine.chain import Chain, Roster
from lifecycle_core.engine.health import Health

ROUNDS: Final = 2_000
NS_PER_US: Final = 1_000
IDENTITY: Final = Identity(invocation="bench", attempt="1", model_turn=1, tool_call="call")
TRUSTED: Final = Trusted(
    tenant="bench",
    principal="user:bench",
    agent="bench",
    budget=Budget(model_turns=1, tool_calls=1, tokens=1, seconds=1),
)


def measure(options: Options) -> Iterator[Figure]:
    """Send one call through an empty chain and through a full one, in turn."""
    payload = _payload()
    empty, full = _chain(), _chain(*_plugins())
    samples: dict[str, list[int]] = {"empty": [], "full": []}
    for _ in range(ROUNDS):
        for name, chain in (("empty", empty), ("full", full)):
            samples[name].append(_one(chain, payload))
    median = {name: figures.quantile(taken, "median") / NS_PER_US for name, taken in samples.items()}
    yield Figure(name="chain.empty", value=median["empty"], unit="us", conditions={"samples": ROUNDS})
    yield Figure(
        name="chain.more",
        value=median["full"] - median["empty"],
        unit="us",
        conditions={
            "observers": 20,
            "gates": 5,
            "transformers": 3,
            "interceptors": 3,
            "samples": ROUNDS,
        },
    )


def _one(chain: Chain, payload: Json) -> int:
    began = time.perf_counter_ns()
    call = ToolCall(
        identity=IDENTITY,
        trusted=TRUSTED,
        tool="files_write",
        family="files",
        effect_class=EffectClass.RECONCILABLE,
        arguments=freeze(payload),
    )
    call, _ = chain.admit(stages.TOOL_ADMIT, call)
    chain.show(Moment(stage=stages.TOOL_CALL, when="before", subject=call))
    outcome = chain.around(
        stages.TOOL_CALL, call, lambda carried: carried.answered("done"), tool_stages.understood
    )
    told = chain.transform(stages.TOOL_RESULT, outcome)
    chain.show(Moment(stage=stages.TOOL_CALL, when="after", subject=call, outcome=told))
    return time.perf_counter_ns() - began


def _chain(*plugins: Plugin) -> Chain:
    return Chain(
        Roster(plugins),
        health=Health(),
        note=lambda fact: None,
        now_ms=lambda: time.monotonic_ns() // 1_000_000,
    )


def _plugins() -> list[Plugin]:
    def many(count: int, stage: str, kind: stages.Kind, act: Callable[..., Any]) -> list[Plugin]:
        return [Plugin(name=f"{kind}-{number}", stage=stage, kind=kind, act=act) for number in range(count)]

    allowed = Verdict(outcome="allow", rule="bench")
    return [
        *many(5, stages.TOOL_ADMIT, "gate", lambda call: allowed),
        *many(3, stages.TOOL_ADMIT, "transformer", _add),
        *many(3, stages.TOOL_CALL, "interceptor", lambda call, proceed: proceed()),
        *many(20, stages.TOOL_CALL, "observer", lambda moment: None),
    ]


def _add(call: ToolCall) -> ToolCall:
    return call.changed(arguments={**call.arguments, "seen": True})


def _payload() -> dict[str, Json]:
    """Return arguments of about 2 KB, four levels deep."""
    return {
        "path": "reports/summary.md",
        "parts": [{"title": f"part {n}", "body": {"lines": ["x" * 90] * 3}} for n in range(6)],
    }
