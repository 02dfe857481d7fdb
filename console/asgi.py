"""The application that a server runs: requests to Django, sockets to the consumers."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
http = get_asgi_application()

# Imported after Django is set up, since they import models.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter  # noqa: E402

from console import routing  # noqa: E402
from console.origins import OriginGate  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": http,
        # The gate stands outside: a foreign page does not even cause a look at the session.
        "websocket": OriginGate(AuthMiddlewareStack(routing.sockets)),
    }
)
