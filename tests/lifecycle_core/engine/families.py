"""The index of the families of tests that the contract names (seed-contracts 18): where each is, and on which providers."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from lifecycle_core.providers import chat_completions
from tests.lifecycle_core.engine import managed

WIRE: Final = "engine.test_managed_invocation"
AROUND: Final = "engine.test_managed_invocation_around"
TURNS: Final = "engine.test_managed_invocation_turns"
SESSIONS: Final = "engine.test_managed_invocation_sessions"
CONTROL: Final = "engine.test_managed_invocation_control"
REPORTS: Final = "engine.test_provider_reports"
RACES: Final = "journal.test_races"


class Family(NamedTuple):
    """What the contract says, and the tests that hold us to it: a module below `tests.lifecycle_core` and a name.

    At least one of them runs on each provider, but on those that `without` names, with the reason.
    """

    says: str
    tests: Sequence[tuple[str, str]]
    without: Mapping[str, str] = MappingProxyType({})


def nowhere(reason: str) -> Mapping[str, str]:
    """Say why a family concerns no provider."""
    return dict.fromkeys(managed.KEYS, reason)


def both(wire: str, native: str) -> Sequence[tuple[str, str]]:
    """Name a test over the providers' wires and its twin with a session that reports exactly that."""
    return (WIRE, wire), (TURNS, native)


FAMILIES: Final[dict[int, Family]] = {
    1: Family(
        "the constructor refuses a missing or bare-function validator",
        [("engine.test_managed_invocation_families", "test_nobody_can_bring_a_validator")],
        nowhere("there is one validator, and no provider is given it"),
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
        [
            (TURNS, "test_an_exited_process_failed_and_a_disposed_session_says_nothing"),
            (AROUND, "test_a_process_that_exits_in_the_middle_of_a_turn_is_provider_exited"),
        ],
        {
            chat_completions.KEY: "a chat has no process that could exit, and its session is no more than its messages"
        },
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
        nowhere("none of them reports output of its own: what a model says is kept with its answer"),
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
            (AROUND, "test_persisting_that_throws_in_a_turn_leaves_unknown_and_repeats_nothing"),
        ],
    ),
    12: Family(
        "fourteen broken dispatches open nothing",
        [
            ("engine.test_admission", "test_each_check_is_reached_alone_and_says_its_code"),
            ("engine.test_admission", "test_a_refused_start_has_stored_leased_and_opened_nothing"),
            ("engine.test_start_refused", "test_fourteen_broken_dispatches_open_nothing"),
            (AROUND, "test_fourteen_broken_dispatches_for_a_provider_open_nothing_in_it"),
        ],
    ),
    13: Family(
        "absent provider; lease failure; duplicate episode; open failure",
        [
            (SESSIONS, "test_an_absent_provider_is_refused_before_anything_is_stored"),
            (WIRE, "test_a_lease_failure_opens_nothing"),
            (SESSIONS, "test_an_episode_is_admitted_once"),
            (SESSIONS, "test_a_session_that_cannot_be_opened_fails_and_may_be_tried_anew"),
            (AROUND, "test_a_provider_that_is_gone_starts_nothing_and_an_episode_starts_once"),
            (AROUND, "test_a_session_that_does_not_open_fails_and_may_be_tried_anew"),
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
            (
                AROUND,
                "test_a_response_to_another_question_is_a_mismatch_and_one_that_does_not_fit_is_invalid_and_neither_restores",
            ),
        ],
    ),
    17: Family(
        "a stale plan binding is EXECUTOR_BINDING_MISMATCH, zero opens",
        [
            (
                "engine.test_start_refused",
                "test_a_stale_plan_binding_is_an_executor_binding_mismatch_and_opens_nothing",
            ),
            (AROUND, "test_a_stale_plan_binding_for_a_provider_opens_nothing_in_it"),
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
        "a shell provider is PROVIDER_NOT_IMPLEMENTED",
        [(SESSIONS, "test_a_shell_refuses_before_any_effect")],
        nowhere("it is about the providers that are shells"),
    ),
    22: Family(
        "a stale request identity is CORRELATION_MISMATCH, no restore",
        [
            ("engine.test_continuing", "test_another_request_is_a_mismatch_and_changes_nothing"),
            (CONTROL, "test_a_stale_request_identity_is_a_mismatch_and_restores_nothing"),
            (
                AROUND,
                "test_a_response_to_another_question_is_a_mismatch_and_one_that_does_not_fit_is_invalid_and_neither_restores",
            ),
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
            (AROUND, "test_what_waits_is_cancelled_inspected_and_retired_and_only_under_its_own_names"),
        ],
    ),
    25: Family(
        "retirement replay: same fact, nothing cleaned twice, other authorization refused",
        [
            (CONTROL, "test_a_delivery_is_retired_once_and_replayed"),
            ("journal.test_retirement", "test_nothing_of_the_delivery_is_left_but_the_tombstone"),
            (
                AROUND,
                "test_what_completed_stays_so_when_cancelled_and_is_retired_once_with_its_native_session",
            ),
        ],
    ),
    26: Family(
        "concurrent retirement: the same authorization cleans once, of two competing exactly one succeeds",
        [
            (RACES, "test_the_same_retirement_twice_cleans_up_once_and_both_get_it"),
            (RACES, "test_one_of_two_different_retirements_succeeds"),
        ],
        nowhere(
            "they meet in the journal; what a provider keeps is deleted after the one that counts, as family 25 shows"
        ),
    ),
    27: Family(
        "a cancel after completion preserves what is terminal",
        [
            (CONTROL, "test_cancelling_what_is_completed_keeps_it"),
            (
                AROUND,
                "test_what_completed_stays_so_when_cancelled_and_is_retired_once_with_its_native_session",
            ),
        ],
    ),
}

NO_SESSION: Final = nowhere("no session is opened in it")
BEFORE: Final = nowhere("the engine refuses it before a provider is reached")
QUERIES: Final = "application.test_queries"
RELEASE: Final = "providers.dsh.test_release"
BRIDGE: Final = "providers.dsh.test_bridge"
REGISTRY: Final = "providers.test_registry"
CREDENTIALS: Final = "access.test_credentials"
VALIDATOR: Final = "engine.test_result_schema"

# What other files of the source test.
OTHERS: Final[dict[str, Family]] = {
    "journal: a missing record": Family(
        "absent is nothing", [("journal.test_store", "test_what_is_not_there_is_not_found")], NO_SESSION
    ),
    "journal: a sorted list": Family(
        "all, in one order", [(QUERIES, "test_pages_together_are_the_list")], NO_SESSION
    ),
    "journal: deleting twice": Family(
        "deleting is idempotent",
        [("journal.test_retirement", "test_the_same_authorization_is_answered_again_and_another_is_refused")],
        NO_SESSION,
    ),
    "journal: an unsafe id": Family(
        "it is refused",
        [
            ("journal.test_requests", "test_a_name_that_no_database_holds_is_refused_by_both"),
            (
                "providers.dsh.test_turns",
                "test_a_session_of_another_affinity_or_a_forgotten_one_is_not_found",
            ),
        ],
        {chat_completions.KEY: "a chat lies in the journal and has no file that an id could name"},
    ),
    "journal: corruption": Family(
        "it surfaces in load and list",
        [
            (QUERIES, "test_a_corrupt_fact_is_shown_as_corrupt_and_hides_no_other"),
            (
                "engine.test_source_defects",
                "test_a_corrupt_record_keeps_nobody_from_listing_cancelling_and_retiring",
            ),
        ],
        NO_SESSION,
    ),
    "custody": Family(
        "an invocation works with signed values only, never with the workspace service",
        [
            ("engine.test_granting", "test_a_call_gets_the_workspace_and_the_rules_that_were_sealed"),
            ("access.test_capabilities", "test_whatever_is_not_as_it_was_sealed_is_not_known"),
        ],
        nowhere("workspaces are the tools' alone: no provider is given any"),
    ),
    "providers: exact configuration keys": Family(
        "anything else is refused",
        [
            (
                "providers.test_configuration",
                "test_what_is_wrong_is_named_by_its_key_before_anything_is_made",
            ),
            ("providers.test_configuration", "test_the_limits_of_chats_are_exact"),
            (RELEASE, "test_a_configuration_that_makes_no_sense_is_refused"),
        ],
    ),
    "providers: a wrong version": Family(
        "it is refused",
        [(RELEASE, "test_another_version_is_refused_when_the_provider_starts")],
        {chat_completions.KEY: "a chat runs in no harness that could have another version"},
    ),
    "providers: credentials": Family(
        "missing, empty and malformed ones fail",
        [
            (CREDENTIALS, "test_nobody_else_gets_it_and_nobody_learns_why"),
            (CREDENTIALS, "test_a_damaged_text_does_not_open"),
            (CREDENTIALS, "test_a_credential_that_makes_no_sense_is_refused"),
        ],
        BEFORE,
    ),
    "providers: lease zeroing": Family(
        "a released lease holds nothing", [(CREDENTIALS, "test_a_released_lease_holds_nothing")], BEFORE
    ),
    "providers: another instruction": Family(
        "its digest is not the admitted one",
        [(REPORTS, "test_instructions_that_are_not_those_admitted_are_not_followed")],
        BEFORE,
    ),
    "providers: the exact set of tools": Family(
        "the admitted ones in their order",
        [
            (BRIDGE, "test_the_tools_are_exactly_the_admitted_ones_in_their_order"),
            (
                "providers.test_sessions",
                "test_the_tools_of_a_session_are_offered_and_admitted_settings_are_sent",
            ),
            (RELEASE, "test_the_runtime_mounts_the_rows_of_the_profile_and_no_tool_of_its_own"),
        ],
    ),
    "providers: another route or model": Family(
        "it is refused",
        [
            (
                REPORTS,
                "test_a_session_for_another_model_or_route_than_the_admitted_is_neither_opened_nor_restored",
            ),
            (BRIDGE, "test_a_request_that_is_not_the_admitted_one_is_refused"),
        ],
        {
            chat_completions.KEY: "the requests of a chat are our own: nobody between could ask for something else"
        },
    ),
    "providers: path escapes": Family(
        "no path leads out",
        [("tools.test_files", "test_no_hostile_path_reaches_anything")],
        nowhere("files are the engine's tools, whichever provider asks for a call"),
    ),
    "providers: exact create and resume": Family(
        "the session that was made, and no other",
        [
            (WIRE, "test_an_awaiting_turn_is_resumed_in_its_session_and_completed_with_a_receipt"),
            (WIRE, "test_a_restore_that_fails_is_unknown_and_never_a_fresh_session"),
        ],
    ),
    "providers: shells": Family(
        "they refuse before any effect",
        [(REGISTRY, "test_a_shell_refuses_to_open_and_to_restore")],
        nowhere("it is about the providers that are shells"),
    ),
    "providers: the registry": Family(
        "duplicates and unknown keys are refused, and a start that fails gives back what was made",
        [
            (REGISTRY, "test_a_key_that_comes_twice_is_refused"),
            (REGISTRY, "test_another_key_is_refused_and_nothing_stands_in_for_it"),
            (REGISTRY, "test_a_failed_start_gives_back_what_was_made"),
        ],
        NO_SESSION,
    ),
    "validator": Family(
        "unknown keywords under an absent property, depth, bad patterns, oneOf, equality by digest",
        [
            (VALIDATOR, "test_where_it_differs_from_a_complete_implementation_it_means_to"),
            (VALIDATOR, "test_schemas_nest_up_to_the_limit"),
            (VALIDATOR, "test_a_malformed_schema_matches_nothing"),
            (VALIDATOR, "test_the_details_that_a_port_must_decide"),
        ],
        nowhere("the engine judges results, whoever reports them"),
    ),
}
