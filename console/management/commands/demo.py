"""`manage.py demo`: people, agents and a scripted model, ready to try."""

import json
import os
import sys
import webbrowser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from console import serving
from console.management.base import ConsoleCommand
from lifecycle_core.application import demo


class Command(ConsoleCommand):
    help = "Serve a console with one person per role, a folder of real files, and agents that wait for decisions."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port", type=int, default=8000, help="0 takes a free one (default: %(default)s)"
        )
        parser.add_argument("--no-browser", action="store_true", help="open no browser")
        parser.add_argument("--json", action="store_true", help="print people and tokens as one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = settings.LIFECYCLE_DATA / "workspaces" / demo.WORKSPACE
        demo.files(folder)
        settings.LIFECYCLE_WORKSPACES[demo.WORKSPACE] = folder
        with serving.alone(), demo.running(settings.LIFECYCLE_DATA, _real_model()) as state:
            settings.LIFECYCLE_HTTP_ORIGINS |= {demo.endpoint_origin(settings.LIFECYCLE_DATA)}
            self._introduce(state, as_json=options["json"])
            code = serving.serve(
                "127.0.0.1",
                options["port"],
                on_ready=lambda address: self._ready(
                    address, browser=not (options["no_browser"] or options["json"])
                ),
            )
        sys.exit(code)

    def _introduce(self, state: demo.State, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"users": state.users, "tokens": state.tokens}))
            return
        self.stdout.write(f"Sign in as {', '.join(state.users)} with the password {state.password}")
        self.stdout.write(f"Start agents over REST with the host's token {state.tokens['host']}")

    def _ready(self, address: str, *, browser: bool) -> None:
        self.stdout.write(f"READY {address}")
        self.stdout.flush()
        if browser:
            webbrowser.open(address)


def _real_model() -> demo.RealModel | None:
    """Read the choice of a real model; all three variables or none."""
    given = {name: os.environ.get(f"LIFECYCLE_MODEL{name}", "") for name in ("_BASE_URL", "", "_KEY")}
    if not any(given.values()):
        return None
    if not all(given.values()):
        raise CommandError(
            "Give LIFECYCLE_MODEL_BASE_URL, LIFECYCLE_MODEL and LIFECYCLE_MODEL_KEY, or none of them."
        )
    return demo.RealModel(base_url=given["_BASE_URL"], model=given[""], key=given["_KEY"])
