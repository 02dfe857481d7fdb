"""Everything that the database says at one moment, as plain rows, for checks that need no database."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db.models import Model

from lifecycle_core.journal import models, verification
from tests.faults.people import TENANT

type Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The tenant's rows, the length of its feed, and what the check of the chains found broken."""

    events: list[Row]
    invocations: list[Row]
    calls: list[Row]
    approvals: list[Row]
    decisions: list[Row]
    inputs: list[Row]
    head: int
    broken: list[Row]

    def save(self, path: Path) -> None:
        """Write it down."""
        path.write_text(json.dumps(asdict(self), default=str))

    def of_kind(self, kind: str) -> list[Row]:
        """Return the events of a kind."""
        return [event for event in self.events if event["kind"] == kind]


def read(path: Path) -> Evidence:
    """Read what was written down."""
    return Evidence(**json.loads(path.read_text()))


def collect() -> Evidence:
    """Look at the database."""
    head = models.FeedHead.objects.filter(tenant=TENANT).values_list("n", flat=True).first()
    return Evidence(
        events=[{**row, "payload": json.loads(row["payload"])} for row in _rows(models.Event, "position")],
        invocations=_rows(models.Invocation, "created_at"),
        calls=_rows(models.ToolCall, "identity"),
        approvals=_rows(models.Approval, "requested_at"),
        decisions=_rows(models.Decision, "at"),
        inputs=_rows(models.InputRequest, "requested_at"),
        head=head or 0,
        broken=[dict(problem) for problem in verification.verify(TENANT).problems],
    )


def _rows(model: type[Model], order: str) -> list[Row]:
    return list(model._default_manager.order_by(order).values())
