"""Make the tenant of a console that has only one."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def make(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Create the tenant `default`."""
    tenants = apps.get_model("access", "Tenant").objects.using(schema_editor.connection.alias)
    tenants.get_or_create(slug="default", defaults={"name": "Default"})


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
