"""The database settings: SQLite for one machine, PostgreSQL for many processes.

`console.settings` takes one of these as `DATABASES["default"]`.
"""

from pathlib import Path
from typing import Any, Final

SQLITE_SECONDS: Final = 10
LOCK_MS: Final = 5_000
STATEMENT_MS: Final = 30_000
IDLE_MS: Final = 60_000
INIT: Final = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON"


def sqlite(path: Path) -> dict[str, Any]:
    """Settle for a file. What was answered survives a power cut: WAL with synchronous FULL."""
    return {
        "ENGINE": "lifecycle_core.journal.sqlite",
        "NAME": str(path),
        "CONN_MAX_AGE": None,
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": SQLITE_SECONDS, "init_command": INIT},
    }


def postgres(url: str, *, pool_size: int = 10) -> dict[str, Any]:
    """Settle for a server, named by a libpq URL; no statement, lock or idle transaction lasts for ever."""
    from psycopg.conninfo import conninfo_to_dict

    given = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    limits = f"-c lock_timeout={LOCK_MS} -c statement_timeout={STATEMENT_MS} -c idle_in_transaction_session_timeout={IDLE_MS}"
    options = " ".join(filter(None, [str(given.pop("options", "")), limits, "-c synchronous_commit=on"]))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": given.pop("dbname", "postgres"),
        "USER": given.pop("user", ""),
        "PASSWORD": given.pop("password", ""),
        "HOST": given.pop("host", ""),
        "PORT": given.pop("port", ""),
        "CONN_MAX_AGE": 0,
        "OPTIONS": {
            **given,
            "options": options,
            "connect_timeout": 5,
            "pool": {"min_size": 1, "max_size": pool_size, "timeout": 10},
        },
    }
