"""Values that cannot be written to at any depth, independent of whoever made them.

Plugins share one snapshot, so that nobody copies for each of them; whoever wants to change something makes a draft. Reference:
seed-contracts 23.2 (immutability), 23.3 (one level is not enough).
"""

import dataclasses
from collections.abc import Mapping, Set
from functools import cache
from typing import Any, NoReturn


class FrozenDict(dict[Any, Any]):
    """A dict that refuses every write, and freezes what it is made of."""

    __slots__ = ()

    def __init__(self, items: Mapping[Any, Any]) -> None:
        super().__init__({key: freeze(item) for key, item in items.items()})

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this value is read-only; make a draft of it")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> "FrozenDict":
        return self

    def __deepcopy__(self, memo: object) -> "FrozenDict":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (dict(self),)


def freeze(value: Any) -> Any:
    """Return a copy of a value that cannot be written to at any depth of maps, lists, sets and dataclasses."""
    kind = type(value)
    if kind is str or kind is int or value is None or kind is FrozenDict:
        return value
    if kind is dict:
        return FrozenDict(value)
    if kind is list or kind is tuple:
        return tuple([freeze(item) for item in value])
    return _freeze_other(value)


def _freeze_other(value: Any) -> Any:
    if isinstance(value, Mapping):
        return FrozenDict(value)
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    if isinstance(value, Set):
        return frozenset(freeze(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _freeze_instance(value)
    return value


def _freeze_instance(value: Any) -> Any:
    """Return a copy of a dataclass instance of which no field can be set, an instance of its class all the same."""
    kind: Any = type(value)
    frozen: Any = object.__new__(_read_only(kind))
    for field in dataclasses.fields(value):
        object.__setattr__(frozen, field.name, freeze(getattr(value, field.name)))
    return frozen


@cache
def _read_only(kind: Any) -> Any:
    def refuse(self: object, *_: object) -> NoReturn:
        raise dataclasses.FrozenInstanceError("this value is read-only; make a draft of it")

    if kind.__dataclass_params__.frozen:
        return kind
    guards = {"__setattr__": refuse, "__delattr__": refuse, "__module__": kind.__module__}
    return type(kind.__name__, (kind,), guards if hasattr(kind, "__dict__") else guards | {"__slots__": ()})


def draft(value: Any) -> Any:
    """Return plain dicts, lists and sets for a frozen value, to be changed and handed back."""
    if isinstance(value, Mapping):
        return {key: draft(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [draft(item) for item in value]
    return set(value) if isinstance(value, Set) else value
