"""Carry a command out once, however often it is sent under its idempotency key."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

from lifecycle_core.application import bootstrap
from lifecycle_core.contract import digests, errors, ports
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem

KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command by name and body; without a key it is carried out whenever it is sent."""

    key: str | None
    body_digest: str

    @classmethod
    def of(cls, name: str, key: str | None, body: Json) -> Self:
        """Name a command.

        Raises `errors.NotCanonical` for a body that cannot be represented exactly, `errors.SchemaInvalid` for a key that cannot
        be kept.
        """
        if key is not None and not KEY.fullmatch(key):
            detail = "an idempotency key has 1 to 200 printable ASCII characters without spaces"
            raise errors.SchemaInvalid(problems=[Problem("/key", detail)])
        return cls(key=key, body_digest=digests.digest([name, body]))

    def is_answered(self, actor: Actor) -> bool:
        """Tell whether the command was carried out. Raises `errors.KeyReused` when its key stands for another one."""
        if self.key is None:
            return False
        return bootstrap.journal().answered(actor.tenant, actor.name, self._port(self.key)) is not None

    def once(self, actor: Actor, run: Callable[[], UUID]) -> UUID:
        """Return the identity that `run` answered when it was carried out; `run` is part of one transaction with the key."""
        if self.key is None:
            return run()
        journal, command = bootstrap.journal(), self._port(self.key)
        at_ms = bootstrap.clock().now_ms()
        return UUID(str(journal.once(actor.tenant, actor.name, command, lambda: str(run()), at_ms=at_ms)))

    def _port(self, key: str) -> ports.Command:
        return ports.Command(key=key, body_digest=self.body_digest)
