"""Give every invocation that has not ended the place of its session, and those that run the session that they speak in."""

from typing import Any
from uuid import uuid4

from django.db import migrations

from lifecycle_core.contract import identities
from lifecycle_core.journal import blobs
from lifecycle_core.journal.projections.sessions import PENDING
from lifecycle_core.journal.sql import as_uuid, runner

HOLDING = ("running", "awaiting-input", "unknown")


def hold(apps: Any, schema_editor: Any) -> None:
    models = {name: apps.get_model("journal", name) for name in ("Invocation", "Session", "DispatchRow")}
    run = runner(schema_editor.connection)
    for invocation in models["Invocation"].objects.order_by("created_at", "pk").iterator():
        body = models["DispatchRow"].objects.get(pk=invocation.pk).body
        dispatch: Any = blobs.unfold(body, blobs.loader(run, as_uuid(invocation.delivery_id)))
        affinity = dispatch["session"]
        session, _ = models["Session"].objects.get_or_create(
            tenant=invocation.tenant,
            affinity=invocation.affinity,
            defaults={
                "id": uuid4(),
                "delivery_id": invocation.delivery_id,
                "opaque_identity": "",
                "binding": identities.session_binding(invocation.affinity, PENDING),
                "generation": 0,
                "provider": invocation.provider,
            },
        )
        session.compatibility = affinity["sessionCompatibilityIdentity"]
        session.scope_value, session.isolation = affinity["scopeValueIdentity"], affinity["isolation"]
        if session.holder is None and invocation.status in HOLDING:
            session.holder = invocation.pk
        session.save()


class Migration(migrations.Migration):
    dependencies = [("journal", "0003_sessions_are_held")]
    operations = [migrations.RunPython(hold, migrations.RunPython.noop)]
