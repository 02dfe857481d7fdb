"""Let a session be held by one invocation at a time, and say what it is bound to before anybody has opened it."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("journal", "0002_walls")]
    operations = [
        migrations.AddField("session", "compatibility", models.CharField(default="", max_length=71)),
        migrations.AddField("session", "holder", models.UUIDField(null=True)),
        migrations.AddField("session", "isolation", models.CharField(default="", max_length=8)),
        migrations.AddField("session", "scope_value", models.CharField(default="", max_length=71)),
        migrations.AddIndex(
            "invocation",
            models.Index(fields=["tenant", "affinity", "created_at"], name="invocations_by_affinity"),
        ),
        migrations.AddConstraint(
            "session", models.UniqueConstraint(fields=("holder",), name="one_session_per_holder")
        ),
        migrations.AddConstraint(
            "session",
            models.CheckConstraint(
                condition=Q(generation=0, opaque_identity="") | ~Q(opaque_identity="") & Q(generation__gt=0),
                name="an_opened_session_has_a_generation",
            ),
        ),
    ]
