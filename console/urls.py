"""Every address of the console: the pages, the API, signing in, and what a supervisor asks."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
