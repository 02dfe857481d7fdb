"""List, read, write and patch the files of a workspace.

A change is bound to the file that it would change: its hash is taken before anybody is asked, shown as a difference, and looked
at again in the moment before the new content takes its place.

A file with several names (hard links) is read like any other, and said to have them. A change gives the admitted name a file of
its own, so that nothing changes under names that nobody admitted; the preview says that, too.
"""

import hashlib
from abc import ABC, abstractmethod
from typing import Final, Literal

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import (
    BindingChanged,
    EffectClass,
    Preparation,
    ToolContext,
    ToolError,
)
from lifecycle_core.tools import edits, line_diff, paths, rooted
from lifecycle_core.tools.specs import NotReconcilable, argument, spec

FAMILY: Final = "files"
MAX_BYTES: Final = 1 << 20
MAX_ENTRIES: Final = 5000
ABSENT: Final = "absent"

_PATH: Final[dict[str, Json]] = {
    "type": "string",
    "minLength": 1,
    "description": "A path relative to the workspace, such as notes/today.md",
}

_EDITS: Final[dict[str, Json]] = {
    "type": "array",
    "minItems": 1,
    "maxItems": 100,
    "items": {
        "type": "object",
        "required": ["old", "new"],
        "properties": {
            "old": {"type": "string", "minLength": 1, "description": "Text of the file, word for word"},
            "new": {"type": "string", "description": "What stands there afterwards; empty to remove it"},
        },
        "additionalProperties": False,
    },
}


class FilesList(NotReconcilable):
    """Say what lies in a folder."""

    spec = spec(
        "files_list",
        FAMILY,
        "List a folder of the workspace. Without a path, the top folder. Links are listed but never followed.",
        EffectClass.READ_ONLY,
        {"path": _PATH},
    )

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        self._admitted(arguments, context)
        return Preparation()

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        path = self._admitted(arguments, context)
        with rooted.root(context.root) as root:
            found = rooted.entries(root, path, MAX_ENTRIES + 1)
        shown: list[Json] = [{"name": name, "kind": kind} for name, kind in found[:MAX_ENTRIES]]
        return {"path": path, "entries": shown, "truncated": len(found) > MAX_ENTRIES}

    def _admitted(self, arguments: dict[str, Json], context: ToolContext) -> str:
        path = paths.normalise(argument(arguments, "path") if "path" in arguments else paths.ROOT)
        paths.check_admitted(path, "read", context.access)
        return path


class FilesRead(NotReconcilable):
    """Return the text of a file."""

    spec = spec(
        "files_read",
        FAMILY,
        f"Read a text file (UTF-8, at most {MAX_BYTES} bytes) of the workspace.",
        EffectClass.READ_ONLY,
        {"path": _PATH},
        required=["path"],
    )

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        _admitted_file(arguments, "read", context)
        return Preparation()

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        path = _admitted_file(arguments, "read", context)
        with rooted.root(context.root) as root:
            found = rooted.read(root, path, MAX_BYTES)
        text = _text(path, found.content)
        return {"path": path, "content": text, "bytes": len(found.content), **_names(found)}


class _Change(ABC):
    """Be what the tools have in common that give one file a new content."""

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        path = _admitted_file(arguments, "write", context)
        with rooted.root(context.root) as root:
            before = rooted.current(root, path, MAX_BYTES)
        old = None if before is None else _text(path, before.content)
        content = self._after(arguments, path, old)
        diff = line_diff.unified(path, old, content.decode())
        base, target = _hash(before), digests.digest_bytes(content)
        return Preparation(
            binding={"path": path, "base": base, "target": target},
            preview={
                "kind": "diff",
                "path": path,
                "diff": diff.text,
                "added": diff.added,
                "removed": diff.removed,
                "creates": before is None,
                **_unshown(diff, base, target),
                **_names(before),
            },
        )

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        path = _admitted_file(arguments, "write", context)
        base, target = preparation.binding["base"], preparation.binding["target"]
        with rooted.root(context.root) as root:
            # Looked at before folders are made for nothing, and again in the moment of the change.
            before = rooted.current(root, path, MAX_BYTES)
            if _hash(before) != base:
                raise BindingChanged(f"{path} has changed")
            content = self._after(arguments, path, None if before is None else _text(path, before.content))
            if (path, digests.digest_bytes(content)) != (preparation.binding["path"], target):
                raise BindingChanged("this is not the content that was prepared")
            rooted.write(
                root,
                path,
                content,
                mark=_mark(context.call),
                expected=lambda found: _hash(found) == base,
                limit=MAX_BYTES,
            )
        return self.result_of(arguments, preparation)

    def reconcile(
        self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext
    ) -> Literal["done", "not_done", "unknown"]:
        try:
            path = _admitted_file(arguments, "write", context)
            with rooted.root(context.root) as root:
                rooted.clear(root, path, _mark(context.call))
                found = _hash(rooted.current(root, path, MAX_BYTES))
        except ToolError:
            return "unknown"
        if found == preparation.binding.get("target"):
            return "done"
        return "not_done" if found == preparation.binding.get("base") else "unknown"

    @abstractmethod
    def result_of(self, arguments: dict[str, Json], preparation: Preparation) -> Json:
        """Return the result of a call that was carried out."""

    @abstractmethod
    def _after(self, arguments: dict[str, Json], path: str, old: str | None) -> bytes:
        """Return the new content of a file whose text is `old`; nothing stands for a file that does not exist."""


class FilesWrite(_Change):
    """Write a file as a whole."""

    spec = spec(
        "files_write",
        FAMILY,
        "Write a text file of the workspace as a whole; an existing one is replaced, missing folders are made.",
        EffectClass.RECONCILABLE,
        {"path": _PATH, "content": {"type": "string", "description": "The whole new text of the file"}},
        required=["path", "content"],
    )

    def result_of(self, arguments: dict[str, Json], preparation: Preparation) -> Json:
        return {"written": True, "path": preparation.binding["path"], "bytes": len(_content(arguments))}

    def _after(self, arguments: dict[str, Json], path: str, old: str | None) -> bytes:
        return _content(arguments)


class FilesPatch(_Change):
    """Change parts of a file."""

    spec = spec(
        "files_patch",
        FAMILY,
        "Change a text file of the workspace by edits, one after the other. Each replaces an old text, which must stand in the "
        "file exactly once, by a new one.",
        EffectClass.RECONCILABLE,
        {"path": _PATH, "edits": _EDITS},
        required=["path", "edits"],
    )

    def result_of(self, arguments: dict[str, Json], preparation: Preparation) -> Json:
        return {
            "patched": True,
            "path": preparation.binding["path"],
            "edits": len(edits.parsed(arguments.get("edits"))),
        }

    def _after(self, arguments: dict[str, Json], path: str, old: str | None) -> bytes:
        made = edits.parsed(arguments.get("edits"))
        if old is None:
            raise ToolError("NOT_FOUND", f"{path}: there is no such file or folder")
        return _encoded(edits.applied(old, made))


def _admitted_file(arguments: dict[str, Json], mode: Literal["read", "write"], context: ToolContext) -> str:
    path = paths.file_name(argument(arguments, "path"))
    paths.check_admitted(path, mode, context.access)
    return path


def _content(arguments: dict[str, Json]) -> bytes:
    return _encoded(argument(arguments, "content"))


def _encoded(text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError as cause:
        raise ToolError("NOT_TEXT", "the content holds half a surrogate pair") from cause
    if b"\0" in content:
        raise ToolError("NOT_TEXT", "the content holds a NUL character")
    if len(content) > MAX_BYTES:
        raise ToolError("TOO_LARGE", f"the content is larger than {MAX_BYTES} bytes")
    return content


def _text(path: str, content: bytes) -> str:
    if b"\0" in content:
        raise ToolError("NOT_TEXT", f"{path} is a binary file")
    try:
        return content.decode()
    except UnicodeDecodeError as cause:
        raise ToolError("NOT_TEXT", f"{path} is not UTF-8 text") from cause


def _hash(found: rooted.Found | None) -> str:
    return ABSENT if found is None else digests.digest_bytes(found.content)


def _names(found: rooted.Found | None) -> dict[str, Json]:
    """Say how many names a file has, if more than one."""
    return {"links": found.links} if found is not None and found.links > 1 else {}


def _unshown(diff: line_diff.LineDiff, base: str, target: str) -> dict[str, Json]:
    """Say how much of a difference is not in its text, if any, and which contents an approval is bound to all the same."""
    if not diff.unshown_added and not diff.unshown_removed:
        return {}
    unshown: Json = {"added": diff.unshown_added, "removed": diff.unshown_removed}
    return {"unshown": unshown, "base": base, "target": target}


def _mark(call: str) -> str:
    """Return how the temporary files of a call begin."""
    return f".lifecycle-{hashlib.sha256(call.encode()).hexdigest()[:16]}-"
