"""Make the table of agents' versions that were withdrawn."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0002_default_tenant"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentWithdrawal",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("by", models.CharField(max_length=200)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("reason", models.TextField(blank=True)),
                ("ended_by", models.CharField(blank=True, max_length=200)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="withdrawals",
                        to="access.agentversion",
                    ),
                ),
            ],
            options={
                "ordering": ["at", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("version",),
                        name="agent_version_withdrawn_once",
                    )
                ],
            },
        ),
    ]
