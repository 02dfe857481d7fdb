"""Every refusal has one status and one problem document."""

import inspect

import pytest

from console import errors
from lifecycle_core.contract import errors as contract
from lifecycle_core.contract.errors import Problem, Refused


def all_refusals() -> list[type[Refused]]:
    found = [
        member for _, member in inspect.getmembers(contract, inspect.isclass) if issubclass(member, Refused)
    ]
    return sorted(
        (kind for kind in {*found, *errors.STATUS} if kind is not Refused), key=lambda kind: kind.code
    )


@pytest.mark.parametrize("kind", all_refusals())
def test_every_refusal_has_its_own_row_in_the_table(kind: type[Refused]) -> None:
    assert kind in errors.STATUS


@pytest.mark.parametrize("kind", all_refusals())
def test_a_problem_names_type_title_status_and_code(kind: type[Refused]) -> None:
    document = errors.problem(kind())
    assert document["type"] == f"urn:lifecycle-console:problem:{kind.code.lower().replace('_', '-')}"
    assert document["title"].endswith(".")
    assert document["status"] == errors.STATUS[kind]
    assert document["code"] == kind.code


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in all_refusals()]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        (contract.AlreadyDecided(), 409),
        (contract.RequestExpired(), 410),
        (contract.DigestMismatch(), 409),
        (contract.KeyReused(), 422),
        (contract.SchemaInvalid(), 422),
        (contract.NotCanonical(), 400),
        (contract.ValueTooLarge(), 413),
        (contract.StatusConflict(), 409),
        (contract.Forbidden(), 403),
        (contract.NotFound(), 404),
        (contract.Unauthenticated(), 401),
    ],
)
def test_the_promised_statuses(refused: Refused, status: int) -> None:
    assert errors.response(refused).status_code == status


def test_no_refusal_but_our_own_fault_looks_like_one() -> None:
    assert [kind for kind, status in errors.STATUS.items() if status >= 500] == [errors.Internal]


def test_who_came_second_learns_who_was_first() -> None:
    document = errors.problem(
        contract.AlreadyDecided(state="approved", by="user:maria", at_ms=1_700_000_000_007)
    )
    assert document["decided"] == {
        "by": "user:maria",
        "at": "2023-11-14T22:13:20.007Z",
        "decision": "approved",
    }


def test_a_wrong_value_is_pointed_at() -> None:
    document = errors.problem(contract.SchemaInvalid(problems=[Problem("/a/0", "no")]))
    assert document["errors"] == [{"pointer": "/a/0", "detail": "no"}]


def test_a_missing_token_is_asked_for() -> None:
    assert errors.response(contract.Unauthenticated())["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "BAD_REQUEST"),
        (404, "NOT_FOUND"),
        (405, "METHOD_NOT_ALLOWED"),
        (502, "INTERNAL"),
        (418, "BAD_REQUEST"),
    ],
)
def test_a_bare_status_becomes_a_refusal(status: int, code: str) -> None:
    assert errors.of_status(status).code == code


def test_times_have_milliseconds_and_a_z() -> None:
    assert errors.instant(0) == "1970-01-01T00:00:00.000Z"
    assert errors.instant(999) == "1970-01-01T00:00:00.999Z"
