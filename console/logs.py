"""Write log lines for machines (JSON) or people, without the secrets that a careless line might carry."""

import re
from typing import Any, Final, Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

SECRET_NAMES: Final = re.compile(r"authorization|cookie|password|secret|token|credential", re.IGNORECASE)
SECRET_TEXT: Final = re.compile(r"\blcc_[0-9A-Za-z]{20,}|(?i:\bbearer\s+)\S+")
REDACTED: Final = "[redacted]"


def redact(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Replace values under telling names, and bearer tokens wherever they stand."""
    return {name: _redacted(name, value) for name, value in event.items()}


def _redacted(name: str, value: Any) -> Any:
    if SECRET_NAMES.search(name) and name != "event":
        return REDACTED
    return SECRET_TEXT.sub(REDACTED, value) if isinstance(value, str) else value


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
    end: list[Processor] = (
        [structlog.processors.dict_tracebacks, redact, structlog.processors.JSONRenderer()]
        if form == "json"
        else [structlog.processors.format_exc_info, redact, structlog.dev.ConsoleRenderer(colors=False)]
    )
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
