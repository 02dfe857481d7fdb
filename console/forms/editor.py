"""An editor of one JSON value: fields where the schema allows them, JSON always."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from django.http import HttpRequest
from django.utils.translation import gettext as _

from console import shown
from console.forms import drafts, fields
from console.forms import schema as schemas
from console.forms.drafts import MISSING, Draft, Missing
from lifecycle_core.application import schemas as schemas_of
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem

type Mode = Literal["fields", "json"]

JSON: Final = "json"
# A control and its mark are two of the 1000 fields that a request may have (DATA_UPLOAD_MAX_NUMBER_FIELDS).
MOST_CONTROLS: Final = 400


@dataclass(frozen=True, kw_only=True)
class Editor:
    """What is in the form, what it means, and what is wrong with it.

    `adjusted` tells that the form was only rearranged (a row more, another mode) and is not to be taken yet. `only_json` says
    why there are no fields, where there are none.
    """

    schema: Json
    mode: Mode
    draft: Draft
    text: str
    value: Json
    problems: Sequence[Problem] = ()
    adjusted: bool = False
    only_json: str = ""

    @property
    def root(self) -> fields.Field:
        """Return the fields to draw."""
        return fields.of(self.schema, self.draft, self.problems, required=True)

    def as_adjusted(self) -> "Editor":
        """Return the same form, not to be taken yet."""
        return replace(self, adjusted=True)

    def marked(self, problems: Sequence[Problem]) -> "Editor":
        """Return the same form with the problems that the schema found."""
        return replace(self, problems=tuple(problems))


def of(request: HttpRequest, schema: Json, initial: Json | Missing = MISSING) -> Editor:
    """Read the editor from a request: what was sent, or the value to begin with."""
    if request.method != "POST":
        return begin_at(request, schema, initial)
    why = no_fields(schema, initial)
    command = request.POST.get("adjust", "")
    if request.POST.get("mode") == "json":
        sent = from_json(schema, request.POST.get(JSON, ""), why)
    else:
        sent = from_fields(schema, request, command)
    return switched(sent, command, why) if command else sent


def begin_at(request: HttpRequest, schema: Json, initial: Json | Missing = MISSING) -> Editor:
    """Open the editor in the mode that the address asks for."""
    why = no_fields(schema, initial)
    return begin(schema, "json" if why or request.GET.get("mode") == "json" else "fields", initial, why)


def no_fields(schema: Json, initial: Json | Missing) -> str:
    """Say why a value can be edited as JSON only, or nothing."""
    if schemas.kind(schema) == "json":
        return _("The schema leaves the form open, so the value is written as JSON.")
    carried = isinstance(initial, Missing) or schemas.fits(schema, initial)
    if not carried or drafts.controls(drafts.of_value(schema, initial)) > MOST_CONTROLS:
        return _(
            "The value has parts or characters that a form cannot carry unchanged, so it is written as JSON."
        )
    return ""


def begin(schema: Json, mode: Mode, initial: Json | Missing, why: str) -> Editor:
    """Open the editor on a value, or on nothing yet."""
    draft = Draft() if why else drafts.of_value(schema, initial)
    value = None if isinstance(initial, Missing) else initial
    if isinstance(initial, Missing) and not why:
        started, _problems = drafts.value(schema, draft, needed=True)
        value = None if isinstance(started, Missing) else started
    text = "" if value is None and isinstance(initial, Missing) else shown.pretty(value)
    return Editor(schema=schema, mode=mode, draft=draft, text=text, value=value, only_json=why)


def from_fields(schema: Json, request: HttpRequest, command: str) -> Editor:
    """Read the fields that a browser sent."""
    draft = drafts.of_post(schema, request.POST)
    if command.startswith(("add ", "remove ")):
        drafts.adjust(draft, command)
    value, problems = drafts.value(schema, draft, needed=True)
    plain = None if isinstance(value, Missing) else value
    if problems:
        problems += further(schemas_of.problems(schema, plain), problems)
    return Editor(
        schema=schema,
        mode="fields",
        draft=draft,
        text=shown.pretty(plain),
        value=plain,
        problems=tuple(problems),
    )


def further(found: Sequence[Problem], known: Sequence[Problem]) -> list[Problem]:
    """Return what a schema finds beside what is known: nothing about a place that is empty yet, or about rows that moved."""
    places = [problem.pointer for problem in known]
    moved = [rows for rows, _slash, row in (place.rpartition("/") for place in places) if row.isdigit()]
    return [
        problem
        for problem in found
        if not any(f"{place}/".startswith(f"{problem.pointer}/") for place in places)
        and not any(problem.pointer.startswith(f"{rows}/") for rows in moved)
    ]


def from_json(schema: Json, text: str, why: str) -> Editor:
    """Read the JSON that was written."""
    text = text.replace("\r\n", "\n")
    try:
        value = digests.parse(text)
    except errors.NotCanonical as refused:
        problem = Problem("", _("This is not JSON: %(why)s") % {"why": refused.detail})
        return Editor(
            schema=schema,
            mode="json",
            draft=Draft(),
            text=text,
            value=None,
            problems=(problem,),
            only_json=why,
        )
    return Editor(schema=schema, mode="json", draft=Draft(), text=text, value=value, only_json=why)


def switched(sent: Editor, command: str, why: str) -> Editor:
    """Rearrange the form as its button says; a value that no field can carry stays JSON."""
    if command == "json":
        return replace(sent, mode="json", adjusted=True, problems=())
    if command == "fields" and not sent.problems:
        barrier = why or no_fields(sent.schema, sent.value)
        if barrier:
            return replace(sent, adjusted=True, only_json=barrier)
        return begin(sent.schema, "fields", sent.value, "").as_adjusted()
    return replace(sent, adjusted=command != "fields", problems=sent.problems if command == "fields" else ())
