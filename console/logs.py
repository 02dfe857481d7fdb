"""Write log lines for machines (JSON) or people, without the secrets that a careless line might carry."""

import re
from collections.abc import Callable
from typing import Any, Final, Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

SECRET_NAMES: Final = re.compile(r"authorization|cookie|password|secret|token|credential", re.IGNORECASE)
SECRET_TEXT: Final = re.compile(r"\blcc_[0-9A-Za-z]{20,}|(?i:\bbearer\s+)\S+")
REDACTED: Final = "[redacted]"


def without_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Replace values under telling names, and leave out requests, whose addresses may hold anything."""
    event.pop("request", None)
    return {name: value if name == "event" else _redacted(name, value) for name, value in event.items()}


def _redacted(name: str, value: Any) -> Any:
    if SECRET_NAMES.search(name):
        return REDACTED
    if isinstance(value, dict):
        return {inner: _redacted(str(inner), item) for inner, item in value.items()}
    return value


def cleaned(logger: WrappedLogger, method: str, line: Any) -> str:
    """Replace bearer tokens, and whatever else is known to be secret, wherever they stand in a finished line or traceback."""
    text = SECRET_TEXT.sub(REDACTED, str(line))
    for clean in _cleaners:
        text = clean(text)
    return text


_cleaners: Final[list[Callable[[str], str]]] = []


def clean_with(clean: Callable[[str], str]) -> None:
    """Let every line pass through a function that knows secrets; settings are loaded before there is one."""
    _cleaners.append(clean)


SHARED: Final[list[Processor]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.stdlib.ExtraAdder(),
]


def configuration(form: Literal["json", "console"]) -> dict[str, Any]:
    """Return the `LOGGING` setting. All goes to standard error, so that commands keep standard output."""
    # Tracebacks as text: the structured kind would write down local variables.
    render: Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    )
    end: list[Processor] = [structlog.processors.format_exc_info, without_secrets, render, cleaned]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *end],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            "daphne": {"level": "WARNING"},
            "httpx": {"level": "WARNING"},
            "httpcore": {"level": "WARNING"},
        },
    }


def start() -> None:
    """Send structlog's own loggers through the standard library, so that both look the same."""
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
