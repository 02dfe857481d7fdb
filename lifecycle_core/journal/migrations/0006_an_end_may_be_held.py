"""Let an invocation that was ended from outside be held by its worker until that has left it.

SQLite makes a table anew for that, which it refuses while a trigger speaks of the table: so the walls come down before it and
are there again after it.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from lifecycle_core.journal import walls

ENDS = ["cancelled", "completed", "failed", "invalid"]


def install(apps: Any, schema_editor: Any) -> None:
    walls.install(schema_editor.connection)


def remove(apps: Any, schema_editor: Any) -> None:
    walls.remove(schema_editor.connection)


def let_go(apps: Any, schema_editor: Any) -> None:
    """Take from those that have ended what nobody would take from them any more."""
    ended = apps.get_model("journal", "Invocation").objects.filter(status__in=ENDS)
    apps.get_model("journal", "Session").objects.filter(holder__in=ended.values("pk")).update(holder=None)
    ended.exclude(worker="", lease_expires_at=0).update(worker="", lease_expires_at=0)


class Migration(migrations.Migration):
    dependencies = [("journal", "0005_those_that_wait")]
    operations = [
        migrations.RunPython(remove, install),
        migrations.RemoveConstraint("invocation", "an_end_leaves_nothing_open"),
        migrations.AddConstraint(
            "invocation",
            models.CheckConstraint(
                condition=~Q(status__in=ENDS) | Q(ready=False, open_requests=0),
                name="an_end_leaves_nothing_open",
            ),
        ),
        migrations.RunPython(install, remove),
        migrations.RunPython(migrations.RunPython.noop, let_go),
    ]
