"""Register the access app with Django."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "lifecycle_core.access"
    label = "access"
    verbose_name = "Access"
    default_auto_field = "django.db.models.BigAutoField"
