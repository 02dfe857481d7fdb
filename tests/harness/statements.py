"""Take a comparison out of a written statement of the product, for the controls that show what happens without it."""

from typing import Any


def replace(module: Any, name: str, part: str, by: str) -> None:
    """Put other text into a statement, in the module that names it; the part must be there."""
    text = getattr(module, name).postgresql.decode()
    assert part in text
    setattr(module, name, type(getattr(module, name))(text.replace(part, by)))
