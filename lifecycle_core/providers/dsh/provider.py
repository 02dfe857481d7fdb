"""Open or exactly restore sessions of the harness."""

import contextlib
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lifecycle_core.contract import errors, ports
from lifecycle_core.providers import chat_transport, shells
from lifecycle_core.providers.dsh import mounts, release, storage
from lifecycle_core.providers.dsh.bridge import Bridge
from lifecycle_core.providers.dsh.upstream import Upstream
from lifecycle_core.providers.registry import Factory

KEY: Final = "dsh-headless"
UNPACKED: Final = ".runtime"


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Say where native sessions lie, how long people may take to answer before a turn is suspended, and limits in seconds.

    `unpacked` is where the runtime unpacks itself once for all processes, 80 MB; beside the sessions where it is not said.
    """

    storage: Path
    unpacked: Path | None = None
    grace_ms: int = 20_000
    start_seconds: float = 30.0
    idle_seconds: float = 300.0

    def __post_init__(self) -> None:
        if not self.storage.is_absolute():
            raise errors.ConfigurationInvalid(detail="the folder of native sessions is no absolute path")
        if self.grace_ms < 0 or self.start_seconds <= 0 or self.idle_seconds <= 0:
            raise errors.ConfigurationInvalid(detail="the limits of dsh-headless make no sense")


def create(configuration: Configuration) -> ports.Provider:
    """Return the provider, or the shell that refuses every session where the extra `dsh` is not installed.

    Raises `errors.ConfigurationInvalid` for another version of the harness, or one that mounts more than it should.
    """
    return DshHeadless(configuration) if release.is_installed() else shells.Shell(KEY)


FACTORY: Final = Factory(key=KEY, configuration=Configuration, create=create)


class DshHeadless:
    """Run agents in the harness, each native session in a process of its own for as long as a turn lasts."""

    key: Final = KEY

    def __init__(self, configuration: Configuration) -> None:
        release.check()
        configuration.storage.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._unpacked = configuration.unpacked or configuration.storage / UNPACKED
        mounts.check(release.runtime(), configuration.storage, self._unpacked)
        self._configuration = configuration
        self._storage = storage.Storage(configuration.storage)
        self._transport = chat_transport.Transport(idle=configuration.idle_seconds, connect=5.0)

    def open(self, request: ports.SessionRequest) -> ports.NativeSession:
        """Open a fresh session; its log begins with its first turn."""
        return self._session(request, f"session-{uuid.uuid4().hex}", restored=False)

    def restore(self, request: ports.SessionRequest) -> ports.NativeSession:
        """Restore exactly the session that is named. Raises `LookupError` where the affinity has none of that identity."""
        storage.log(self._storage.home(request.tenant, request.affinity), request.opaque_identity)
        return self._session(request, request.opaque_identity, restored=True)

    def dispose(self) -> None:
        self._transport.close()

    def _session(
        self, request: ports.SessionRequest, identity: str, *, restored: bool
    ) -> ports.NativeSession:
        # Only here, where the extra is known to be installed.
        from lifecycle_core.providers.dsh.harness import Harness
        from lifecycle_core.providers.dsh.session import DshSession

        home = self._storage.home(request.tenant, request.affinity)
        upstream = Upstream(self._transport, request.route.base_url)
        mounts.lay_out(home, request.instructions)
        with contextlib.ExitStack() as undone:
            bridge = Bridge(request)
            undone.callback(bridge.close)
            harness = Harness(
                home,
                environment=mounts.environment(home, self._unpacked) | _given(home, bridge),
                model=request.route.model,
                start_seconds=self._configuration.start_seconds,
            )
            undone.callback(harness.close)
            undone.callback(harness.kill)  # First: nobody waits for one that does not start.
            request.on_interrupt(harness.kill)
            harness.restore(identity) if restored else harness.start()
            undone.pop_all()
        return DshSession(
            identity,
            home=home,
            harness=harness,
            bridge=bridge,
            upstream=upstream,
            tools=frozenset(spec.name for spec in request.tools),
            grace_ms=self._configuration.grace_ms,
        )


def _given(home: Path, bridge: Bridge) -> dict[str, str]:
    """Return what the rows of the profile read from the environment of the harness."""
    return {
        "ADMITTED_INSTRUCTIONS": str(home / mounts.INSTRUCTIONS),
        "BRIDGE_URL": bridge.tools_url,
        "DEEPSEEK_API_KEY": bridge.token,
        "DEEPSEEK_BASE_URL": bridge.model_url,
    }
