"""Remember which plugins fail, and stop hearing an observer that only ever fails.

Only observers are left out by themselves: the run does not depend on them. Without a gate, a transformer or an interceptor
that was put there for a reason, a run would do what nobody wanted, so those go on failing it, visibly. A process remembers for
itself and forgets with its end.
"""

import threading
from collections import Counter
from typing import Final

from lifecycle_core.contract.plugins import Plugin

IN_A_ROW: Final = 5


class Health:
    """Count failures in a row, for each plugin at each stage."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_a_row: Counter[tuple[str, str]] = Counter()
        self._suspended: set[tuple[str, str]] = set()

    def failed(self, plugin: Plugin) -> bool:
        """Count a failure; tell whether the plugin is not heard any more because of it."""
        key = _key(plugin)
        with self._lock:
            self._in_a_row[key] += 1
            if plugin.kind != "observer" or self._in_a_row[key] < IN_A_ROW or key in self._suspended:
                return False
            self._suspended.add(key)
            return True

    def worked(self, plugin: Plugin) -> None:
        """Begin to count anew."""
        if self._in_a_row:
            with self._lock:
                self._in_a_row.pop(_key(plugin), None)

    def is_suspended(self, plugin: Plugin) -> bool:
        """Tell whether a plugin is not heard for now."""
        return bool(self._suspended) and _key(plugin) in self._suspended

    def resume(self, identity: str) -> None:
        """Hear the plugins of a name again."""
        with self._lock:
            self._suspended = {key for key in self._suspended if key[0] != identity}
            for key in [key for key in self._in_a_row if key[0] == identity]:
                del self._in_a_row[key]


def _key(plugin: Plugin) -> tuple[str, str]:
    return plugin.identity, plugin.stage
