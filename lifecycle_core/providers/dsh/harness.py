"""Run the harness through its SDK: one process, one session, and nothing of our environment in it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import deepseek_harness
import deepseek_harness.errors

from lifecycle_core.providers.dsh import launcher, mounts, release
from lifecycle_core.providers.dsh.exchange import Ended, Gone, Inbox

PROVIDER: Final = "deepseek-official"
# What the model is told to be the working directory. No tool of the harness is mounted that could use it, and a session log
# that names a folder of this machine could not be restored on another one.
NOWHERE: Final = "/"
SHUTDOWN_SECONDS: Final = 5.0


class _Client(deepseek_harness.HarnessClient):  # type: ignore[misc]  # the SDK has no types
    """Start the runtime as the SDK does, but with an exact environment and in a process group that ends with this process."""

    _proc: subprocess.Popen[str] | None

    def __init__(self, config: Any, command: Sequence[str], environment: Mapping[str, str]) -> None:
        super().__init__(config)
        self._command = list(command)
        self._environment = dict(environment)
        self._killed = False
        self._guard = threading.Lock()

    def start(self) -> None:
        with self._guard:
            if self._proc is not None or self._killed:
                return
            self._proc = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=self.config.cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                bufsize=1,
                start_new_session=True,
            )
        self._start_reader_thread()
        self._start_stderr_thread()

    def kill(self) -> None:
        """End the process and its group at once, and let none start any more; idempotent."""
        with self._guard:
            self._killed = True
            if self._proc is not None and self._proc.poll() is None:
                os.killpg(self._proc.pid, signal.SIGKILL)

    def _write_message(self, message: Mapping[str, Any]) -> None:
        """Say nothing to a process that was ended: whoever waited for its answer would not be told that it has none."""
        if self._killed:
            raise self._runtime_closed_error("The harness was ended")
        super()._write_message(message)


class Harness(deepseek_harness.DeepSeekHarness):  # type: ignore[misc]  # the SDK has no types
    """One running harness. `environment` is all that the process gets."""

    _client: Any

    def __init__(
        self, home: Path, *, environment: Mapping[str, str], model: str, start_seconds: float
    ) -> None:
        super().__init__(
            deepseek_harness.DeepSeekHarnessConfig(
                provider=PROVIDER,
                model=model,
                cwd=NOWHERE,
                runtime_cwd=str(home / mounts.WORK),
                dsh_home=str(home),
                profile=mounts.PROFILE,
                initialize_timeout_seconds=start_seconds,
                request_timeout_seconds=start_seconds,
                shutdown_timeout_seconds=SHUTDOWN_SECONDS,
            )
        )
        self._client = _Client(self._client.config, _command(), environment)

    def restore(self, identity: str) -> None:
        """Start, and take up exactly this session. Raises `LookupError` where the harness finds none that it can restore."""
        self.start()
        try:
            self.resume_session(identity)
        except deepseek_harness.errors.JsonRpcError as refusal:
            raise LookupError(f"the harness does not restore the session: {refusal.message}") from refusal

    def begin(self, identity: str, text: str, inbox: Inbox) -> None:
        """Give a session its next input; `inbox` is told when the turn is over or the process has gone."""
        threading.Thread(target=self._run, args=(identity, text, inbox), daemon=True).start()

    def kill(self) -> None:
        """End the process at once; idempotent."""
        self._client.kill()

    def _run(self, identity: str, text: str, inbox: Inbox) -> None:
        try:
            result = deepseek_harness.Session(self, identity).run(text)
        except Exception as fault:  # noqa: BLE001  (whatever ends the conversation with the process ends the turn)
            inbox.put(Gone(f"{type(fault).__name__}: {fault}"))
        else:
            inbox.put(Ended(_problem(result.events)))


def _command() -> list[str]:
    start = [sys.executable, "-I", "-S", str(Path(launcher.__file__)), str(os.getpid())]
    return [*start, str(release.runtime()), "--profile", mounts.PROFILE]


def _problem(events: Sequence[Mapping[str, Any]]) -> str:
    """Return why the last turn went wrong, or nothing."""
    ends = [event for event in events if event.get("type") == "turn/end"]
    reason = ends[-1]["data"]["reason"] if ends else {}
    if reason.get("kind") != "error":
        return ""
    return str((reason.get("error") or {}).get("message", "no reason given"))
