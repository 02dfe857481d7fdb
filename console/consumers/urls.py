"""The addresses of the sockets."""

from typing import Any

from django.urls import path

from console.consumers.feed import FeedSocket
from console.consumers.following import FollowingSocket
from console.consumers.pages import PagesSocket


def application(consumer: type[FollowingSocket]) -> Any:
    """Return the ASGI application of a socket, which Django's `path` takes for a view."""
    return consumer.as_asgi()


urlpatterns: list[Any] = [
    path("ws/feed", application(FeedSocket)),
    path("ws/pages", application(PagesSocket)),
]
