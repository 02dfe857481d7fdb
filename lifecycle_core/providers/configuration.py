"""Check what a provider is configured with: exactly its keys, of exactly their types, frozen at every level.

What is wrong is found before the provider is made, and named by its key.
"""

import dataclasses
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from lifecycle_core.contract import errors

MUTABLE: Final = (bytearray, dict, list, set)
PLAIN: Final = (str, int, float, bool)


def checked[C](kind: type[C], given: C | Mapping[str, object]) -> C:
    """Return a configuration: one of its kind, or what the kind makes of a mapping with exactly its keys.

    Raises `errors.ConfigurationInvalid`, which names the first key that is wrong.
    """
    if not _is_frozen(kind):
        _refuse("", f"{kind.__name__} can be changed")
    value = _read(kind, given, "") if isinstance(given, Mapping) else given
    _check(kind, value, "")
    return value


def _is_frozen(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) and bool(getattr(kind, "__dataclass_params__").frozen)  # noqa: B009


def _read(kind: type[Any], given: Mapping[str, object], at: str) -> Any:
    """Make a configuration of a mapping; levels below may be mappings too."""
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    for name in given:
        if name not in names:
            _refuse(_below(at, name), "is not known")
    for name in names:
        if name not in given:
            _refuse(_below(at, name), "is missing")
    values = {name: _nested(hints[name], given[name], _below(at, name)) for name in names}
    for name in names:
        _check(hints[name], values[name], _below(at, name))
    return kind(**values)


def _nested(hint: Any, value: object, at: str) -> object:
    return _read(hint, value, at) if _is_frozen(hint) and isinstance(value, Mapping) else value


def _check(hint: Any, value: object, at: str) -> None:
    """Refuse a value that is not exactly of a type."""
    if isinstance(value, MUTABLE):
        _refuse(at, "can be changed")
    if _is_frozen(hint):
        _check_level(hint, value, at)
    elif hint is Path:
        if not isinstance(value, Path) or not value.is_absolute():
            _refuse(at, "must be an absolute path")
    elif hint in PLAIN:
        if type(value) is not hint:
            _refuse(at, f"must be of type {hint.__name__}")
    else:
        _check_composed(hint, value, at)


def _check_level(kind: Any, value: object, at: str) -> None:
    hints, fields = get_type_hints(kind), dataclasses.fields(kind)
    if type(value) is not kind:
        _refuse(at, f"must be a {kind.__name__}")
    for field in fields:
        _check(hints[field.name], getattr(value, field.name), _below(at, field.name))


def _check_composed(hint: Any, value: object, at: str) -> None:
    origin, within = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value not in within:
            _refuse(at, f"must be one of {', '.join(map(str, within))}")
    elif origin in (Union, types.UnionType) and type(None) in within:
        if value is not None:
            _check(next(option for option in within if option is not type(None)), value, at)
    elif origin in (tuple, frozenset):
        if not isinstance(value, origin):
            _refuse(at, f"must be of type {origin.__name__}")
        for item in value:
            _check(within[0], item, at)
    else:
        _refuse(at, "is of a type that a configuration cannot have")


def _below(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _refuse(at: str, why: str) -> NoReturn:
    raise errors.ConfigurationInvalid(detail=f"{at} {why}".strip())
