"""Every socket address of the console."""

from channels.routing import URLRouter

from console.consumers.urls import urlpatterns

sockets = URLRouter(urlpatterns)
