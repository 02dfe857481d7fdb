"""Find those that wait for a session without looking at all that ever had it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journal", "0004_holders")]
    operations = [
        migrations.AddIndex(
            "invocation",
            models.Index(
                condition=models.Q(status="starting"),
                fields=["tenant", "affinity", "created_at"],
                name="waiting_for_a_session",
            ),
        ),
    ]
