"""A command is carried out once, however often it is sent."""

import pytest

from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.status import Status
from lifecycle_core.journal import models
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db
ONE = ports.Command(key="key", body_digest="sha256:1")
OTHER = ports.Command(key="key", body_digest="sha256:2")


def once(
    run: making.Run, command: ports.Command, *, actor: str = "user:ann", tenant: str = making.TENANT
) -> Json:
    def carry_out() -> Json:
        return {"position": run.append(making.output(1)).position, "by": actor}

    return run.store.once(tenant, actor, command, carry_out, at_ms=making.NOW)


def test_the_same_command_gets_the_stored_answer(store: Store) -> None:
    run = making.running(store)
    first = once(run, ONE)
    assert once(run, ONE) == first
    assert models.Event.objects.filter(kind="output.produced").count() == 1


def test_an_answer_can_be_asked_for_before_anything_is_computed(store: Store) -> None:
    run = making.running(store)
    assert store.answered(making.TENANT, "user:ann", ONE) is None
    first = once(run, ONE)
    answer = store.answered(making.TENANT, "user:ann", ONE)
    assert answer is not None
    assert answer.response == first


def test_another_body_under_the_same_key_is_refused(store: Store) -> None:
    run = making.running(store)
    once(run, ONE)
    with pytest.raises(errors.KeyReused):
        once(run, OTHER)
    with pytest.raises(errors.KeyReused):
        store.answered(making.TENANT, "user:ann", OTHER)
    assert models.Event.objects.filter(kind="output.produced").count() == 1


def test_keys_of_other_actors_and_tenants_are_other_keys(store: Store) -> None:
    run = making.running(store)
    once(run, ONE)
    once(run, OTHER, actor="user:bob")
    once(run, OTHER, tenant="other")
    assert models.Event.objects.filter(kind="output.produced").count() == 3


def test_a_refused_command_is_not_remembered(store: Store) -> None:
    run = making.running(store)

    def refuse() -> Json:
        run.append(making.output(1))
        raise errors.Forbidden(reason="no")

    with pytest.raises(errors.Forbidden):
        store.once(making.TENANT, "user:ann", ONE, refuse, at_ms=making.NOW)
    assert models.Event.objects.filter(kind="output.produced").count() == 0
    once(run, ONE)
    assert models.Event.objects.filter(kind="output.produced").count() == 1


def test_an_answer_may_be_nothing(store: Store) -> None:
    assert store.once(making.TENANT, "a", ONE, lambda: None, at_ms=making.NOW) is None
    answer = store.answered(making.TENANT, "a", ONE)
    assert answer is not None
    assert answer.response is None


def test_a_command_that_starts_something_is_forgotten_with_its_delivery(store: Store) -> None:
    made = making.new()

    def start() -> Json:
        making.admit(store, made)
        return str(made.id)

    store.once(making.TENANT, "user:ann", ONE, start, at_ms=making.NOW)
    run = making.Run(store=store, id=made.id)
    run.append(making.output(1), to=Status.RUNNING)
    run.end()
    run.retire()
    assert not models.CommandRow.objects.exists()


def test_a_retirement_under_a_key_keeps_its_answer(store: Store) -> None:
    run = making.running(store)
    run.end()
    answer = store.once(making.TENANT, "user:ann", ONE, lambda: str(run.retire()), at_ms=making.NOW)
    assert store.once(making.TENANT, "user:ann", ONE, lambda: None, at_ms=making.NOW) == answer
