"""Invocations: the list, and one of them in three depths of the same facts."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console import errors as http
from console import lines, sentences, timelines, transcripts
from console.views import attempts, filters, reasons, shell
from lifecycle_core.application import cancellations, permissions, queries, retries
from lifecycle_core.application.resources import InvocationItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.status import ACTIVE, TERMINAL, Status

FILTERS: Final = ("status", "agent", "delivery", "text")
PARTS: Final = ("actions", "figures", "queue", "waiting", "ending")
ROWS: Final = 200


@shell.page("GET")
def index(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List invocations, newest first."""
    chosen = filters.read(request, FILTERS)
    page = queries.invocations(actor, cursor=request.GET.get("cursor") or None, **chosen)
    context = {
        "page": page,
        "filters": chosen,
        "query": filters.write(chosen),
        "statuses": list(Status),
        "agents": queries.agents(actor),
    }
    part = "#rows" if shell.wants_part(request, "rows") else ""
    return shell.render(request, actor, f"invocations/index.html{part}", context, section="invocations")


@shell.page("GET")
def timeline(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """Show what happened when, one line each."""
    invocation = queries.invocation(actor, invocation_id)
    bars = timelines.bars(lines.all_of(actor.tenant, invocation.id), invocation.created_at)
    shown, after = window(request, bars)
    context = {"bars": shown, "total": len(bars), "after": after}
    return depth(request, actor, invocation, "timeline", context)


@shell.page("GET")
def transcript(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """Show what was said and done."""
    invocation = queries.invocation(actor, invocation_id)
    entries, after = transcripts.after(actor, invocation_id, start(request))
    return depth(request, actor, invocation, "transcript", {"entries": entries, "after": after})


@shell.page("GET")
def part(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID, part: str) -> HttpResponse:
    """Show one part of the head again: what can be done, the figures, the queue, what waits for people, or how it ended."""
    if part not in PARTS:
        raise errors.NotFound
    invocation = queries.invocation(actor, invocation_id)
    context = surroundings(actor, invocation)
    return shell.render(request, actor, f"invocations/base.html#{part}", context, section="")


@shell.page("GET", "POST")
def cancel(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """Ask whether to cancel, and cancel."""
    invocation = queries.invocation(actor, invocation_id)
    permissions.check_can_cancel_invocation(actor)
    refusal: errors.Refused | None = None
    if request.method == "POST":
        attempt = attempts.run(
            lambda: cancellations.cancel(
                actor,
                invocation_id,
                reason=reasons.of(request),
                comment=request.POST.get("comment", ""),
                key=request.POST.get("key") or None,
            )
        )
        if not isinstance(attempt, errors.Refused):
            return redirect("pages:invocation", invocation_id)
        refusal = attempt
    context = {
        "invocation": invocation,
        "key": uuid.uuid4(),
        "refusal": refusal and sentences.sentence(refusal),
    }
    status = http.status_of(refusal) if refusal else 200
    return shell.render(
        request, actor, "invocations/cancel.html", context, section="invocations", status=status
    )


def depth(
    request: HttpRequest, actor: Actor, invocation: InvocationItem, name: str, context: Mapping[str, object]
) -> HttpResponse:
    """Render one depth of an invocation, or only its further rows."""
    part = "#rows" if shell.wants_part(request, "more") else ""
    place = {"depth": name, "view": f"invocation:{invocation.id}:{name}"}
    template = f"invocations/{name}.html{part}"
    everything = {**surroundings(actor, invocation), **place, **context}
    return shell.render(request, actor, template, everything, section="invocations")


def surroundings(actor: Actor, invocation: InvocationItem) -> dict[str, object]:
    """Gather what the head of an invocation shows."""
    return {
        "invocation": invocation,
        "active": invocation.status in ACTIVE,
        **session(actor, invocation),
        **around(actor, invocation),
    }


def around(actor: Actor, invocation: InvocationItem) -> dict[str, object]:
    """Return the attempts before and after one, and whether there may be another."""
    before = attempts.find(invocation.parent or "", lambda found: queries.invocation(actor, found))
    outlook = retries.outlook(actor, invocation) if invocation.status in TERMINAL else None
    return {
        "previous": before.id if before else None,
        "following": outlook and outlook.following,
        "may_retry": outlook and outlook.allowed,
    }


def session(actor: Actor, invocation: InvocationItem) -> dict[str, object]:
    """Return the session of an invocation, and whether it waits for it."""
    affinity = queries.affinity_of(actor, uuid.UUID(invocation.id))
    mine = (member for member in affinity.invocations if member.id == invocation.id)
    return {"affinity": affinity, "waits": any(member.waits for member in mine)}


def window[T](request: HttpRequest, rows: Sequence[T]) -> tuple[Sequence[T], int | None]:
    """Cut the rows that one page shows out of a long list: the place is in the address."""
    begin = start(request)
    end = begin + ROWS
    return rows[begin:end], end if end < len(rows) else None


def start(request: HttpRequest) -> int:
    """Return where a page begins."""
    given = request.GET.get("from", "0")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
