"""The input card: a question of an agent, and the form made from its response schema."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from console import errors as http
from console import sentences, transcripts
from console.forms import editor
from console.views import attempts, inbox, shell
from lifecycle_core.application import inputs, queries
from lifecycle_core.application.resources import InputItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor


@shell.page("GET")
def detail(request: HttpRequest, actor: Actor, input_id: uuid.UUID) -> HttpResponse:
    """Show a question, or what became of it."""
    return card(request, actor, queries.input(actor, input_id))


@shell.page("POST")
def answer(request: HttpRequest, actor: Actor, input_id: uuid.UUID) -> HttpResponse:
    """Answer a question, or rearrange its form; a wrong answer changes nothing."""
    asked = queries.input(actor, input_id)
    form = editor.of(request, asked.response_schema)
    if asked.state == "pending" and (form.adjusted or form.problems):
        return card(request, actor, asked, form=form)
    attempt = attempts.run(
        lambda: inputs.answer(
            actor,
            input_id,
            content=form.value,
            kind="ANSWER",
            key=request.POST.get("key") or None,
        )
    )
    if isinstance(attempt, errors.SchemaInvalid):
        return card(request, actor, asked, form=form.marked(attempt.problems))
    if isinstance(attempt, errors.Refused):
        return refused(request, actor, input_id, attempt)
    return inbox.after(request, actor, str(input_id), "answered")


@shell.page("POST")
def finish(request: HttpRequest, actor: Actor, input_id: uuid.UUID) -> HttpResponse:
    """Tell the agent to finish the action with what it has."""
    attempt = attempts.run(
        lambda: inputs.answer(
            actor,
            input_id,
            content=request.POST.get("reason", ""),
            kind="ACTION_FINISH_REQUESTED",
            key=request.POST.get("key") or None,
        )
    )
    if isinstance(attempt, errors.Refused):
        return refused(request, actor, input_id, attempt)
    return inbox.after(request, actor, str(input_id), "answered")


@shell.page("POST")
def decline(request: HttpRequest, actor: Actor, input_id: uuid.UUID) -> HttpResponse:
    """Decline to answer."""
    attempt = attempts.run(
        lambda: inputs.decline(
            actor, input_id, reason=request.POST.get("reason", ""), key=request.POST.get("key") or None
        )
    )
    if isinstance(attempt, errors.Refused):
        return refused(request, actor, input_id, attempt)
    return inbox.after(request, actor, str(input_id), "answered")


def card(
    request: HttpRequest,
    actor: Actor,
    asked: InputItem,
    *,
    form: editor.Editor | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render the card, beside the inbox where there is room."""
    group = inbox.group_of(request, "mine" if asked.state == "pending" else "done")
    filled = form or editor.begin_at(request, asked.response_schema)
    context = {
        **inbox.beside(request, actor, group, asked.id),
        **inbox.after_decision(request, actor),
        "asked": asked,
        "form": filled,
        "turns": transcripts.before(actor, uuid.UUID(asked.invocation), "input.requested", asked.id),
        "key": uuid.uuid4(),
        "refusal": refusal,
    }
    wrong = bool(filled.problems) and not filled.adjusted
    part = "#detail" if shell.wants_part(request, "detail") else ""
    return shell.render(
        request, actor, f"inputs/detail.html{part}", context, section="inbox", status=422 if wrong else status
    )


def refused(request: HttpRequest, actor: Actor, input_id: uuid.UUID, refusal: errors.Refused) -> HttpResponse:
    """Show the card as it is now, with why the answer was not taken."""
    asked = queries.input(actor, input_id)
    late = isinstance(refusal, errors.AlreadyDecided | errors.RequestExpired) and asked.state != "pending"
    sentence = (
        _("Your answer came too late; nothing was changed by it.") if late else sentences.sentence(refusal)
    )
    return card(request, actor, asked, refusal=sentence, status=http.status_of(refusal))
