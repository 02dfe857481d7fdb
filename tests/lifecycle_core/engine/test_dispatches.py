"""A complete dispatch is read in exactly the contract's shape, at every level, or every wrong place is pointed at."""

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest

from lifecycle_core.contract import errors
from lifecycle_core.engine import dispatches
from tests.lifecycle_core.contract import golden
from tests.lifecycle_core.engine.test_admission import compose, failing

BOUND: Final = {"scope": "data-bound", "source": "customer", "isolation": "shared"}
SITES: Final[list[dict[str, Any]]] = [
    {"kind": "node", "nodeIdentity": "n"},
    {"kind": "parallel-branch", "nodeIdentity": "n", "branchIdentity": "left"},
    {"kind": "parallel-join", "nodeIdentity": "n"},
]
SEAL: Final = {"key": "k", "issuedAt": 1, "nonce": "n", "signature": "s"}
# Whatever somebody else defines, and the parts that may be left out.
OPEN: Final = {"/input", "/action/inputSchema", "/action/resultSchema"}
OPTIONAL: Final = ("/workspace/handle/capability", "/localReadOnlyPath")


def given() -> dict[str, Any]:
    """Return the golden dispatch with a seal."""
    dispatch: Any = golden.dispatch().as_json()
    dispatch["workspace"]["handle"]["capability"] = dict(SEAL)
    return copy.deepcopy(dispatch)


def places(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Return every place that the contract names, with its value: the whole, members and items."""
    yield at, value
    if at in OPEN or at.endswith("/configuration"):
        return
    if isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(member, f"{at}/{name}")


PLACES: Final = dict(places(given()))
PARTS: Final = [at for at in PLACES if at and not at[-1].isdigit()]
LEVELS: Final = [
    at
    for at, value in PLACES.items()
    if isinstance(value, dict) and at not in OPEN and not at.endswith("/configuration")
]
DIGESTS: Final = [at for at in PARTS if at.endswith(("bindingIdentity", "BindingIdentity", "accessDigest"))]


def around(dispatch: Any, pointer: str) -> tuple[Any, str]:
    *way, last = pointer.split("/")[1:]
    for name in way:
        dispatch = dispatch[int(name) if isinstance(dispatch, list) else name]
    return dispatch, last


def wrong(dispatch: Any) -> set[str]:
    """Return where a dispatch is wrong."""
    with pytest.raises(errors.SchemaInvalid) as refused:
        dispatches.read(dispatch)
    return {problem.pointer for problem in refused.value.problems}


@pytest.mark.parametrize("changes", [{}, {"workspace": "", "access": []}, {"session": BOUND}])
def test_what_is_composed_is_read_as_it_was(changes: dict[str, Any]) -> None:
    for access in ([{"mode": "read", "path": "**"}], [{"mode": "write", "path": "a"}]):
        composed = compose({"customer": 7}, **{"access": access, **changes})
        assert dispatches.read(composed.as_json()) == composed


def test_what_is_read_says_again_what_was_given() -> None:
    assert dispatches.read(given()).as_json() == given()
    assert dispatches.read(golden.dispatch().as_json()) == golden.dispatch()


def test_the_validators_of_a_gate_are_part_of_the_action_that_is_bound() -> None:
    dispatch = given()
    for validators in ([], ["lint", "spelling"]):
        dispatch["action"]["gate"]["deterministic"] = validators
        read = dispatches.read(dispatch)
        assert read.as_json() == dispatch
        assert failing(read) == [4], "the plan is bound to the action without them"
    for wrongly in ("lint", [""], [7]):
        dispatch["action"]["gate"]["deterministic"] = wrongly
        assert all(at.startswith("/action/gate/deterministic") for at in wrong(dispatch))


@pytest.mark.parametrize("site", SITES, ids=lambda site: site["kind"])
def test_every_kind_of_site_is_read_and_only_a_branch_names_one(site: dict[str, Any]) -> None:
    dispatch = given()
    dispatch["episode"]["site"] = site
    assert dispatches.read(dispatch).as_json() == dispatch
    assert dispatches.read_episode(dispatch["episode"]).as_json() == dispatch["episode"]
    wrongly = {k: v for k, v in site.items() if k != "branchIdentity"}
    if "branchIdentity" not in site:
        wrongly["branchIdentity"] = "left"
    dispatch["episode"]["site"] = wrongly
    assert wrong(dispatch) == {"/episode/site/branchIdentity"}


@pytest.mark.parametrize("pointer", PARTS)
def test_no_part_may_be_missing_or_be_something_else(pointer: str) -> None:
    dispatch = given()
    place, name = around(dispatch, pointer)
    if not pointer.endswith(OPTIONAL):
        kept = place.pop(name)
        assert any(pointer == at or pointer.startswith(f"{at}/") for at in wrong(dispatch))
        place[name] = kept
    if pointer not in OPEN:
        place[name] = True
        assert pointer in wrong(dispatch)


@pytest.mark.parametrize("pointer", LEVELS)
def test_no_level_has_a_part_that_the_contract_does_not_name(pointer: str) -> None:
    dispatch = given()
    place, name = around(dispatch, f"{pointer}/more")
    place[name] = 1
    assert f"{pointer}/more" in wrong(dispatch)


@pytest.mark.parametrize("pointer", DIGESTS)
@pytest.mark.parametrize("text", ["sha256:" + "A" * 64, "sha256:" + "0" * 63, "0" * 64, ""])
def test_a_digest_has_the_form_of_one(pointer: str, text: str) -> None:
    dispatch = given()
    place, name = around(dispatch, pointer)
    place[name] = text
    assert pointer in wrong(dispatch)


@pytest.mark.parametrize("value", [None, [], "dispatch", 7, {}])
def test_what_is_no_dispatch_is_none(value: Any) -> None:
    assert wrong(value)


def test_the_workspace_and_the_scope_have_the_parts_of_their_kind() -> None:
    both = given()
    both["workspace"]["view"] = {
        "viewIdentity": "v",
        "source": "s",
        "episode": both["episode"],
        "accessDigest": both["workspace"]["handle"]["accessDigest"],
    }
    assert wrong(both) == {"/workspace"}
    for kind in ("read", "none"):
        other = given()
        other["workspace"]["kind"] = kind
        assert wrong(other) == {"/workspace"}
    unbound = given()
    unbound["executor"]["session"]["policy"]["scope"] = {"kind": "data-bound"}
    assert wrong(unbound) == {"/executor/session/policy/scope/source"}


def test_the_pointers_begin_where_the_dispatch_lies() -> None:
    dispatch = given()
    dispatch["plan"]["bindingIdentity"] = "?"
    with pytest.raises(errors.SchemaInvalid) as refused:
        dispatches.read(dispatch, at="/dispatch")
    assert [problem.pointer for problem in refused.value.problems] == ["/dispatch/plan/bindingIdentity"]
