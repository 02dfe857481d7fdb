"""Register the console with Django."""

from django.apps import AppConfig

from console import logs


class ConsoleConfig(AppConfig):
    name = "console"
    verbose_name = "Lifecycle Console"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Keep the secrets of running turns out of the log."""
        from lifecycle_core.application import credentials

        logs.clean_with(credentials.without_leased)
