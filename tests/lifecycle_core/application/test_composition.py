"""Whatever agent can be registered, the dispatch that it composes can be read again: to start it, and to retry it."""

from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import agents, cancellations, invocations, retries
from lifecycle_core.contract import errors
from lifecycle_core.engine import dispatches
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World

pytestmark = pytest.mark.django_db

LONGEST: Final = "n" * 100
LINES: Final = {
    "model": '"m"',
    "workspace": '"desk"',
    "access": '[{ mode = "read", path = "**" }]',
    "session": '{ scope = "episode" }',
}
AT_THE_EDGE: Final[dict[str, dict[str, str]]] = {
    "a long model": {"model": f'"{"m" * 200}"'},
    "a long path": {"access": f'[{{ mode = "write", path = "{"p" * 4096}" }}]'},
    "a long source": {"session": f'{{ scope = "data-bound", source = "{"s" * 200}", isolation = "shared" }}'},
    "long instructions": {"instructions": f'"{"i" * 199_000}"'},
    "a source that nobody asks for": {"session": '{ source = "customer" }'},
    "every tool": {"tools": '["files", "http_request"]'},
    "no workspace": {"workspace": '"desk"', "access": "[]"},
}
BEYOND: Final[dict[str, tuple[dict[str, str], str]]] = {
    "a longer model": ({"model": f'"{"m" * 201}"'}, "/agents/0/model"),
    "a NUL in the model": ({"model": '"a\\u0000b"'}, "/agents/0/model"),
    "a longer path": (
        {"access": f'[{{ mode = "read", path = "{"p" * 4097}" }}]'},
        "/agents/0/access/0/path",
    ),
    "bound to nothing": ({"session": '{ scope = "data-bound", isolation = "shared" }'}, "/agents/0/session"),
    "bound to no name": (
        {"session": '{ scope = "data-bound", source = "", isolation = "shared" }'},
        "/agents/0/session/source",
    ),
}


@pytest.mark.parametrize("changes", AT_THE_EDGE.values(), ids=AT_THE_EDGE)
def test_what_can_be_registered_can_be_composed_started_and_retried(
    world: World, changes: dict[str, str]
) -> None:
    world.apply(LONGEST, **LINES | changes)
    value: Any = {"s" * 200: 7}
    composed = invocations.compose(w.ANN, agent=LONGEST, action=w.ACTION, input=value)
    assert dispatches.read(composed.as_json()) == composed
    first = invocations.start_dispatch(w.ANN, dispatch=composed.as_json())
    cancellations.cancel(w.ANN, UUID(first.id))
    assert retries.retry(w.ANN, UUID(first.id)).attempt == 2


def test_a_long_purpose_is_read_again(world: World) -> None:
    text = w.toml("worker").replace('purpose = "Do it"', f'purpose = "{"p" * 199_000}"')
    agents.apply(w.ANN, text)
    composed = invocations.compose(w.ANN, agent="worker", action=w.ACTION, input={})
    assert dispatches.read(composed.as_json()) == composed


@pytest.mark.parametrize(("changes", "pointer"), BEYOND.values(), ids=BEYOND)
def test_what_no_dispatch_could_carry_is_not_registered(
    world: World, changes: dict[str, str], pointer: str
) -> None:
    with pytest.raises(errors.SchemaInvalid) as refused:
        world.apply("wide", **LINES | changes)
    assert [problem.pointer for problem in refused.value.problems] == [pointer]


@pytest.mark.parametrize("identity", ["  ", "a\nb", "\u202eabc", "d" * 201])
def test_a_delivery_that_is_no_identity_is_pointed_at_where_it_stands(world: World, identity: str) -> None:
    with pytest.raises(errors.SchemaInvalid) as named:
        invocations.compose(w.ANN, agent="worker", action=w.ACTION, input={}, delivery=identity)
    assert [problem.pointer for problem in named.value.problems] == ["/delivery"]
    dispatch: Any = invocations.compose(w.ANN, agent="worker", action=w.ACTION, input={}).as_json()
    for place in (dispatch["episode"]["thread"]["delivery"], dispatch["session"]["delivery"]):
        place["deliveryIdentity"] = identity
    with pytest.raises(errors.SchemaInvalid) as brought:
        invocations.start_dispatch(w.ANN, dispatch=dispatch)
    place = "/dispatch/episode/thread/delivery/deliveryIdentity"
    assert [problem.pointer for problem in brought.value.problems] == [place]
