"""Retry: a new episode of the same invocation, after the latest attempt only, and of two at once one starts."""

import dataclasses
import threading
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import (
    agents,
    cancellations,
    composition,
    deliveries,
    hosting,
    invocations,
    queries,
    retries,
)
from lifecycle_core.contract import errors, identities, ports
from lifecycle_core.contract.identities import EpisodeRef
from lifecycle_core.contract.ports import Appended, NewInvocation
from lifecycle_core.engine import dispatches
from lifecycle_core.engine.host import Checked
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import ANN, NativeProvider, World, ask, calls, complete, emitting
from tests.lifecycle_core.journal import racing

pytestmark = pytest.mark.django_db
KEEPER: Final = {
    "workspace": '"desk"',
    "access": '[{ mode = "read", path = "**" }, { mode = "write", path = "notes/**" }]',
}


def ended(world: World, *happened: ports.NativeEvent, **given: Any) -> UUID:
    """Return an invocation whose session reported some events."""
    world.providers["chat-completions"] = NativeProvider([emitting(*happened)])
    return world.run(**given)


def failed(world: World) -> UUID:
    return ended(world, ports.ProcessExited())


def invalid(world: World) -> UUID:
    return ended(world)


def cancelled(world: World) -> UUID:
    started = world.start(complete())
    cancellations.cancel(ANN, started)
    return started


def episode(invocation: UUID) -> EpisodeRef:
    return dispatches.read(queries.dispatch(ANN, invocation)).episode


def retry(invocation: UUID, **given: Any) -> UUID:
    return UUID(retries.retry(ANN, invocation, **given).id)


@pytest.mark.parametrize("make", [failed, invalid, cancelled])
def test_what_ended_without_a_result_is_tried_again_as_a_new_episode(
    world: World, make: Callable[[World], UUID]
) -> None:
    first = make(world)
    assert world.status(first) == make.__name__
    assert retries.outlook(ANN, world.item(first)).allowed
    second = retry(first)
    before, after = episode(first), episode(second)
    assert (after.thread, after.site, after.invocation) == (before.thread, before.site, before.invocation)
    assert after.attempt == identities.host_identity("attempt", before.thread, before.site, 2)
    assert after.attempt != before.attempt
    old, new = world.item(first), world.item(second)
    assert (new.attempt, new.parent, new.delivery_id) == (2, str(first), old.delivery_id)
    assert (new.input, world.status(first)) == (old.input, make.__name__)


def test_a_retry_runs_in_a_session_of_its_own_to_its_end(world: World) -> None:
    first = failed(world)
    provider = NativeProvider([emitting(ports.StructuredCompletion(result={"ok": True}))])
    world.providers["chat-completions"] = provider
    second = retry(first)
    world.settle()
    assert (world.status(first), world.status(second)) == ("failed", "completed")
    assert (len(provider.opened), provider.restored) == (1, [])


def test_only_the_latest_attempt_is_tried_again(world: World) -> None:
    first = failed(world)
    second = retry(first)
    assert not retries.outlook(ANN, world.item(first)).allowed
    with pytest.raises(errors.RetryRefused) as refused:
        retry(first)
    assert refused.value.following == str(second)
    world.settle()
    third = retry(second)
    assert (world.item(third).attempt, world.item(third).parent) == (3, str(second))
    assert len({episode(each).attempt for each in (first, second, third)}) == 3
    with pytest.raises(errors.RetryRefused):
        retry(first)


def completed(world: World) -> UUID:
    return world.run(complete())


def starting(world: World) -> UUID:
    return world.start(complete())


def awaiting(world: World) -> UUID:
    return world.run(calls(ask()), complete())


def unknown(world: World) -> UUID:
    return ended(world, ports.ProviderUncertain(phase="result", detail=""))


def hopeless(world: World) -> UUID:
    """Return one that failed with the hint `never`."""
    asked = ports.InputAsked(call_id="c", request_identity="r", prompt="?", response_schema={})
    world.apply("worker", capabilities='["structured-completion"]')
    found = ended(world, asked)
    assert world.disposition(found)["retry"] == "never"
    return found


@pytest.mark.parametrize("make", [completed, starting, awaiting, unknown, hopeless])
def test_what_may_not_be_tried_again_is_refused_and_starts_nothing(
    world: World, make: Callable[[World], UUID]
) -> None:
    invocation = make(world)
    count = len(queries.invocations(ANN).items)
    assert not retries.outlook(ANN, world.item(invocation)).allowed
    with pytest.raises(errors.RetryRefused):
        retry(invocation)
    assert len(queries.invocations(ANN).items) == count


def test_the_version_that_failed_is_tried_again_whatever_the_agent_is_now(world: World) -> None:
    first = failed(world)
    world.apply("worker", instructions='"Be brief."')
    new = queries.dispatch(ANN, retry(first))["executor"]
    old = queries.dispatch(ANN, first)["executor"]
    assert new == old


def test_a_retry_gives_no_more_access_than_the_host_gave_and_is_sealed_anew(world: World) -> None:
    world.apply("keeper", **KEEPER)
    agent = agents.current(w.TENANT, "keeper")
    place = composition.new_episode(w.TENANT, agent, w.ACTION, "d1")
    rules: list[Any] = [{"mode": "read", "path": "**"}]
    narrow = composition.compose(w.TENANT, agent, w.ACTION, {}, place, rules)
    started = UUID(invocations.start_dispatch(ANN, dispatch=narrow.as_json()).id)
    cancellations.cancel(ANN, started)
    first, second = queries.dispatch(ANN, started), queries.dispatch(ANN, retry(started))
    assert first["executor"]["turn"] == second["executor"]["turn"] == {"access": rules}
    assert first["workspace"]["view"]["capability"] != second["workspace"]["view"]["capability"]
    assert second["workspace"]["view"]["episode"] == second["episode"]


def test_who_may_not_start_or_not_see_it_may_not_try_it_again(world: World) -> None:
    invocation = failed(world)
    viewer = w.actor("viewer", name="user:vic")
    for nobody in (w.HOST, w.actor("owner", tenant="elsewhere")):
        with pytest.raises(errors.NotFound):
            retries.retry(nobody, invocation)
    for other in (viewer, w.BOB, w.actor("coordinator", "admin", name="user:cora")):
        assert not retries.outlook(other, world.item(invocation)).allowed
        with pytest.raises(errors.Forbidden):
            retries.retry(other, invocation)


def test_the_same_command_tries_it_again_once(world: World) -> None:
    first = failed(world)
    assert retry(first, key="k") == retry(first, key="k")
    with pytest.raises(errors.KeyReused):
        retry(failed(world), key="k")


def test_a_retired_delivery_has_nothing_to_try_again(world: World) -> None:
    first = failed(world)
    deliveries.retire(ANN, UUID(world.item(first).delivery_id), authorization="a1")
    with pytest.raises(errors.NotFound):
        retry(first)


@dataclasses.dataclass
class Meeting:
    """Let two starts meet just before they are admitted, when both have seen that nothing was retried."""

    host: Any
    barrier: threading.Barrier = dataclasses.field(default_factory=lambda: threading.Barrier(2))

    def check(self, new: NewInvocation) -> Checked:
        checked: Checked = self.host.check(new)
        return checked

    def admit(self, checked: Checked) -> Appended:
        self.barrier.wait(racing.SECONDS)
        appended: Appended = self.host.admit(checked)
        return appended


@pytest.mark.django_db(transaction=True)
def test_of_two_retries_at_once_one_starts_and_the_other_is_told_which(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = failed(world)
    meeting = Meeting(hosting.host())
    monkeypatch.setattr(hosting, "host", lambda: meeting)
    results = racing.together(lambda: retry(first), lambda: retry(first))
    [winner] = racing.won(results)
    [loser] = [result for result in results if result is not winner]
    assert isinstance(loser, errors.RetryRefused)
    assert loser.following == str(winner)
    attempts = [(item.id, item.attempt) for item in queries.invocations(ANN).items if item.parent]
    assert attempts == [(str(winner), 2)]
