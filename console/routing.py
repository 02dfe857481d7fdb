"""Every socket address of the console."""

from typing import Any

from channels.routing import URLRouter
from channels.security.websocket import WebsocketDenier
from django.urls import re_path

from console.consumers.urls import urlpatterns

# The router takes an address that it does not know for a fault of ours, which would be logged for every guess.
denier: Any = WebsocketDenier.as_asgi()
nothing: Any = re_path("", denier)
sockets = URLRouter([*urlpatterns, nothing])
