"""Register the journal with Django."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class JournalConfig(AppConfig):
    name = "lifecycle_core.journal"
    label = "journal"

    def ready(self) -> None:
        """Check the database's rules at start-up, and put the walls back after every migration."""
        from lifecycle_core.journal import checks, walls

        checks.register()
        post_migrate.connect(walls.reinstall, sender=self, dispatch_uid="journal.walls")
