"""No log line carries a secret."""

import json
import logging
import logging.config
from collections.abc import Callable
from typing import Any, Literal

import pytest
import structlog

from console import logs
from lifecycle_core.access import tokens

TOKEN = tokens.generate()
type Say = Callable[[logging.Logger], None]


def fail(logger: logging.Logger) -> None:
    secret = TOKEN
    try:
        raise RuntimeError(f"cannot use {secret}")
    except RuntimeError:
        logger.exception("failed")


CARELESS: dict[str, Say] = {
    "in the message": lambda logger: logger.warning("token is %s", TOKEN),
    "in a header": lambda logger: logger.warning("sent Authorization: Bearer abcdef.ghi"),
    "under a name": lambda logger: logger.warning("made", extra={"api_token": "abcdef.ghi"}),
    "inside a value": lambda logger: logger.warning("made", extra={"made": {"password": "abcdef.ghi"}}),
    "in a request": lambda logger: logger.warning("made", extra={"request": f"GET /?token={TOKEN}"}),
    "in an exception": fail,
}


def lines(form: Literal["json", "console"], say: Say, capsys: pytest.CaptureFixture[str]) -> str:
    """Write through a formatter of its own, so that the console's stays as it is."""
    given = logs.configuration(form)["formatters"]["structured"]
    handler = logging.StreamHandler()
    handler.setFormatter(given.pop("()")(**given))
    logger = logging.Logger("test")
    logger.addHandler(handler)
    say(logger)
    return capsys.readouterr().err


@pytest.mark.parametrize("name", CARELESS)
@pytest.mark.parametrize("form", ["json", "console"])
def test_a_careless_line_carries_no_secret(
    form: Literal["json", "console"], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written = lines(form, CARELESS[name], capsys)
    assert written
    assert TOKEN not in written
    assert "abcdef.ghi" not in written


def test_a_line_for_machines_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    written = lines("json", lambda logger: logger.warning("hello %s", "you", extra={"n": 1}), capsys)
    line = json.loads(written)
    assert (line["event"], line["n"], line["level"]) == ("hello you", 1, "warning")
    assert line["timestamp"].endswith("Z")


def test_a_traceback_shows_no_local_variables(capsys: pytest.CaptureFixture[str]) -> None:
    def say(logger: logging.Logger) -> None:
        marker: Any = "a-local-value"
        try:
            raise RuntimeError("x")
        except RuntimeError:
            logger.exception("failed")
        del marker

    written = lines("json", say, capsys)
    assert "RuntimeError" in written
    assert "a-local-value" not in written.replace('marker: Any = "a-local-value"', "")


def test_our_own_loggers_write_like_all_others() -> None:
    assert isinstance(structlog.get_logger("x").bind()._logger, logging.Logger)
