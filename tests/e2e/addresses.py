"""The address of every page, in a world in which each has something to show."""

from collections.abc import Mapping

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.answers import Refusal
from lifecycle_core.testing.http_sink import HttpSink
from lifecycle_core.testing.scenarios import steps
from tests.e2e import puppet as puppets
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Item, Rest

LISTS: Mapping[str, str] = {
    "inbox": "/inbox/",
    "inbox-others": "/inbox/others/",
    "inbox-running": "/inbox/running/",
    "inbox-done": "/inbox/done/",
    "inbox-nothing-fits": "/inbox/?text=nothing+like+it",
    "start": "/start/",
    "invocations": "/invocations/",
    "deliveries": "/deliveries/",
    "tombstones": "/tombstones/",
    "agents": "/agents/",
    "tools": "/tools/",
    "leases": "/leases/",
    "affinities": "/affinities/",
    "affinities-shared": "/affinities/?shared=yes",
    "keys": "/keys/",
    "password": "/accounts/password/change/",
    "sign-out": "/accounts/logout/",
    "not-there": "/nothing/",
}
# For pictures alone: made of the same parts as others.
ALIKE = frozenset(
    {
        "affinities-shared",
        "start-that-cannot-run",
        "timeline-running",
        "timeline-asked-again",
        "transcript-asked-again",
    }
)
COLOUR: dict[str, Json] = {
    "type": "object",
    "required": ["colour"],
    "properties": {"colour": {"enum": ["red", "green"]}},
}


def every(rest: Rest, puppet: Puppet, sink: HttpSink, name: str) -> dict[str, str]:
    """Make one of each thing and return all pages by a name that could be that of a picture."""
    asking = puppet.play(rest, f"{name}-asks", puppets.say("I ask.", steps.ask("colour", "Which?", COLOUR)))
    waiting = puppet.play(rest, f"{name}-waits", puppets.writes(f"{name}-waits", 2))
    done = puppet.play(rest, f"{name}-done", puppets.writes(f"{name}-done", 1))
    gone = puppet.play(rest, f"{name}-gone", puppets.say("I look.", steps.listing(".")))
    rest.until_status(gone, "completed")
    tombstone = rest.retire(rest.invocation(gone)["delivery_id"], f"{name}-gone")
    [written] = rest.until_asked(done)
    assert rest.decide(written, "approve").status_code == 200
    ended = rest.until_status(done, "completed")
    asked = rest.until_questioned(asking)
    first = rest.until_asked(waiting, 2)[0]
    return {
        **LISTS,
        "approval": f"/approvals/{first['id']}/",
        "approval-edit": f"/approvals/{first['id']}/edit/",
        "approval-edit-json": f"/approvals/{first['id']}/edit/?mode=json",
        "approval-decided": f"/approvals/{written['id']}/?group=done",
        "input": f"/inputs/{asked['id']}/",
        "start-form": "/start/release-notes/write-notes/",
        "agent": "/agents/release-notes/",
        "agent-that-cannot-run": "/agents/pilot/",
        "agent-withdraw": f"/agents/pilot/versions/{rest.get('/agents/pilot')['binding']}/withdraw/",
        "start-that-cannot-run": "/start/pilot/fly/",
        "tombstone": f"/tombstones/{tombstone['id']}/",
        "tombstone-verified": f"/tombstones/{tombstone['id']}/verify/",
        **invocation(ended, waiting),
        **unknown(rest, puppet, sink, name),
        **shared(rest, puppet, name),
        **tried(rest, puppet, name),
    }


def invocation(ended: Item, waiting: str) -> dict[str, str]:
    """Return the pages of one invocation that has ended, of one that waits, and of their deliveries."""
    place, delivery = f"/invocations/{ended['id']}", f"/deliveries/{ended['delivery_id']}"
    return {
        "timeline": f"{place}/",
        "timeline-waiting": f"/invocations/{waiting}/",
        "transcript": f"{place}/transcript/",
        "journal": f"{place}/journal/",
        "journal-filtered": f"{place}/journal/?kind=tool.completed",
        "journal-verified": f"{place}/journal/verify/",
        "fact": f"{place}/journal/1/",
        "dispatch": f"{place}/dispatch/",
        "cancel": f"/invocations/{waiting}/cancel/",
        "delivery": f"{delivery}/",
        "delivery-cancel": f"{delivery}/cancel/",
        "delivery-retire": f"{delivery}/retire/",
    }


def unknown(rest: Rest, puppet: Puppet, sink: HttpSink, name: str) -> dict[str, str]:
    """Return the pages of an invocation of which nobody knows how it ended, and of one that was resolved."""
    open_one, resolved = (lose(rest, puppet, sink, f"{name}-{what}") for what in ("unknown", "resolved"))
    settled = {"outcome": "failed", "reason": "The status page shows nothing."}
    assert rest.post(f"/invocations/{resolved}/resolve", settled).status_code == 200
    return {
        "timeline-unknown": f"/invocations/{open_one}/",
        "resolve": f"/invocations/{open_one}/resolve/",
        "timeline-resolved": f"/invocations/{resolved}/",
        "transcript-resolved": f"/invocations/{resolved}/transcript/",
    }


def lose(rest: Rest, puppet: Puppet, sink: HttpSink, delivery: str) -> str:
    """Let an approved call be taken and never answered; return the invocation, of which nobody knows any more."""
    lost = puppet.play(rest, delivery, puppets.posts(sink.url))
    [asked] = rest.until_asked(lost)
    assert rest.decide(asked, "approve").status_code == 200
    rest.until_status(lost, "unknown")
    return lost


def shared(rest: Rest, puppet: Puppet, name: str) -> dict[str, str]:
    """Return the pages of a session that one invocation holds while it is at work, and another waits for."""
    turn = puppets.held(puppets.say("I take my time."), name)
    holder = puppet.sing(rest, f"{name}-shared", turn)
    assert puppet.script.holds[name].reached.wait(20)
    waiting = puppet.sing(rest, f"{name}-shared", turn)
    [session] = rest.get("/affinities", delivery=f"{name}-shared")["items"]
    return {
        "affinity": f"/affinities/{session['id']}/",
        "timeline-running": f"/invocations/{holder}/",
        "timeline-queued": f"/invocations/{waiting}/",
    }


def tried(rest: Rest, puppet: Puppet, name: str) -> dict[str, str]:
    """Return the pages of an invocation whose model was asked again, and of one that has failed."""
    turn = puppets.say(f"I look for {name}.", steps.listing("."))
    again = puppet.play(rest, f"{name}-again", puppets.refused(turn, Refusal(status=429, retry_after="1")))
    failed = puppet.play(rest, f"{name}-failed", puppets.refused(turn, Refusal(status=400)))
    rest.until_status(failed, "failed")
    rest.until_status(again, "completed")
    return {
        "timeline-asked-again": f"/invocations/{again}/",
        "transcript-asked-again": f"/invocations/{again}/transcript/",
        "timeline-failed": f"/invocations/{failed}/",
        "retry": f"/invocations/{failed}/retry/",
    }
