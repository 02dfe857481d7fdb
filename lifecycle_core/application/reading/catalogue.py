"""The tools and providers that this console has."""

from lifecycle_core.application import bootstrap, permissions
from lifecycle_core.application.resources import ProviderItem, ToolItem
from lifecycle_core.contract.actor import Actor
from lifecycle_core.tools import catalogue


def tools(actor: Actor) -> list[ToolItem]:
    """Return the built-in tools."""
    permissions.check_can_read(actor)
    specs = [tool.spec for tool in catalogue.all()]
    return [ToolItem(**vars(spec)) for spec in specs]


def providers(actor: Actor) -> list[ProviderItem]:
    """Return the providers; those that are not implemented refuse before any effect."""
    permissions.check_can_read(actor)
    return [
        ProviderItem(key=key, implemented=bootstrap.implemented(key)) for key in bootstrap.providers().keys
    ]
