"""Make the triggers that refuse what no code may do."""

from typing import Any

from django.db import migrations

from lifecycle_core.journal import walls


def install(apps: Any, schema_editor: Any) -> None:
    walls.install(schema_editor.connection)


def remove(apps: Any, schema_editor: Any) -> None:
    walls.remove(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("journal", "0001_initial")]
    operations = [migrations.RunPython(install, remove)]
