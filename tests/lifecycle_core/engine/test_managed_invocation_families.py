"""Where each of the twenty-seven families of the contract is tested (seed-contracts 18), and the one without another place."""

import dataclasses
import importlib
import inspect
from collections.abc import Sequence
from typing import Final, NamedTuple

import pytest

from lifecycle_core.engine import turn
from lifecycle_core.engine.host import Host
from lifecycle_core.engine.services import Services

WIRE: Final = "engine.test_managed_invocation"
TURNS: Final = "engine.test_managed_invocation_turns"
SESSIONS: Final = "engine.test_managed_invocation_sessions"
CONTROL: Final = "engine.test_managed_invocation_control"
REPORTS: Final = "engine.test_provider_reports"
RACES: Final = "journal.test_races"


class Family(NamedTuple):
    """What the contract says, and the tests that hold us to it: a module below `tests.lifecycle_core` and a name."""

    says: str
    tests: Sequence[tuple[str, str]]


def both(wire: str, native: str) -> Sequence[tuple[str, str]]:
    """Name a test over the providers' wires and its twin with a session that reports exactly that."""
    return (WIRE, wire), (TURNS, native)


FAMILIES: Final[dict[int, Family]] = {
    1: Family(
        "the constructor refuses a missing or bare-function validator",
        [("engine.test_managed_invocation_families", "test_nobody_can_bring_a_validator")],
    ),
    2: Family(
        "output and turn-ended are TURN_ENDED_WITHOUT_DISPOSITION, with one frame and one release",
        both(
            "test_output_and_an_ended_turn_are_no_completion",
            "test_output_and_an_ended_turn_are_invalid_with_one_frame_and_one_lease",
        ),
    ),
    3: Family(
        "one structured completion is completed",
        both(
            "test_one_structured_completion_is_completed_and_its_result_returned",
            "test_one_structured_completion_completes_and_returns_the_result",
        ),
    ),
    4: Family(
        "two completions are DUPLICATE_COMPLETION",
        both("test_two_completions_are_a_duplicate_completion", "test_two_completions_are_a_duplicate"),
    ),
    5: Family(
        "process-exited is PROVIDER_EXITED, session-disposed is no disposition",
        [(TURNS, "test_an_exited_process_failed_and_a_disposed_session_says_nothing")],
    ),
    6: Family(
        "completion and pending in either order are PENDING_INPUT_AT_COMPLETION",
        both(
            "test_completion_and_pending_in_either_order_are_pending_input_at_completion",
            "test_a_completion_and_a_pending_request_are_invalid_in_either_order",
        ),
    ),
    7: Family(
        "two pending are PROVIDER_PROTOCOL_ERROR",
        both(
            "test_two_pending_requests_are_a_failure_of_the_protocol",
            "test_two_requests_of_a_native_session_are_a_failure_of_the_protocol",
        ),
    ),
    8: Family(
        "a schema-invalid result is RESULT_SCHEMA_INVALID",
        both(
            "test_a_schema_invalid_result_is_result_schema_invalid",
            "test_a_result_against_the_schema_is_invalid",
        ),
    ),
    9: Family(
        "sink errors are mapped",
        [(REPORTS, "test_output_that_cannot_be_kept_ends_the_turn_and_counts_all_the_same")],
    ),
    10: Family(
        "a thrown turn with the secret in it fails and shows [REDACTED]",
        both(
            "test_a_failed_turn_whose_words_hold_the_secret_shows_redacted",
            "test_a_thrown_turn_fails_and_the_secret_is_nowhere",
        ),
    ),
    11: Family(
        "persist that throws is unknown, CALL_INTERRUPTED",
        [
            (
                "engine.test_persistence_fails",
                "test_persisting_that_throws_leaves_unknown_whether_an_unsafe_call_happened",
            ),
            (REPORTS, "test_an_uncertain_end_keeps_what_was_consumed"),
        ],
    ),
    12: Family(
        "fourteen broken dispatches open nothing",
        [
            ("engine.test_admission", "test_each_check_is_reached_alone_and_says_its_code"),
            ("engine.test_admission", "test_a_refused_start_has_stored_leased_and_opened_nothing"),
            ("engine.test_start_refused", "test_fourteen_broken_dispatches_open_nothing"),
        ],
    ),
    13: Family(
        "absent provider; lease failure; duplicate episode; open failure",
        [
            (SESSIONS, "test_an_absent_provider_is_refused_before_anything_is_stored"),
            (WIRE, "test_a_lease_failure_opens_nothing"),
            (SESSIONS, "test_an_episode_is_admitted_once"),
            (SESSIONS, "test_a_session_that_cannot_be_opened_fails_and_may_be_tried_anew"),
        ],
    ),
    14: Family(
        "awaiting, then resume: completed with a receipt, one open, one restore of the same identity",
        [(WIRE, "test_an_awaiting_turn_is_resumed_in_its_session_and_completed_with_a_receipt")],
    ),
    15: Family(
        "restore fails: unknown, one open, lease released twice",
        [
            (WIRE, "test_a_restore_that_fails_is_unknown_and_never_a_fresh_session"),
            (SESSIONS, "test_another_session_than_the_one_asked_for_is_disposed_of_and_never_run"),
        ],
    ),
    16: Family(
        "an answer that violates the schema is invalid, no restore",
        [
            (
                "engine.test_continuing",
                "test_a_response_that_does_not_hold_together_or_fit_burns_the_invocation",
            ),
            (CONTROL, "test_an_answer_against_the_schema_restores_nothing_and_burns_nothing"),
        ],
    ),
    17: Family(
        "a stale plan binding is EXECUTOR_BINDING_MISMATCH, zero opens",
        [
            (
                "engine.test_start_refused",
                "test_a_stale_plan_binding_is_an_executor_binding_mismatch_and_opens_nothing",
            )
        ],
    ),
    18: Family(
        "an affinity shared across episodes: one open, one restore",
        [(WIRE, "test_an_affinity_shared_across_episodes_is_opened_once_and_restored_once")],
    ),
    19: Family(
        "awaiting is inspected as stopped; a cancel during a running turn is PROVIDER_CANCELLED, a late completion ignored",
        [
            (CONTROL, "test_an_invocation_that_waits_is_inspected_as_stopped"),
            (WIRE, "test_a_cancel_during_a_running_turn_is_provider_cancelled_and_inspected_as_stopped"),
            (REPORTS, "test_a_cancel_at_any_moment_ends_cancelled_and_what_comes_later_is_late"),
        ],
    ),
    20: Family(
        "a request without the capability is PROVIDER_PROTOCOL_ERROR",
        both(
            "test_a_request_without_the_capability_is_a_failure_of_the_protocol",
            "test_a_request_without_the_capability_fails_for_good",
        ),
    ),
    21: Family(
        "a shell provider is PROVIDER_NOT_IMPLEMENTED", [(SESSIONS, "test_a_shell_refuses_before_any_effect")]
    ),
    22: Family(
        "a stale request identity is CORRELATION_MISMATCH, no restore",
        [
            ("engine.test_continuing", "test_another_request_is_a_mismatch_and_changes_nothing"),
            (CONTROL, "test_a_stale_request_identity_is_a_mismatch_and_restores_nothing"),
        ],
    ),
    23: Family(
        "the secret is absent from the journal, [REDACTED] present",
        [(WIRE, "test_the_secret_is_absent_from_all_that_is_kept_and_redacted_is_present")],
    ),
    24: Family(
        "cancel, inspect and retire, with a wrong delivery and a stale manifest refused",
        [
            (
                "engine.test_cancel",
                "test_cancelling_a_delivery_cancels_what_has_not_ended_and_nothing_of_another",
            ),
            ("engine.test_cancel", "test_the_aggregate_is_that_of_the_contract"),
            (CONTROL, "test_a_stale_binding_retires_nothing"),
        ],
    ),
    25: Family(
        "retirement replay: same fact, nothing cleaned twice, other authorization refused",
        [
            (CONTROL, "test_a_delivery_is_retired_once_and_replayed"),
            ("journal.test_retirement", "test_nothing_of_the_delivery_is_left_but_the_tombstone"),
        ],
    ),
    26: Family(
        "concurrent retirement: the same authorization cleans once, of two competing exactly one succeeds",
        [
            (RACES, "test_the_same_retirement_twice_cleans_up_once_and_both_get_it"),
            (RACES, "test_one_of_two_different_retirements_succeeds"),
        ],
    ),
    27: Family(
        "a cancel after completion preserves what is terminal",
        [(CONTROL, "test_cancelling_what_is_completed_keeps_it")],
    ),
}


def test_there_are_twenty_seven_families() -> None:
    assert list(FAMILIES) == list(range(1, 28))


@pytest.mark.parametrize("number", FAMILIES)
def test_each_family_is_tested_where_it_says(number: int) -> None:
    for module, name in FAMILIES[number].tests:
        found = importlib.import_module(f"tests.lifecycle_core.{module}")
        assert callable(getattr(found, name, None)), f"{module} has no {name}"


def test_nobody_can_bring_a_validator() -> None:
    """There is one validator and no place to put another, so there is none that could be missing or a bare function."""
    places = [
        *(field.name for field in dataclasses.fields(Services)),
        *inspect.signature(Host).parameters,
        *inspect.signature(turn.ending).parameters,
    ]
    assert [place for place in places if "valid" in place or "check" in place] == []
