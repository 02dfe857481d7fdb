"""List, read and write the files of a workspace.

A write is bound to the file that it would change: its hash is taken before anybody is asked, shown as a difference, and looked
at again in the moment before the new content takes its place.
"""

import hashlib
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
from lifecycle_core.tools import line_diff, paths, rooted
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
            found = rooted.entries(root, path)
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
            content = rooted.read(root, path, MAX_BYTES).content
        return {"path": path, "content": _text(path, content), "bytes": len(content)}


class FilesWrite:
    """Write a file as a whole."""

    spec = spec(
        "files_write",
        FAMILY,
        "Write a text file of the workspace as a whole; an existing one is replaced, missing folders are made.",
        EffectClass.RECONCILABLE,
        {"path": _PATH, "content": {"type": "string", "description": "The whole new text of the file"}},
        required=["path", "content"],
    )

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        path = _admitted_file(arguments, "write", context)
        content = _content(arguments)
        with rooted.root(context.root) as root:
            before = rooted.current(root, path, MAX_BYTES)
        old = None if before is None else _text(path, before.content)
        diff = line_diff.unified(path, old, content.decode())
        return Preparation(
            binding={"path": path, "base": _hash(before), "target": digests.digest_bytes(content)},
            preview={
                "kind": "diff",
                "path": path,
                "diff": diff.text,
                "added": diff.added,
                "removed": diff.removed,
                "creates": before is None,
            },
        )

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        path = _admitted_file(arguments, "write", context)
        content = _content(arguments)
        if (path, digests.digest_bytes(content)) != (
            preparation.binding["path"],
            preparation.binding["target"],
        ):
            raise BindingChanged("this is not the content that was prepared")
        base = preparation.binding["base"]
        with rooted.root(context.root) as root:
            # Looked at before folders are made for nothing, and again in the moment of the change.
            if _hash(rooted.current(root, path, MAX_BYTES)) != base:
                raise BindingChanged(f"{path} has changed")
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

    def result_of(self, arguments: dict[str, Json], preparation: Preparation) -> Json:
        return {"written": True, "path": preparation.binding["path"], "bytes": len(_content(arguments))}


def _admitted_file(arguments: dict[str, Json], mode: Literal["read", "write"], context: ToolContext) -> str:
    path = paths.file_name(argument(arguments, "path"))
    paths.check_admitted(path, mode, context.access)
    return path


def _content(arguments: dict[str, Json]) -> bytes:
    try:
        content = argument(arguments, "content").encode()
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


def _mark(call: str) -> str:
    """Return how the temporary files of a call begin."""
    return f".lifecycle-{hashlib.sha256(call.encode()).hexdigest()[:16]}-"
