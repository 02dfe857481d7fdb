"""Let people sign in and nobody sign up: members are added by an administrator."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Close the doors of allauth that this console does not use."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Refuse sign-up, always."""
        return False
