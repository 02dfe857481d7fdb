"""The address of every page, in a world in which each has something to show."""

from collections.abc import Mapping

from lifecycle_core.contract.digests import Json
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
    "keys": "/keys/",
    "password": "/accounts/password/change/",
    "sign-out": "/accounts/logout/",
    "not-there": "/nothing/",
}
COLOUR: dict[str, Json] = {
    "type": "object",
    "required": ["colour"],
    "properties": {"colour": {"enum": ["red", "green"]}},
}


def every(rest: Rest, puppet: Puppet, name: str) -> dict[str, str]:
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
        "tombstone": f"/tombstones/{tombstone['id']}/",
        "tombstone-verified": f"/tombstones/{tombstone['id']}/verify/",
        **invocation(ended, waiting),
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
