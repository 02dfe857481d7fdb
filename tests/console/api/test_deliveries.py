"""Deliveries and tombstones over REST."""

from tests.console.api.conftest import WRITE, Api, World


def test_a_delivery_is_known_by_its_id_and_by_its_identity(api: Api, world: World) -> None:
    world.start(delivery="release-7")
    by_identity = api.get("deliveries/release-7").json()
    assert api.get(f"deliveries/{by_identity['id']}").json() == by_identity
    assert by_identity["process"] == "terminal"


def test_an_identity_that_looks_like_the_id_of_another_delivery_does_not_stand_for_it(
    api: Api, world: World
) -> None:
    world.start(delivery="release-7")
    known = api.get("deliveries/release-7").json()["id"]
    for spelt in (known, known.upper(), known.replace("-", ""), f"{{{known}}}"):
        world.start(delivery=spelt)
        assert api.get(f"deliveries/{spelt}").json()["identity"] == "release-7"
    api.post(f"deliveries/{known}/retire", {"authorization": "ticket-1"}, "coordinator")
    again = api.post(f"deliveries/{known}/retire", {"authorization": "ticket-1"}, "coordinator")
    assert again.json()["delivery"] == "release-7"


def test_cancelling_a_delivery_cancels_all_of_it(api: Api, world: World) -> None:
    world.start(WRITE, delivery="release-7")
    world.start(WRITE, delivery="release-7")
    shown = api.post("deliveries/release-7/cancel", {"reason": "COORDINATOR_STOP"}, "coordinator").json()
    assert [invocation["status"] for invocation in shown["invocations"]] == ["cancelled", "cancelled"]


def test_a_cancel_needs_a_reason_that_exists(api: Api, world: World) -> None:
    world.start(WRITE, delivery="release-7")
    for body in ({}, {"reason": "BECAUSE"}):
        assert api.post("deliveries/release-7/cancel", body, "coordinator").status_code == 422


def test_a_retired_delivery_leaves_a_tombstone(api: Api, world: World) -> None:
    invocation = world.start(delivery="release-7")
    response = api.post("deliveries/release-7/retire", {"authorization": "ticket-1"}, "coordinator")
    tombstone = response.json()
    assert set(tombstone) >= {
        "delivery",
        "authorization",
        "fact",
        "retired_by",
        "retired_at",
        "invocations",
        "chain_heads",
    }
    assert (tombstone["delivery"], tombstone["invocations"]) == ("release-7", 1)
    assert api.get(f"tombstones/{tombstone['id']}").json() == tombstone
    assert api.get("tombstones/release-7").json() == tombstone
    for gone in ("deliveries/release-7", f"invocations/{invocation}"):
        assert api.get(gone).status_code == 404


def test_retiring_again_with_the_same_authorization_gets_the_same_fact(api: Api, world: World) -> None:
    world.start(delivery="release-7")
    body = {"authorization": "ticket-1"}
    first = api.post("deliveries/release-7/retire", body, "coordinator")
    for reference in ("release-7", first.json()["id"]):
        assert api.post(f"deliveries/{reference}/retire", body, "coordinator").content == first.content


def test_another_authorization_is_refused(api: Api, world: World) -> None:
    world.start(delivery="release-7")
    api.post("deliveries/release-7/retire", {"authorization": "ticket-1"}, "coordinator")
    response = api.post("deliveries/release-7/retire", {"authorization": "ticket-2"}, "coordinator")
    assert (response.status_code, response.json()["code"]) == (403, "RETIREMENT_NOT_AUTHORIZED")


def test_bindings_must_be_exactly_those_of_the_delivery(api: Api, world: World) -> None:
    world.start(delivery="release-7")
    delivery = api.get("deliveries/release-7").json()
    wrong = {"authorization": "ticket-1", "manifest_binding": "another"}
    assert api.post("deliveries/release-7/retire", wrong, "coordinator").status_code == 403
    right = {
        "authorization": "ticket-1",
        "manifest_binding": delivery["manifest_binding"],
        "activation_binding": delivery["activation_binding"],
    }
    assert api.post("deliveries/release-7/retire", right, "coordinator").status_code == 200


def test_a_retired_delivery_cannot_start_again(api: Api, world: World) -> None:
    world.start(delivery="release-7")
    api.post("deliveries/release-7/retire", {"authorization": "ticket-1"}, "coordinator")
    body = {"agent": "writer", "action": "write", "input": {"about": "x"}, "delivery": "release-7"}
    response = api.post("invocations", body, "host")
    assert (response.status_code, response.json()["code"]) == (409, "DELIVERY_RETIRED")


def test_a_delivery_that_has_work_to_start_cannot_be_retired(api: Api, world: World) -> None:
    body = {"agent": "writer", "action": "write", "input": {"about": "x"}, "delivery": "release-7"}
    api.post("invocations", body, "host")
    response = api.post("deliveries/release-7/retire", {"authorization": "ticket-1"}, "coordinator")
    assert (response.status_code, response.json()["code"]) == (409, "DELIVERY_BUSY")
