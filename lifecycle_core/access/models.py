"""Rows of access. Every row belongs to one tenant."""

import uuid

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

NAME = RegexValidator(
    r"\A[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?\Z", "Use small letters, digits and . - _ between."
)


class Tenant(models.Model):
    """Who owns the data."""

    slug = models.CharField(max_length=64, primary_key=True, validators=[NAME])
    name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """What one person may do in one tenant: the union of some roles."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    roles = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "tenant"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant_id}"


class Token(models.Model):
    """A bearer token, kept as a keyed hash. Several tokens of one name are one principal, for rotation."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    hash = models.CharField(max_length=64, unique=True)
    roles = models.JSONField(default=list)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.name} in {self.tenant_id}"


class AgentVersion(models.Model):
    """One definition of an agent, kept for ever under its binding; running invocations keep theirs."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="agent_versions")
    name = models.CharField(max_length=100)
    binding = models.CharField(max_length=71)
    definition = models.TextField()
    current = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["tenant", "name", "created_at"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name", "binding"], name="agent_version_once"),
            models.UniqueConstraint(
                fields=["tenant", "name"], condition=Q(current=True), name="agent_one_current"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} in {self.tenant_id} ({self.binding})"


class AgentWithdrawal(models.Model):
    """That a version of an agent starts nothing any more. One that has ended, when the version came back, stays as a record."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    version = models.ForeignKey(AgentVersion, on_delete=models.CASCADE, related_name="withdrawals")
    by = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)
    reason = models.TextField(blank=True)
    ended_by = models.CharField(max_length=200, blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["version"], condition=Q(ended_at=None), name="agent_version_withdrawn_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.version} by {self.by}"


class Credential(models.Model):
    """A secret under a name. The sealed text repeats tenant and name, so that it opens in its own row only."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="credentials")
    ref = models.CharField(max_length=200)
    ciphertext = models.TextField()
    origins = models.JSONField(default=list)
    updated_by = models.CharField(max_length=200)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["tenant", "ref"]
        constraints = [models.UniqueConstraint(fields=["tenant", "ref"], name="credential_once")]

    def __str__(self) -> str:
        return f"{self.ref} in {self.tenant_id}"
