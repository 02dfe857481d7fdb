"""Run turns in threads of the serving process.

One thread looks for work whenever the journal advances, and each second in case a hint was lost. Another watches the turns
that run: it renews their leases and interrupts those that were cancelled, lost their lease or ran out of time. Some slots are
kept for resumes, so that what a person has decided never waits behind slow model calls.
"""

import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import connections

from lifecycle_core.application import expiry, signals, work
from lifecycle_core.engine.interruption import Interruption

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
WATCH_SECONDS: Final = 0.5
RENEW_SECONDS: Final = 4.0
PAUSE_AFTER_FAULT_SECONDS: Final = 5.0


class EmbeddedWorkers:
    """Drive invocations in `slots` threads, of which `reserved` serve resumes alone."""

    def __init__(self, *, slots: int = 8, reserved: int = 2) -> None:
        self._name = f"embedded-{os.getpid()}-{uuid4().hex[:8]}"
        self._slots = slots
        self._reserved = min(reserved, slots - 1)
        self._running: dict[UUID, Interruption] = {}
        self._paused: dict[UUID, float] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=slots, thread_name_prefix="turn")
        self._threads = [
            threading.Thread(target=self._look, name="worker-look", daemon=True),
            threading.Thread(target=self._watch, name="worker-watch", daemon=True),
        ]

    def start(self) -> None:
        """Begin; leases of an earlier process are void, for only one process serves."""
        voided = work.void_leases()
        if voided:
            log.info("took over %d invocations of an earlier process", voided)
        signals.journal_advanced.connect(self._woken)
        work.add_probe(self.problems)
        for thread in self._threads:
            thread.start()
        self._wake.set()

    def stop(self) -> None:
        """Interrupt what runs and wait for it; whatever it was at goes on at the next start."""
        self._stopping.set()
        self._wake.set()
        signals.journal_advanced.disconnect(self._woken)
        work.remove_probe(self.problems)
        with self._lock:
            interruptions = list(self._running.values())
        for interruption in interruptions:
            interruption.interrupt("shutdown")
        self._pool.shutdown(wait=True)
        for thread in self._threads:
            thread.join()

    def problems(self) -> list[str]:
        """Return what keeps these workers from working."""
        return [f"the thread {thread.name} has ended" for thread in self._threads if not thread.is_alive()]

    def _woken(self, **_hint: Any) -> None:
        self._wake.set()

    # Looking for work.

    def _look(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()
            self._safely(self._take)
            self._safely(expiry.sweep)
        connections.close_all()

    def _take(self) -> None:
        for found in work.claimable(limit=4 * self._slots, without=self._held()):
            with self._lock:
                if self._may_take(found):
                    self._running[found.invocation] = Interruption()
                    self._pool.submit(self._drive, found.invocation)

    def _held(self) -> set[UUID]:
        """Return what is running here, and what has just failed and rests."""
        now = time.monotonic()
        with self._lock:
            self._paused = {invocation: until for invocation, until in self._paused.items() if until > now}
            return {*self._running, *self._paused}

    def _may_take(self, found: work.Waiting) -> bool:
        """Tell whether there is a slot for an invocation of its kind; call it with the lock."""
        if self._stopping.is_set() or found.invocation in self._running:
            return False
        kept = 0 if found.resumes else self._reserved
        return len(self._running) < self._slots - kept

    def _drive(self, invocation: UUID) -> None:
        try:
            work.drive(invocation, self._name, self._running[invocation])
        except Exception:
            # The lease runs out and somebody goes on from the journal; meanwhile the others must not suffer.
            log.exception("driving invocation %s failed", invocation)
            with self._lock:
                self._paused[invocation] = time.monotonic() + PAUSE_AFTER_FAULT_SECONDS
        finally:
            with self._lock:
                del self._running[invocation]
            self._wake.set()
            _give_connections_back()

    # Watching what runs.

    def _watch(self) -> None:
        renewed = time.monotonic()
        while not self._stopping.wait(WATCH_SECONDS):
            with self._lock:
                running = dict(self._running)
            due = time.monotonic() - renewed >= RENEW_SECONDS
            if due:
                renewed = time.monotonic()
            self._safely(lambda: work.watch(running, self._name, renew=due))  # noqa: B023  (called at once)
        connections.close_all()

    def _safely(self, step: Any) -> None:
        """Outlive a database that does not answer for a while."""
        try:
            step()
        except Exception:
            log.exception("a worker's round failed")
            _give_connections_back()


def _give_connections_back() -> None:
    """Return pooled connections; SQLite's stay open with their threads."""
    for connection in connections.all(initialized_only=True):
        if connection.vendor != "sqlite":
            connection.close()
