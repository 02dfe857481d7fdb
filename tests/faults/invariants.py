"""What must hold of a trial, whatever it was that died. Every check yields sentences; none means that all is well."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import machine
from tests.faults import people
from tests.faults.diary import Line
from tests.faults.evidence import Evidence, Row
from tests.faults.trials import Trial

type Problems = Iterator[str]

APPROVED: Final = {"approve": "approved", "edit": "edited", "reject": "rejected", "respond": "responded"}


def problems(trial: Trial, reference: Trial | None = None) -> list[str]:
    """Return everything that is wrong with a trial, compared with one in which nothing died."""
    if trial.final is None or trial.exits[-1] != 0:
        return [f"the last life ended with {trial.exits[-1]}: {trial.log[-2000:]}"]
    found = list(_of_moments(trial, trial.final))
    found += [*repeated_in_the_world(trial, trial.final), *left_open(trial, trial.final)]
    if "Traceback" in trial.log or "[error" in trial.log:
        found.append(f"something was logged as a fault: {trial.log[-2000:]}")
    if reference is not None:
        found += differences(trial, trial.final, reference)
    return found


def _of_moments(trial: Trial, final: Evidence) -> Problems:
    """Check what every life found against what was written down before it, and the end against all of it."""
    before: list[Line] = []
    for life, found in enumerate(trial.found):
        yield from _of_moment(f"found by life {life}", found, before)
        before = before + trial.lives[life]
    yield from _of_moment("at the end", final, before)


def _of_moment(when: str, now: Evidence, before: list[Line]) -> Problems:
    for check in JOURNAL:
        yield from (f"{when}: {problem}" for problem in check(now))
    for against in OUTSIDE:
        yield from (f"{when}: {problem}" for problem in against(now, before))


# ------------------------------------------------------------------------------------------------ the journal by itself


def chains_hold(now: Evidence) -> Problems:
    yield from (f"the chain is broken: {problem}" for problem in now.broken)


def numbers_have_no_gap(now: Evidence) -> Problems:
    if [event["position"] for event in now.events] != list(range(1, now.head + 1)):
        yield f"positions up to {now.head} have a gap"
    for invocation in now.invocations:
        seqs = [event["seq"] for event in _journal(now, invocation)]
        if seqs != list(range(1, invocation["version"] + 1)):
            yield f"the journal of {invocation['agent']} has the seqs {seqs}, its row says {invocation['version']}"


def rows_say_what_the_facts_say(now: Evidence) -> Problems:
    for invocation in now.invocations:
        status = _replayed(_journal(now, invocation))
        if status != invocation["status"]:
            yield f"the facts lead to {status}, the row says {invocation['status']}"
        waiting = [row for row in (*now.approvals, *now.inputs) if row["state"] == "pending"]
        if len(waiting) != invocation["open_requests"]:
            yield f"{len(waiting)} requests wait, the row says {invocation['open_requests']}"


def _replayed(journal: list[Row]) -> str | None:
    status: Status | None = None
    try:
        for event in journal:
            status = machine.next_status(status, events.BY_KIND[event["kind"]])
    except errors.StatusConflict:
        return f"a refusal at event {event['seq']} ({event['kind']} while {status})"
    return status


def decided_at_most_once(now: Evidence) -> Problems:
    rows = Counter(decision["approval_id"] for decision in now.decisions)
    facts = Counter(event["payload"]["approval"] for event in now.of_kind("approval.decided"))
    if rows != facts or any(count > 1 for count in rows.values()):
        yield f"decisions by approval: {dict(rows)} rows, {dict(facts)} facts"
    answers = Counter(event["payload"]["input"] for event in now.of_kind("input.answered"))
    if any(count > 1 for count in answers.values()):
        yield f"answers by question: {dict(answers)}"


def used_by_its_call_alone(now: Evidence) -> Problems:
    approvals = {row["id"]: row for row in now.approvals}
    calls = {row["identity"]: row for row in now.calls}
    for event in now.of_kind("tool.intended"):
        intent = event["payload"]
        if not calls[intent["call"]]["asked"]:
            continue
        approval = approvals.get(intent["approval"])
        if approval is None or approval["consumed_call"] != intent["call"] or not approval["consumed_at"]:
            yield f"{intent['tool']} ran without an approval that it has used up"
        elif intent["arguments_digest"] != digests.digest(json.loads(approval["arguments"])):
            yield f"{intent['tool']} ran with other bytes than were approved"
    for approval in now.approvals:
        if approval["consumed_at"] and approval["state"] not in ("approved", "edited"):
            yield f"an approval that is {approval['state']} was used"


def one_outcome_for_a_call(now: Evidence) -> Problems:
    outcomes = Counter(event["payload"]["call"] for event in now.of_kind("tool.completed"))
    intents = Counter(event["payload"]["call"] for event in now.of_kind("tool.intended"))
    for call in now.calls:
        identity, tool = call["identity"], call["tool"]
        if outcomes[identity] != (call["state"] == "settled"):
            yield f"{tool} is {call['state']} and has {outcomes[identity]} outcomes"
        if intents[identity] != call["attempts"]:
            yield f"{tool} has {intents[identity]} intents, its row says {call['attempts']}"


def leases_are_numbered(now: Evidence) -> Problems:
    for invocation in now.invocations:
        taken = ("invocation.claimed", "invocation.resumed")
        tokens = [e["payload"]["token"] for e in _journal(now, invocation) if e["kind"] in taken]
        if tokens != list(range(1, invocation["token"] + 1)):
            yield f"the leases have the tokens {tokens}, the row says {invocation['token']}"


# -------------------------------------------------------------------------------- the journal against what people know


def nothing_told_is_lost(now: Evidence, before: list[Line]) -> Problems:
    for line in before:
        if line["kind"] == "told" and not TOLD[line["what"]](now, line):
            yield f"lost: people were told that {line['what']} {line['request']} stands ({line})"


def _started(now: Evidence, line: Line) -> bool:
    return any(row["id"] == line["invocation"] for row in now.invocations)


def _decided(now: Evidence, line: Line) -> bool:
    wanted = (line["request"], line["decision"], line["by"], line["at"])
    made = {(row["approval_id"], row["decision"], row["by"], row["at"]) for row in now.decisions}
    states = {row["id"]: row["state"] for row in now.approvals}
    return wanted in made and states.get(line["request"]) == APPROVED[line["decision"]]


def _answered(now: Evidence, line: Line) -> bool:
    wanted = (line["state"], line["by"], line["at"], line["answer"])
    answers = {
        row["id"]: (row["state"], row["closed_by"], row["closed_at"], json.loads(row["answer"]))
        for row in now.inputs
    }
    return answers.get(line["request"]) == wanted


def _cancelled(now: Evidence, line: Line) -> bool:
    statuses = {row["id"]: row["status"] for row in now.invocations}
    return bool(statuses.get(line["request"]) == line["status"] == Status.CANCELLED)


TOLD: Final[dict[str, Callable[[Evidence, Line], bool]]] = {
    "start": _started,
    "decide": _decided,
    "answer": _answered,
    "decline": _answered,
    "cancel": _cancelled,
}


def what_waited_still_waits(now: Evidence, before: list[Line]) -> Problems:
    sent = {line["request"] for line in before if line["kind"] == "sends"}
    rows = {row["id"]: row for row in (*now.approvals, *now.inputs)}
    for line in before:
        if line["kind"] != "saw":
            continue
        row = rows.get(line["request"])
        if row is None:
            yield f"the {line['what']} that people saw is gone"
            continue
        shown = row["request_digest"] if line["what"] == "approval" else row["request_identity"]
        if shown != line["digest"]:
            yield f"the {line['what']} that people saw is another one now"
        if row["state"] != "pending" and sent.isdisjoint((line["request"], row["invocation_id"])):
            yield f"the {line['what']} that people saw is {row['state']}, and nobody answered"


def nothing_ran_that_was_not_intended(now: Evidence, before: list[Line]) -> Problems:
    ran = Counter(line["call"] for line in before if line["kind"] == "dispatch")
    intents = Counter(event["payload"]["call"] for event in now.of_kind("tool.intended"))
    for call, count in ran.items():
        if count > intents[call]:
            yield f"a call was dispatched {count} times under {intents[call]} intents"


# --------------------------------------------------------------------------------------------------- at the end of all


def repeated_in_the_world(trial: Trial, final: Evidence) -> Problems:
    """What cannot be repeated harmlessly happened once, or at most once where nobody knows."""
    dispatched = Counter(line["call"] for line in trial.lines if line["kind"] == "dispatch")
    unsafe = [call for call in final.calls if call["effect_class"] == "unsafe"]
    for call in unsafe:
        if dispatched[call["identity"]] > 1:
            yield f"{call['tool']} was dispatched {dispatched[call['identity']]} times"
    if len(trial.posts) > len(unsafe):
        yield f"{len(trial.posts)} posts arrived from {len(unsafe)} calls"
    placed = Counter(line["name"] for line in trial.lines if line["kind"] == "placed")
    if any(count > 1 for count in placed.values()):
        yield f"a file was put into its place more than once: {dict(placed)}"
    if left := [name for name in trial.files if ".lifecycle-" in name]:
        yield f"temporary files are left: {left}"


def left_open(trial: Trial, final: Evidence) -> Problems:
    """Everything has ended: as people wanted, or unknown where a call that cannot be asked was interrupted."""
    interrupted = _interrupted(trial)
    wanted = Status.UNKNOWN if interrupted else people.SCENARIOS[trial.scenario].ends
    [invocation] = final.invocations or [{"status": "nothing", "worker": "", "ready": False}]
    if invocation["status"] != wanted:
        yield f"it ended as {invocation['status']}, not {wanted}: {invocation.get('disposition')}"
    if invocation["worker"] or invocation["ready"]:
        yield "it has ended, and a worker holds it or could take it"
    open_calls = {call["identity"] for call in final.calls if call["state"] != "settled"}
    if open_calls != interrupted:
        yield f"calls without an outcome: {open_calls}, interrupted were {interrupted}"
    named = {
        call
        for event in final.of_kind("invocation.became-unknown")
        for call in event["payload"]["open_intents"]
    }
    if named != interrupted:
        yield f"the unknown outcome names {named}, interrupted were {interrupted}"
    told = {line["request"] for line in trial.lines if line["kind"] == "told"}
    if unheard := {line["request"] for line in trial.lines if line["kind"] == "sends"} - told:
        yield f"people got no answer: {unheard}"


def _interrupted(trial: Trial) -> set[str]:
    """Return the calls that a life found sent and without an outcome, of the class that nobody can ask."""
    return {
        call["identity"]
        for found in trial.found
        for call in found.calls
        if (call["effect_class"], call["state"]) == ("unsafe", "intended")
    }


def differences(trial: Trial, final: Evidence, reference: Trial) -> Problems:
    """Compare the end with that of a run in which nothing died."""
    assert reference.final is not None
    if trial.files != reference.files:
        yield f"the files differ: {_changed(trial.files, reference.files)}"
    if _requests(final) != _requests(reference.final):
        yield f"people were asked {_requests(final)}, without a crash {_requests(reference.final)}"
    if trial.posts not in ([], reference.posts):
        yield "what was posted differs"
    if _interrupted(trial):
        return
    if trial.posts != reference.posts:
        yield f"{len(trial.posts)} posts arrived, without a crash {len(reference.posts)}"
    if _results(final) != _results(reference.final):
        yield f"it completed with {_results(final)}, without a crash {_results(reference.final)}"


def _changed(files: dict[str, str], wanted: dict[str, str]) -> list[str]:
    return sorted(name for name in files.keys() | wanted.keys() if files.get(name) != wanted.get(name))


def _requests(now: Evidence) -> list[Any]:
    asked = [(row["tool"], row["state"], row["arguments"]) for row in now.approvals]
    return sorted(asked) + sorted((row["request_identity"], row["state"]) for row in now.inputs)


def _results(now: Evidence) -> list[Any]:
    return [event["payload"]["result"] for event in now.of_kind("invocation.completed")]


def _journal(now: Evidence, invocation: Row) -> list[Row]:
    by_invocation = {
        key: list(rows)
        for key, rows in groupby(
            sorted(now.events, key=lambda e: (str(e["invocation_id"]), e["seq"])),
            key=lambda e: e["invocation_id"],
        )
    }
    return by_invocation.get(invocation["id"], [])


JOURNAL: Final = (
    chains_hold,
    numbers_have_no_gap,
    rows_say_what_the_facts_say,
    decided_at_most_once,
    used_by_its_call_alone,
    one_outcome_for_a_call,
    leases_are_numbered,
)
OUTSIDE: Final = (nothing_told_is_lost, what_waited_still_waits, nothing_ran_that_was_not_intended)
