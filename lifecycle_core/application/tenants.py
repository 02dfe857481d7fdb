"""Use cases over tenants. Which there are is decided on the server alone, so they take no actor."""

from django.core.exceptions import ValidationError

from lifecycle_core.access.models import Tenant
from lifecycle_core.contract import errors


def add(slug: str, *, name: str = "") -> None:
    """Create a tenant. Raises `ConfigurationInvalid` for a name that cannot be one or is taken."""
    tenant = Tenant(slug=slug, name=name)
    try:
        tenant.full_clean()
    except ValidationError as cause:
        raise errors.ConfigurationInvalid(detail=f"Tenant {slug!r}: {' '.join(cause.messages)}") from cause
    tenant.save(force_insert=True)


def slugs() -> list[str]:
    """Return the tenants by name."""
    return list(Tenant.objects.values_list("slug", flat=True))


def check(slug: str) -> None:
    """Refuse a tenant that is not there. Raises `ConfigurationInvalid`."""
    if not Tenant.objects.filter(slug=slug).exists():
        raise errors.ConfigurationInvalid(
            detail=f"There is no tenant {slug!r}. Tenants: {', '.join(slugs())}."
        )
