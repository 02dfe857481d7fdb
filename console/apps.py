"""Register the console with Django."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"
    verbose_name = "Lifecycle Console"
    default_auto_field = "django.db.models.BigAutoField"
