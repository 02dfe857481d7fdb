"""Unified diffs whose cost is bounded, whatever an agent wrote.

The algorithm is Myers' greedy one. When two texts are too different for it to end soon, what differs is shown as one block that
is replaced: longer to read, but true.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

CONTEXT: Final = 3
MAX_EDITS: Final = 600
MAX_STEPS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class LineDiff:
    """A unified diff with its counts of lines."""

    text: str
    added: int
    removed: int


@dataclass(frozen=True)
class Change:
    """Lines `start` to `end` of the old text become `new_start` to `new_end` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def unified(path: str, old: str | None, new: str) -> LineDiff:
    """Return the difference of two texts line by line; `old` is nothing for a file that does not exist yet."""
    before, after = _lines(old or ""), _lines(new)
    changes = _changes(before, after)
    header = [f"--- {'/dev/null' if old is None else 'a/' + path}\n", f"+++ b/{path}\n"]
    hunks = [line for group in _groups(changes) for line in _hunk(group, before, after)]
    return LineDiff(
        text="".join(header + hunks) if changes or old is None else "",
        added=sum(change.new_end - change.new_start for change in changes),
        removed=sum(change.end - change.start for change in changes),
    )


def _lines(text: str) -> list[str]:
    """Split at line feeds only: what else breaks a line on some screens is content here."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if not middle_old and not middle_new:
        return []
    kept = _kept(middle_old, middle_new)
    if kept is None:
        return [Change(head, len(old) - tail, head, len(new) - tail)]
    return list(_gaps(kept, head, len(middle_old), len(middle_new)))


def _gaps(kept: Sequence[tuple[int, int]], offset: int, old: int, new: int) -> Iterator[Change]:
    """Turn pairs of equal lines into the changes between them."""
    start, new_start = 0, 0
    for end, new_end in [*kept, (old, new)]:
        if end > start or new_end > new_start:
            yield Change(start + offset, end + offset, new_start + offset, new_end + offset)
        start, new_start = end + 1, new_end + 1


def _kept(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the pairs of lines that stay, or nothing when that would take too long to find out."""
    numbers: dict[str, int] = {}
    left = [numbers.setdefault(line, len(numbers)) for line in old]
    right = [numbers.setdefault(line, len(numbers)) for line in new]
    furthest = {1: 0}
    history: list[dict[int, int]] = []
    steps = 0
    for edits in range(min(MAX_EDITS, len(left) + len(right)) + 1):
        history.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
            )
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            start = x
            while x < len(left) and x - diagonal < len(right) and left[x] == right[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            steps += x - start + 1
            if x >= len(left) and x - diagonal >= len(right):
                return _traced(history, len(left), len(right))
        if steps > MAX_STEPS:
            return None
    return None


def _traced(history: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """Walk back from the end and collect the equal lines on the way."""
    kept: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        furthest, diagonal = history[edits], x - y
        down = diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])
        came = diagonal + 1 if down else diagonal - 1
        from_x = furthest[came] if edits else 0
        from_y = from_x - came if edits else 0
        while x > from_x and y > from_y:
            x, y = x - 1, y - 1
            kept.append((x, y))
        x, y = from_x, from_y
    return kept[::-1]


def _groups(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Gather changes that are so near that their context meets."""
    group: list[Change] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: Sequence[Change], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = group[0], group[-1]
    start, end = max(first.start - CONTEXT, 0), min(last.end + CONTEXT, len(old))
    new_start, new_end = max(first.new_start - CONTEXT, 0), min(last.new_end + CONTEXT, len(new))
    yield f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@\n"
    at = start
    for change in group:
        yield from (_line(" ", line) for line in old[at : change.start])
        yield from (_line("-", line) for line in old[change.start : change.end])
        yield from (_line("+", line) for line in new[change.new_start : change.new_end])
        at = change.end
    yield from (_line(" ", line) for line in old[at:end])


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
