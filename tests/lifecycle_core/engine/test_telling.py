"""What people and hosts say to an agent either can be told in a message of its session, or is refused where it is said."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import continuing, invocations, queries
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import EffectClass
from lifecycle_core.engine import telling
from lifecycle_core.journal import blobs
from lifecycle_core.journal.models import Event
from tests.lifecycle_core.engine import test_resolution, world
from tests.lifecycle_core.engine.world import ANN, SEND, World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

VALUE_BYTES: Final = 256 * 1024
MOST: Final = VALUE_BYTES - telling.ENVELOPE_BYTES


@pytest.fixture
def small(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a core whose values are small, so that large ones are soon told."""
    world.services = replace(world.services, value_bytes=VALUE_BYTES)
    world.store._limits = blobs.Limits(value=VALUE_BYTES)
    world.install(monkeypatch)
    return world


@dataclass(frozen=True)
class Entrance:
    """A way by which something is said to an agent: what comes before it, how it is said, and as what it is told."""

    before: Callable[[World], UUID]
    say: Callable[[World, UUID, str], object]
    told: Callable[[str], Json]


def _one_call(core: World) -> UUID:
    return core.run(calls(call(SEND, "c1", to="bob")), complete())


def _question(core: World) -> UUID:
    return core.run(calls(ask("q1")), complete())


def _edit(core: World, invocation: UUID, text: str) -> None:
    core.tools[SEND].act = lambda arguments, context: "sent"
    core.decide(core.approval(invocation), "edit", arguments={"to": text})


def _respond(core: World, invocation: UUID, text: str) -> None:
    core.decide(core.approval(invocation), "respond", result=text)


def _respond_with_object(core: World, invocation: UUID, text: str) -> None:
    core.decide(core.approval(invocation), "respond", result={"said": text})


def _reject(core: World, invocation: UUID, text: str) -> None:
    core.decide(core.approval(invocation), "reject", reason=text)


def _answer(core: World, invocation: UUID, text: str) -> None:
    core.answer(core.input(invocation), text)


def _continue(core: World, invocation: UUID, text: str) -> None:
    episode: Any = queries.dispatch(ANN, invocation)["episode"]
    continuing.continue_with_input(
        ANN,
        invocation,
        episode=episode,
        kind="ANSWER",
        request_identity="q1",
        content=text,
        content_identity=digests.digest(text),
    )


def _resolve(core: World, invocation: UUID, text: str) -> None:
    found = test_resolution.happened(test_resolution.intent(core, invocation), {"id": text})
    test_resolution.resolve(core, invocation, "continue", found)


def _refused(text: str) -> Json:
    return {"error": "REJECTED", "detail": "A person refused this call.", "reason": text}


ENTRANCES: Final = {
    "edited arguments": Entrance(_one_call, _edit, lambda text: {"to": text}),
    "a result that is a text": Entrance(_one_call, _respond, lambda text: text),
    "a result that is an object": Entrance(_one_call, _respond_with_object, lambda text: {"said": text}),
    "the reason of a refusal": Entrance(_one_call, _reject, _refused),
    "an answer": Entrance(_question, _answer, lambda text: {"kind": "ANSWER", "content": text}),
    "a response": Entrance(_question, _continue, lambda text: {"kind": "ANSWER", "content": text}),
    "what became of a call": Entrance(test_resolution.unknown, _resolve, lambda text: {"id": text}),
}


def largest(told: Callable[[str], Json]) -> str:
    """Return a text, of quotation marks as far as they go, that takes exactly as much of a message as there is."""
    none, one = telling.size(told("")), telling.size(told('"'))
    quotes, rest = divmod(MOST - none, one - none)
    text = '"' * quotes + "x" * rest
    assert telling.size(told(text)) == MOST
    return text


def rows(core: World, invocation: UUID) -> list[Any]:
    """Return everything that is stored of an invocation and shown."""
    asked = [*core.approvals(invocation, state=None), *core.inputs(invocation, state=None)]
    return [core.item(invocation), core.events(invocation), asked]


@pytest.mark.parametrize("name", ENTRANCES)
def test_what_just_fits_is_told_and_the_run_goes_to_its_end(small: World, name: str) -> None:
    entrance = ENTRANCES[name]
    invocation = entrance.before(small)
    text = largest(entrance.told)
    entrance.say(small, invocation, text)
    small.settle()
    assert (small.status(invocation), small.disposition(invocation).get("code")) == ("completed", None)
    arrived: list[Json] = [*small.last_results().values()]
    if name == "edited arguments":
        arrived = [telling.text(arguments) for arguments in small.tools[SEND].arguments]
    assert arrived[0] == telling.text(entrance.told(text))


@pytest.mark.parametrize("name", ENTRANCES)
def test_what_is_one_too_large_is_refused_and_nothing_is_stored(small: World, name: str) -> None:
    entrance = ENTRANCES[name]
    invocation = entrance.before(small)
    before = rows(small, invocation)
    with pytest.raises(errors.ValueTooLarge) as refused:
        entrance.say(small, invocation, largest(entrance.told) + "x")
    assert refused.value.limit_bytes == MOST
    assert rows(small, invocation) == before
    entrance.say(small, invocation, "little")
    small.settle()
    assert small.status(invocation) == "completed"


def test_an_input_that_just_fits_is_told_and_the_run_goes_to_its_end(small: World) -> None:
    invocation = small.start(complete(), input={"text": _largest_input()})
    assert small.drive(invocation) == "completed"
    assert len(small.seen[0][1]) > MOST


def test_an_input_that_is_one_too_large_is_refused_and_nothing_is_stored(small: World) -> None:
    with pytest.raises(errors.ValueTooLarge) as refused:
        small.start(complete(), input={"text": _largest_input() + "x"})
    assert refused.value.limit_bytes == MOST
    assert queries.invocations(ANN).items == []
    assert not Event.objects.exists()


def test_a_dispatch_that_is_one_too_large_is_refused_and_nothing_is_stored(small: World) -> None:
    large: Json = {"script": "script-1", "text": _largest_input() + "x"}
    dispatch = invocations.compose(ANN, agent="worker", action=world.ACTION, input=large)
    with pytest.raises(errors.ValueTooLarge):
        invocations.start_dispatch(ANN, dispatch=dispatch.as_json())
    assert not Event.objects.exists()


def _largest_input() -> str:
    return largest(lambda text: "Do it" + telling.text({"script": "script-1", "text": text}))


@pytest.mark.parametrize("length", [0, 1, 7])
@pytest.mark.parametrize("character", ["x", '"', "\\", "\n", "\u0001", "\u2028", "\U0001f600"])
def test_the_size_is_that_of_the_text_in_a_message(character: str, length: int) -> None:
    values: tuple[Json, Json] = (character * length, {"a": [character * length]})
    for value in values:
        message = digests.canonical({"content": telling.text(value)})
        assert telling.size(value) == len(message) - len('{"content":}')


def test_a_tools_result_has_the_same_bound(small: World) -> None:
    """What a tool gives back is a fact already: it is lost instead of refused, and the run goes on."""
    small.gates[:] = [world.AllowGate()]
    tool = small.tools[world.BY_CLASS[EffectClass.UNSAFE]]
    text = largest(lambda text: text)
    tool.act = lambda arguments, context: text if len(tool.ran) == 1 else text + "x"
    invocation = small.run(calls(call(SEND, "a")), calls(call(SEND, "b")), complete())
    assert small.status(invocation) == "completed"
    kept = {id: content for id, (_, content) in small.results(invocation).items()}
    assert kept["a"] == text
    assert isinstance(kept["b"], dict)
    assert kept["b"]["error"] == "RESULT_TOO_LARGE"
