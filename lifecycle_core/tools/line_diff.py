"""Unified diffs whose cost is bounded, whatever an agent wrote.

The algorithm is Myers' greedy one. When two texts are too different for it to end soon, what differs is shown as one block that
is replaced: longer to read, but true. Of a block that nobody could read, only its edges are shown, and in between how many
lines are not: so the counts stay true, and nothing is left out in silence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

CONTEXT: Final = 3
MAX_EDITS: Final = 600
MAX_STEPS: Final = 400_000
# What two texts do not share is compared and shown up to here.
MAX_LINES: Final = 150_000
MAX_CHARACTERS: Final = 4 * 1024 * 1024
# Of a larger block, so many lines are shown at each of its ends, as long as they are no longer than this in all.
EDGE_LINES: Final = 100
EDGE_CHARACTERS: Final = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class LineDiff:
    """A unified diff with its counts of lines; so many of the added and removed ones are not in its text."""

    text: str
    added: int
    removed: int
    unshown_added: int = 0
    unshown_removed: int = 0


@dataclass(frozen=True)
class Change:
    """Lines `start` to `end` of the old text become `new_start` to `new_end` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True)
class _Edges:
    """What is shown of many lines: the first ones and the last ones."""

    count: int
    first: Sequence[str]
    last: Sequence[str]

    @property
    def unshown(self) -> int:
        return self.count - len(self.first) - len(self.last)


def unified(path: str, old: str | None, new: str) -> LineDiff:
    """Return the difference of two texts line by line; `old` is nothing for a file that does not exist yet."""
    header = f"--- {'/dev/null' if old is None else 'a/' + path}\n+++ b/{path}\n"
    before = old or ""
    if before == new:
        return LineDiff(text=header if old is None else "", added=0, removed=0)
    head = _shared_head(before, new)
    tail = _shared_tail(before, new, head)
    removed, added = before[head : len(before) - tail], new[head : len(new) - tail]
    preceding = _preceding(before, head)
    at = before.count("\n", 0, head) - len(preceding)
    if len(removed) + len(added) > MAX_CHARACTERS or _count(removed) + _count(added) > MAX_LINES:
        return _edged(header, at, preceding, _edges(removed), _edges(added))
    following = _following(before, len(before) - tail)
    return _whole(header, at, [preceding, _lines(removed), following], _lines(added))


def _whole(header: str, at: int, before: Sequence[list[str]], added: list[str]) -> LineDiff:
    """Show everything; `before` is what precedes the change, what is changed and what follows, from line `at` on."""
    preceding, removed, following = before
    changes = _changes(removed, added, len(preceding))
    old, new = [*preceding, *removed, *following], [*preceding, *added, *following]
    hunks = [line for group in _groups(changes) for line in _hunk(group, old, new, at)]
    return LineDiff(
        text=header + "".join(hunks),
        added=sum(change.new_end - change.new_start for change in changes),
        removed=sum(change.end - change.start for change in changes),
    )


def _edged(header: str, at: int, preceding: list[str], removed: _Edges, added: _Edges) -> LineDiff:
    """Show the edges of one block that is replaced."""
    start = at + len(preceding)
    parts = [
        f"@@ -{_range(at, start + removed.count)} +{_range(at, start + added.count)} @@\n",
        *(_line(" ", line) for line in preceding),
        *_shown("-", removed, "removed"),
        *_shown("+", added, "added"),
    ]
    return LineDiff(
        text=header + "".join(parts),
        added=added.count,
        removed=removed.count,
        unshown_added=added.unshown,
        unshown_removed=removed.unshown,
    )


def _shown(sign: str, edges: _Edges, what: str) -> Iterator[str]:
    yield from (_line(sign, line) for line in edges.first)
    if edges.unshown:
        yield f"\\ {edges.unshown} {what} lines are not shown\n"
    yield from (_line(sign, line) for line in edges.last)


def _edges(text: str) -> _Edges:
    count = _count(text)
    if count <= 2 * EDGE_LINES:
        lines = _lines(text)
        middle = count // 2
        return _Edges(count, _fitting(lines[:middle]), _fitting(lines[middle:][::-1])[::-1])
    first = _lines(text[: text.rfind("\n", 0, EDGE_CHARACTERS) + 1])[:EDGE_LINES]
    last = _lines(text[-EDGE_CHARACTERS:])[1:][-EDGE_LINES:]
    return _Edges(count, first, last)


def _fitting(lines: Sequence[str]) -> list[str]:
    """Return the first lines, as many as fit."""
    kept: list[str] = []
    left = EDGE_CHARACTERS
    for line in lines:
        left -= len(line)
        if left < 0:
            break
        kept.append(line)
    return kept


def _count(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def _lines(text: str) -> list[str]:
    """Split at line feeds only: what else breaks a line on some screens is content here."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _preceding(text: str, end: int) -> list[str]:
    """Return the lines of context before a place, unless they are too long to be of help."""
    return _lines(text[max(end - EDGE_CHARACTERS, 0) : end])[1 if end > EDGE_CHARACTERS else 0 :][-CONTEXT:]


def _following(text: str, start: int) -> list[str]:
    """Return the lines of context from a place on, unless they are too long to be of help."""
    cut = text[start : start + EDGE_CHARACTERS]
    return _lines(cut if start + EDGE_CHARACTERS >= len(text) else cut[: cut.rfind("\n") + 1])[:CONTEXT]


def _shared_head(old: str, new: str) -> int:
    """Return how many characters two texts begin with in common, up to the end of a line."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old.startswith(new[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return old.rfind("\n", 0, low) + 1


def _shared_tail(old: str, new: str, head: int) -> int:
    """Return how many characters two texts end with in common after their head, from the beginning of a line on."""
    low, high = 0, min(len(old), len(new)) - head
    while low < high:
        middle = (low + high + 1) // 2
        if old.endswith(new[len(new) - middle : len(new) - low], 0, len(old) - low):
            low = middle
        else:
            high = middle - 1
    if all(_begins_line(text, len(text) - low, head) for text in (old, new)):
        return low
    end = old.find("\n", len(old) - low)
    return 0 if end < 0 else len(old) - end - 1


def _begins_line(text: str, at: int, head: int) -> bool:
    return at == head or text[at - 1] == "\n"


def _changes(old: Sequence[str], new: Sequence[str], offset: int) -> list[Change]:
    kept = _kept(old, new) if old and new else None
    if kept is None:
        return [Change(offset, offset + len(old), offset, offset + len(new))]
    return list(_gaps(kept, offset, len(old), len(new)))


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


def _hunk(group: Sequence[Change], old: Sequence[str], new: Sequence[str], offset: int) -> Iterator[str]:
    """Write a group of changes; `offset` lines stand before those that are given."""
    first, last = group[0], group[-1]
    start, end = max(first.start - CONTEXT, 0), min(last.end + CONTEXT, len(old))
    new_start, new_end = max(first.new_start - CONTEXT, 0), min(last.new_end + CONTEXT, len(new))
    yield f"@@ -{_range(offset + start, offset + end)} +{_range(offset + new_start, offset + new_end)} @@\n"
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
