"""The settings of a database keep what was answered and let nothing wait for ever."""

from pathlib import Path

from lifecycle_core.journal import databases


def test_sqlite_is_durable_and_immediate() -> None:
    options = databases.sqlite(Path("/x/console.sqlite3"))["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        assert pragma in options["init_command"]


def test_every_wait_of_postgresql_has_an_end() -> None:
    settings = databases.postgres("postgresql://ann:secret@db.example:5433/console?sslmode=require")
    assert [settings[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")] == [
        "console",
        "ann",
        "secret",
        "db.example",
        "5433",
    ]
    options = settings["OPTIONS"]
    for limit in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
        assert f"-c {limit}=" in options["options"]
    assert "-c synchronous_commit=on" in options["options"]
    assert (options["sslmode"], options["pool"]["max_size"]) == ("require", 10)


def test_options_of_the_url_are_kept() -> None:
    settings = databases.postgres("postgresql:///console?host=/tmp/x&options=-c%20search_path%3Dmine")
    assert settings["HOST"] == "/tmp/x"  # noqa: S108
    assert settings["OPTIONS"]["options"].startswith("-c search_path=mine -c lock_timeout=")
