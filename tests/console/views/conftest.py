"""People of every role who look at the pages, over the world of the API's tests."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from lifecycle_core.application import members, permissions
from tests.console.api.conftest import World, api, model, world

__all__ = ["api", "model", "world"]

type People = Callable[[str], Client]


@pytest.fixture
def people(world: World) -> People:
    """Return the signed-in browser of a role; `role@elsewhere` is a person of another tenant, empty is nobody."""

    def browser(who: str) -> Client:
        client = Client()
        if who:
            role, _, tenant = who.partition("@")
            # Without a password, since hashing one takes longer than most tests.
            user, is_new = User.objects.get_or_create(username=who)
            if is_new:
                members.add(permissions.command_line(tenant or "default"), username=who, given=[role])
            client.force_login(user)
        return client

    return browser


@dataclass(frozen=True)
class Form:
    """The fields that a form of a page would send."""

    action: str
    fields: dict[str, str]

    def send(self, client: Client, **more: Any) -> Any:
        return client.post(self.action, {**self.fields, **more})


def form(page: Any, containing: str) -> Form:
    """Read the form of a page that contains some text, as a browser without scripts would send it: line ends are CR LF."""
    html = page.content.decode()
    found = next(m for m in re.finditer(r"<form\b.*?</form>", html, re.DOTALL) if containing in m[0])[0]
    action = re.search(r'action="([^"]*)"', found)
    hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', found)
    return Form(
        action=(action[1] if action else str(page.request["PATH_INFO"])).replace("&amp;", "&"),
        fields={name: re.sub(r"\r\n?|\n", "\r\n", unescape(value)) for name, value in hidden},
    )
