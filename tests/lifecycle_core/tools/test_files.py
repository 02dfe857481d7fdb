"""The file tools do what they say, inside the workspace and nowhere else."""

import ctypes
import errno
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.invocation import AccessRule
from lifecycle_core.contract.ports import BindingChanged, Preparation, Tool, ToolContext, ToolError
from lifecycle_core.tools import files, rooted
from lifecycle_core.tools.files import FilesList, FilesPatch, FilesRead, FilesWrite

EVERYTHING = (AccessRule(mode="write", path="**"),)
NOTES = (AccessRule(mode="read", path="notes/**"), AccessRule(mode="write", path="notes/**"))
CANARY = "canary: this lies outside"

LIST, READ, WRITE, PATCH = FilesList(), FilesRead(), FilesWrite(), FilesPatch()


@pytest.fixture(params=["kernel", "walk"])
def confinement(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with `openat2` and with the walk that stands in for it."""
    name: str = request.param
    if name == "kernel" and not rooted.kernel_confines():
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(rooted, "kernel_confines", lambda: name == "kernel")
    return name


@pytest.fixture
def workspace(tmp_path: Path, confinement: str) -> Path:
    root = tmp_path / "ws"
    (root / "notes" / "deep").mkdir(parents=True)
    (root / "notes" / "a.md").write_text("one\ntwo\n")
    (root / "private").mkdir()
    (root / "private" / "secret.txt").write_text(CANARY)
    (root / "notes-evil").mkdir()
    (root / "notes-evil" / "secret.txt").write_text(CANARY)
    outside = tmp_path / "ws-evil"
    outside.mkdir()
    (outside / "secret.txt").write_text(CANARY)
    (tmp_path / "secret.txt").write_text(CANARY)
    return root


def context(
    root: Path | None, access: tuple[AccessRule, ...] = EVERYTHING, call: str = "call-1"
) -> ToolContext:
    return ToolContext(call=call, root=root, access=access)


def use(tool: Tool, arguments: dict[str, Json], at: ToolContext) -> dict[str, Json]:
    result = tool.run(arguments, tool.prepare(arguments, at), at)
    assert isinstance(result, dict)
    digests.canonical(result)
    return result


def refused(tool: Tool, arguments: dict[str, Json], at: ToolContext) -> str:
    """Return the code with which a call is refused."""
    with pytest.raises(ToolError) as caught:
        use(tool, arguments, at)
    return caught.value.code


def outside_of(root: Path) -> dict[str, str | None]:
    """Return everything beside a workspace, to see whether it stayed as it was."""
    return {
        str(path): path.read_text() if path.is_file() and not path.is_symlink() else None
        for path in sorted(root.parent.rglob("*"))
        if not path.is_relative_to(root)
    }


# ---------------------------------------------------------------------------------------------------------- in the house


def test_it_lists_a_folder_in_order_of_names(workspace: Path) -> None:
    (workspace / "notes" / "link").symlink_to("a.md")
    os.mkfifo(workspace / "notes" / "pipe")
    result = use(LIST, {"path": "notes"}, context(workspace))
    assert result["entries"] == [
        {"name": "a.md", "kind": "file"},
        {"name": "deep", "kind": "directory"},
        {"name": "link", "kind": "symlink"},
        {"name": "pipe", "kind": "other"},
    ]


def test_it_lists_the_top_folder_when_no_path_is_given(workspace: Path) -> None:
    result = use(LIST, {}, context(workspace))
    assert [entry["name"] for entry in result["entries"]] == ["notes", "notes-evil", "private"]  # type: ignore[union-attr,index,call-overload]


def test_a_name_that_is_no_text_is_spelled_out(workspace: Path) -> None:
    (workspace / "notes" / os.fsdecode(b"bad\xff")).write_text("")
    result = use(LIST, {"path": "notes"}, context(workspace))
    assert {"name": "bad\\xff", "kind": "file"} in result["entries"]  # type: ignore[operator]


def test_a_long_list_is_cut_and_says_so(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ENTRIES", 1)
    result = use(LIST, {"path": "notes"}, context(workspace))
    assert result["truncated"] is True
    assert len(result["entries"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["notes/a.md", "./notes/a.md", "notes\\a.md", "notes//a.md", "notes/./a.md"])
def test_it_reads_a_file_by_any_spelling_of_its_path(workspace: Path, path: str) -> None:
    result = use(READ, {"path": path}, context(workspace, NOTES))
    assert result == {"path": "notes/a.md", "content": "one\ntwo\n", "bytes": 8}


def test_it_writes_a_new_file_and_its_folders(workspace: Path) -> None:
    arguments: dict[str, Json] = {"path": "notes/new/er/b.md", "content": "höhe\n"}
    result = use(WRITE, arguments, context(workspace, NOTES))
    assert result == {"written": True, "path": "notes/new/er/b.md", "bytes": 6}
    assert (workspace / "notes/new/er/b.md").read_text() == "höhe\n"
    assert [path.name for path in (workspace / "notes/new/er").iterdir()] == ["b.md"]


def test_a_replaced_file_keeps_its_permissions(workspace: Path) -> None:
    (workspace / "notes/a.md").chmod(0o750)
    use(WRITE, {"path": "notes/a.md", "content": "x"}, context(workspace))
    assert (workspace / "notes/a.md").stat().st_mode & 0o777 == 0o750


def test_a_write_is_shown_as_a_difference_before_it_happens(workspace: Path) -> None:
    preparation = WRITE.prepare({"path": "notes/a.md", "content": "one\n2\n"}, context(workspace))
    assert preparation.preview == {
        "kind": "diff",
        "path": "notes/a.md",
        "diff": "--- a/notes/a.md\n+++ b/notes/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
        "added": 1,
        "removed": 1,
        "creates": False,
    }
    assert preparation.binding == {
        "path": "notes/a.md",
        "base": digests.digest_bytes(b"one\ntwo\n"),
        "target": digests.digest_bytes(b"one\n2\n"),
    }
    assert (workspace / "notes/a.md").read_text() == "one\ntwo\n"


def test_a_change_that_is_not_shown_as_a_whole_says_so_and_is_bound_as_a_whole(workspace: Path) -> None:
    before, after = "a\n" * 400_000, "b\n" * 400_000
    (workspace / "notes/a.md").write_text(before)
    preparation = WRITE.prepare({"path": "notes/a.md", "content": after}, context(workspace))
    hashes = {
        "base": digests.digest_bytes(before.encode()),
        "target": digests.digest_bytes(after.encode()),
    }
    assert preparation.preview is not None
    assert (preparation.preview["added"], preparation.preview["removed"]) == (400_000, 400_000)
    assert preparation.preview["unshown"] == {"added": 399_800, "removed": 399_800}
    assert {name: preparation.preview[name] for name in hashes} == hashes
    assert preparation.binding == {"path": "notes/a.md", **hashes}


def test_a_new_file_is_bound_to_its_absence(workspace: Path) -> None:
    preparation = WRITE.prepare({"path": "notes/x/y.md", "content": ""}, context(workspace))
    assert preparation.binding["base"] == "absent"
    assert preparation.preview is not None
    assert preparation.preview["creates"] is True
    assert not (workspace / "notes/x").exists()


@pytest.mark.parametrize("change", ["edited", "removed", "appeared"])
def test_a_write_is_refused_when_the_file_has_changed_since(workspace: Path, change: str) -> None:
    path = "notes/new.md" if change == "appeared" else "notes/a.md"
    arguments: dict[str, Json] = {"path": path, "content": "mine"}
    preparation = WRITE.prepare(arguments, context(workspace))
    if change == "removed":
        (workspace / path).unlink()
    else:
        (workspace / path).write_text("theirs")
    with pytest.raises(BindingChanged):
        WRITE.run(arguments, preparation, context(workspace))
    assert not (workspace / path).exists() or (workspace / path).read_text() == "theirs"


def test_a_write_is_refused_when_the_file_changes_in_the_last_moment(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = rooted._fill

    def fill_while_somebody_writes(
        folder: int, name: str, content: bytes, before: rooted.Found | None
    ) -> None:
        fill(folder, name, content, before)
        (workspace / "notes/a.md").write_text("theirs")

    monkeypatch.setattr(rooted, "_fill", fill_while_somebody_writes)
    arguments: dict[str, Json] = {"path": "notes/a.md", "content": "mine"}
    with pytest.raises(BindingChanged):
        use(WRITE, arguments, context(workspace))
    assert (workspace / "notes/a.md").read_text() == "theirs"
    assert sorted(path.name for path in (workspace / "notes").iterdir()) == ["a.md", "deep"]


def test_a_new_file_never_replaces_one_that_appears_in_the_last_moment(workspace: Path) -> None:
    with rooted.root(workspace) as root:

        def expected(found: rooted.Found | None) -> bool:
            (workspace / "notes/new.md").write_text("theirs")  # after we looked, before it changes hands
            return found is None

        with pytest.raises(BindingChanged):
            rooted.write(root, "notes/new.md", b"mine", mark=".m-", expected=expected, limit=100)
    assert (workspace / "notes/new.md").read_text() == "theirs"


def test_other_content_than_prepared_is_not_written(workspace: Path) -> None:
    preparation = WRITE.prepare({"path": "notes/a.md", "content": "approved"}, context(workspace))
    with pytest.raises(BindingChanged):
        WRITE.run({"path": "notes/a.md", "content": "other"}, preparation, context(workspace))


@pytest.mark.parametrize("tool", [WRITE, PATCH], ids=["write", "patch"])
def test_a_change_to_a_hard_link_leaves_the_other_name_alone_and_says_that_there_is_one(
    workspace: Path, tool: Tool
) -> None:
    os.link(workspace.parent / "secret.txt", workspace / "notes/twin.txt")
    more: dict[str, Json] = {"content": "mine"} if tool is WRITE else patch((CANARY, "mine"))
    arguments: dict[str, Json] = {"path": "notes/twin.txt", **more}
    preview = tool.prepare(arguments, context(workspace)).preview
    assert preview is not None
    assert preview["links"] == 2
    use(tool, arguments, context(workspace))
    assert (workspace.parent / "secret.txt").read_text() == CANARY
    assert (workspace / "notes/twin.txt").read_text() == "mine"


def test_a_read_of_a_hard_link_says_that_the_file_has_other_names(workspace: Path) -> None:
    os.link(workspace / "notes/a.md", workspace / "notes/twin.md")
    assert use(READ, {"path": "notes/twin.md"}, context(workspace))["links"] == 2


# -------------------------------------------------------------------------------------------------------------- patches


def patch(*replacements: tuple[str, str]) -> dict[str, Json]:
    return {"edits": [{"old": old, "new": new} for old, new in replacements]}


def test_a_patch_replaces_what_it_names_and_is_shown_as_a_difference(workspace: Path) -> None:
    arguments: dict[str, Json] = {"path": "notes/a.md", **patch(("two", "2"), ("one\n", ""))}
    preparation = PATCH.prepare(arguments, context(workspace))
    assert preparation.preview is not None
    assert (
        preparation.preview["diff"] == "--- a/notes/a.md\n+++ b/notes/a.md\n@@ -1,2 +1 @@\n-one\n-two\n+2\n"
    )
    assert preparation.binding == {
        "path": "notes/a.md",
        "base": digests.digest_bytes(b"one\ntwo\n"),
        "target": digests.digest_bytes(b"2\n"),
    }
    result = PATCH.run(arguments, preparation, context(workspace))
    assert result == {"patched": True, "path": "notes/a.md", "edits": 2}
    assert (workspace / "notes/a.md").read_text() == "2\n"
    assert PATCH.reconcile(arguments, preparation, context(workspace)) == "done"
    assert PATCH.result_of(arguments, Preparation(binding=preparation.binding)) == result


@pytest.mark.parametrize(
    ("replacements", "code"),
    [
        ([("three", "3")], "EDIT_REFUSED"),
        ([("o", "0")], "EDIT_REFUSED"),
        ([("one", "1"), ("one", "2")], "EDIT_REFUSED"),
        ([("TWO", "2")], "EDIT_REFUSED"),
        ([("two", "2\0")], "NOT_TEXT"),
        ([("two", "x" * files.MAX_BYTES)], "TOO_LARGE"),
        ([("", "x")], "ARGUMENTS_INVALID"),
        ([], "ARGUMENTS_INVALID"),
    ],
)
def test_a_patch_that_means_no_one_place_changes_nothing(
    workspace: Path, replacements: list[tuple[str, str]], code: str
) -> None:
    arguments: dict[str, Json] = {"path": "notes/a.md", **patch(*replacements)}
    assert refused(PATCH, arguments, context(workspace)) == code
    assert (workspace / "notes/a.md").read_text() == "one\ntwo\n"


def test_an_old_text_that_overlaps_itself_means_no_one_place(workspace: Path) -> None:
    (workspace / "notes/a.md").write_text("aaa")
    arguments: dict[str, Json] = {"path": "notes/a.md", **patch(("aa", "b"))}
    assert refused(PATCH, arguments, context(workspace)) == "EDIT_REFUSED"


@pytest.mark.parametrize("edits", [None, "x", [1], [{"old": "a"}], [{"old": "one", "new": "1", "all": True}]])
def test_edits_that_are_none_are_refused(workspace: Path, edits: Json) -> None:
    assert refused(PATCH, {"path": "notes/a.md", "edits": edits}, context(workspace)) == "ARGUMENTS_INVALID"


def test_a_patch_needs_a_file(workspace: Path) -> None:
    arguments: dict[str, Json] = {"path": "notes/new.md", **patch(("a", "b"))}
    assert refused(PATCH, arguments, context(workspace)) == "NOT_FOUND"


def test_a_patch_is_refused_when_the_file_has_changed_since(workspace: Path) -> None:
    arguments: dict[str, Json] = {"path": "notes/a.md", **patch(("two", "2"))}
    preparation = PATCH.prepare(arguments, context(workspace))
    (workspace / "notes/a.md").write_text("zero\none\ntwo\n")
    with pytest.raises(BindingChanged):
        PATCH.run(arguments, preparation, context(workspace))
    assert (workspace / "notes/a.md").read_text() == "zero\none\ntwo\n"


def test_other_edits_than_prepared_are_not_made(workspace: Path) -> None:
    preparation = PATCH.prepare({"path": "notes/a.md", **patch(("two", "2"))}, context(workspace))
    with pytest.raises(BindingChanged):
        PATCH.run({"path": "notes/a.md", **patch(("two", "3"))}, preparation, context(workspace))
    assert (workspace / "notes/a.md").read_text() == "one\ntwo\n"


# ------------------------------------------------------------------------------------------------------- after a crash


@pytest.mark.parametrize(
    ("content", "answer"),
    [("mine", "done"), ("one\ntwo\n", "not_done"), ("theirs", "unknown"), (None, "unknown")],
)
def test_reconciliation_looks_at_the_file(workspace: Path, content: str | None, answer: str) -> None:
    arguments: dict[str, Json] = {"path": "notes/a.md", "content": "mine"}
    preparation = WRITE.prepare(arguments, context(workspace))
    if content is None:
        (workspace / "notes/a.md").unlink()
    else:
        (workspace / "notes/a.md").write_text(content)
    assert WRITE.reconcile(arguments, Preparation(binding=preparation.binding), context(workspace)) == answer


def test_reconciliation_of_a_new_file_that_is_not_there(workspace: Path) -> None:
    arguments: dict[str, Json] = {"path": "notes/new/b.md", "content": "mine"}
    preparation = WRITE.prepare(arguments, context(workspace))
    assert WRITE.reconcile(arguments, preparation, context(workspace)) == "not_done"


def test_the_result_of_a_reconciled_call_is_that_of_the_call(workspace: Path) -> None:
    arguments: dict[str, Json] = {"path": "./notes/a.md", "content": "mine"}
    preparation = WRITE.prepare(arguments, context(workspace))
    result = WRITE.run(arguments, preparation, context(workspace))
    assert WRITE.reconcile(arguments, preparation, context(workspace)) == "done"
    assert WRITE.result_of(arguments, Preparation(binding=preparation.binding)) == result


def test_a_crash_before_the_change_leaves_the_old_file_and_its_rest_is_cleared(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(BaseException):
        pass

    def crash(*_: object, **__: object) -> None:
        raise Crash

    arguments: dict[str, Json] = {"path": "notes/a.md", "content": "mine"}
    at = context(workspace)
    preparation = WRITE.prepare(arguments, at)
    with monkeypatch.context() as patch:
        patch.setattr(rooted, "_hand_over", crash)
        patch.setattr(os, "unlink", lambda *_, **__: None)
        with pytest.raises(Crash):
            WRITE.run(arguments, preparation, at)
    assert len(list((workspace / "notes").iterdir())) == 3
    assert (workspace / "notes/a.md").read_text() == "one\ntwo\n"
    assert WRITE.reconcile(arguments, preparation, at) == "not_done"
    assert len(list((workspace / "notes").iterdir())) == 2


# --------------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("tool", [LIST, READ, WRITE, PATCH], ids=["list", "read", "write", "patch"])
def test_without_a_workspace_there_is_nothing(tool: Tool, tmp_path: Path) -> None:
    arguments: dict[str, Json] = {"path": "a", "content": "", **patch(("a", "b"))}
    assert refused(tool, arguments, context(None)) == "NO_WORKSPACE"
    assert refused(tool, arguments, context(tmp_path / "missing")) == "NO_WORKSPACE"


@pytest.mark.parametrize(
    ("access", "mode", "path", "allowed"),
    [
        ((("read", "**"),), "read", "notes/a.md", True),
        ((("read", "**"),), "write", "notes/a.md", False),
        ((("write", "notes/**"),), "read", "notes/a.md", True),
        ((("write", "notes/**"),), "write", "notes/a.md", True),
        ((("write", "notes/**"),), "write", "private/secret.txt", False),
        ((("write", "notes/**"),), "read", "notes-evil/secret.txt", False),
        ((("write", "notes/**"),), "read", "NOTES/a.md", False),
        ((("write", "notes/**"),), "read", "n\u00f6tes/a.md", False),
        ((("read", "notes/a.md"),), "read", "notes/a.md", True),
        ((("read", "notes/a.md"),), "read", "notes/a.md/x", False),
        ((("read", "notes/a.md"),), "read", "notes", False),
        ((("read", "notes/*"),), "read", "notes/a.md", False),
        ((), "read", "notes/a.md", False),
    ],
)
def test_only_what_a_rule_admits_is_reached(
    workspace: Path,
    access: tuple[tuple[Literal["read", "write"], str], ...],
    mode: str,
    path: str,
    allowed: bool,
) -> None:
    at = context(workspace, tuple(AccessRule(mode=mode, path=path) for mode, path in access))
    tool, arguments = (READ, {"path": path}) if mode == "read" else (WRITE, {"path": path, "content": "x"})
    if allowed:
        use(tool, dict(arguments), at)
    else:
        assert refused(tool, dict(arguments), at) == "OUTSIDE_ACCESS"


def test_a_list_of_the_top_needs_a_rule_for_everything(workspace: Path) -> None:
    assert refused(LIST, {}, context(workspace, NOTES)) == "OUTSIDE_ACCESS"
    assert use(LIST, {"path": "notes"}, context(workspace, NOTES))["path"] == "notes"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("missing.md", "NOT_FOUND"),
        ("missing/b.md", "NOT_FOUND"),
        ("deep", "NOT_A_FILE"),
        ("pipe", "NOT_A_FILE"),
        ("socket", "NOT_A_FILE"),
        ("a.md/b", "NOT_A_FOLDER"),
        ("large", "TOO_LARGE"),
        ("binary", "NOT_TEXT"),
        ("nul", "NOT_TEXT"),
        ("link", "LINK_REFUSED"),
        ("dangling", "LINK_REFUSED"),
        ("folder-link/a.md", "LINK_REFUSED"),
        ("loop", "LINK_REFUSED"),
    ],
)
def test_only_regular_text_files_are_read_and_replaced(workspace: Path, name: str, code: str) -> None:
    notes = workspace / "notes"
    os.mkfifo(notes / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(notes)  # the path of a socket must be short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        (notes / "large").write_bytes(b"x" * (files.MAX_BYTES + 1))
        (notes / "binary").write_bytes(b"\xff\xfe")
        (notes / "nul").write_bytes(b"a\0b")
        (notes / "link").symlink_to("a.md")
        (notes / "dangling").symlink_to(workspace.parent / "new.txt")
        (notes / "folder-link").symlink_to("deep")
        (notes / "loop").symlink_to("loop")
        path = f"notes/{name}"
        began = time.monotonic()
        assert refused(READ, {"path": path}, context(workspace)) == code
        if code != "NOT_FOUND":
            assert refused(WRITE, {"path": path, "content": "x"}, context(workspace)) == code
        assert refused(PATCH, {"path": path, **patch(("x", "y"))}, context(workspace)) == code
        assert time.monotonic() - began < 2
    assert not (workspace.parent / "new.txt").exists()


def test_a_file_of_exactly_the_limit_is_read_and_written(workspace: Path) -> None:
    content = "x" * files.MAX_BYTES
    use(WRITE, {"path": "notes/full", "content": content}, context(workspace))
    assert use(READ, {"path": "notes/full"}, context(workspace))["bytes"] == files.MAX_BYTES
    assert refused(WRITE, {"path": "notes/full", "content": content + "x"}, context(workspace)) == "TOO_LARGE"


@pytest.mark.parametrize("content", [None, 1, "\ud800", "a\0b"])
def test_content_must_be_text(workspace: Path, content: Json) -> None:
    code = refused(WRITE, {"path": "notes/b", "content": content}, context(workspace))
    assert code == ("NOT_TEXT" if isinstance(content, str) else "ARGUMENTS_INVALID")


def hostile_paths() -> Iterator[str]:
    """Name what lies outside of `notes`, in as many ways as come to mind."""
    targets = ["secret.txt", "ws-evil/secret.txt", "ws/private/secret.txt", "etc/passwd"]
    for up in (
        "../",
        "..\\",
        "../../",
        "./../",
        "notes/../../",
        "notes/deep/../../../",
        "notes\\..\\..\\",
        ".//..//",
    ):
        yield from (up + target for target in targets)
    for top in ("/", "//", "\\", "\\\\", "/./", "//server/share/", "C:/", "C:\\", "c:", "~/", "~root/", "~"):
        yield from (top + target for target in targets[:3])
    yield from (
        "",
        ".",
        "./",
        "..",
        "../",
        "...",
        "....//secret.txt",
        "/",
        "//",
        "\\",
        "notes",
        "notes/",
        "notes/.",
        "notes\\",
    )
    yield from (
        "notes/..",
        "notes/../private/secret.txt",
        "notes/../notes/a.md",
        "notes/deep/../../private/secret.txt",
    )
    yield from (
        "notes-evil/secret.txt",
        "notesx",
        "notes.txt",
        "note",
        "private/secret.txt",
        "NOTES/a.md",
        "Notes/a.md",
    )
    yield from (
        "notes /a.md",
        " notes/a.md",
        "notes\u00a0/a.md",
        "no\u200btes/a.md",
        "\ufeffnotes/a.md",
        "notes\u2215a.md",
    )
    yield from (
        "notes\uff0fa.md",
        "\u2024\u2024/secret.txt",
        "\uff0e\uff0e/secret.txt",
        "n\u043etes/a.md",
        "notes%2fa.md",
    )
    yield from (
        "notes/%2e%2e/secret.txt",
        "%2e%2e/secret.txt",
        "..%2fsecret.txt",
        "..%5csecret.txt",
        "..%c0%afsecret.txt",
    )
    yield from (
        "notes/a.md\0",
        "notes/\0../secret.txt",
        "\0",
        "notes/a.md\n",
        "notes/\r",
        "notes/\x1b[2K",
        "notes/\u202etxt",
    )
    yield from ("notes/\ud800", "notes/" + "x" * 256, "notes/" + "x/" * 3000 + "x", "notes/" + "\u00e9" * 200)
    yield from (
        "notes/escape/secret.txt",
        "notes/up/secret.txt",
        "notes/inside/secret.txt",
        "notes/file",
        "notes/dangling",
    )
    yield from (
        "notes/absolute",
        "notes/chain/secret.txt",
        "notes/root/proc/version",
        "notes/proc/self/root/etc/passwd",
    )
    yield from ("notes/magic/root/etc/passwd", "notes/magic/cwd/pyproject.toml", "notes/deep/up/secret.txt")
    yield from (
        "file:///etc/passwd",
        "file:notes/../../secret.txt",
        "notes/../\u0000",
        "\\\\?\\C:\\secret.txt",
        "\\\\.\\nul",
    )


def lay_traps(root: Path) -> None:
    notes = root / "notes"
    (notes / "escape").symlink_to(root.parent)
    (notes / "up").symlink_to("..")
    (notes / "inside").symlink_to("../private")
    (notes / "file").symlink_to(root.parent / "secret.txt")
    (notes / "dangling").symlink_to(root.parent / "made.txt")
    (notes / "absolute").symlink_to("/etc/passwd")
    (notes / "chain").symlink_to("escape")
    (notes / "root").symlink_to("/")
    (notes / "proc").symlink_to("/proc")
    (notes / "magic").symlink_to("/proc/self")
    (notes / "deep" / "up").symlink_to("../..")


def test_there_are_at_least_a_hundred_hostile_paths() -> None:
    assert len(set(hostile_paths())) >= 100


def test_no_hostile_path_reaches_anything(workspace: Path) -> None:
    lay_traps(workspace)
    before = outside_of(workspace)
    private = (workspace / "private/secret.txt").read_text()
    at = context(workspace, NOTES)
    for path in hostile_paths():
        assert refused(READ, {"path": path}, at), path
        with suppress(ToolError):
            listed = use(LIST, {"path": path}, at)
            assert listed["path"] == "notes", path
        with suppress(ToolError):
            assert str(use(WRITE, {"path": path, "content": "x"}, at)["path"]).startswith("notes/"), path
        assert refused(PATCH, {"path": path, **patch(("canary", "x"))}, at), path
    assert outside_of(workspace) == before
    assert (workspace / "private/secret.txt").read_text() == private
    assert sorted(path.name for path in workspace.iterdir()) == ["notes", "notes-evil", "private"]


def test_rules_for_everything_do_not_open_a_link_either(workspace: Path) -> None:
    lay_traps(workspace)
    before = outside_of(workspace)
    for name in (
        "escape/secret.txt",
        "inside/secret.txt",
        "file",
        "dangling",
        "absolute",
        "chain/secret.txt",
        "root/etc/passwd",
    ):
        assert refused(READ, {"path": f"notes/{name}"}, context(workspace)) == "LINK_REFUSED"
        assert refused(WRITE, {"path": f"notes/{name}", "content": "x"}, context(workspace)) == "LINK_REFUSED"
        assert refused(LIST, {"path": f"notes/{name}"}, context(workspace)) in (
            "LINK_REFUSED",
            "NOT_A_FOLDER",
        )
    assert outside_of(workspace) == before


# --------------------------------------------------------------------------------------------------------------- the race


class Swapper:
    """Let a name mean a folder of the workspace and a link out of it, in turns; there is always one of them."""

    def __init__(self, workspace: Path, outside: Path) -> None:
        self.name, self.other = workspace / "notes/swap", workspace / "other"
        self.name.mkdir()
        (self.name / "secret.txt").write_text("inside")
        self.other.symlink_to(outside)
        self._rename = ctypes.CDLL(None, use_errno=True).renameat2

    def swap(self) -> None:
        here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        assert self._rename(here, bytes(self.name), here, bytes(self.other), exchange) == 0, (
            ctypes.get_errno()
        )


def looking_first(between: Callable[[], None]) -> Callable[[int, str, int], int]:
    """Open the way that looks safe and is not: resolve the name, look at the result, open the name."""

    def open_after_looking(handle: int, path: str, flags: int) -> int:
        root = Path(f"/proc/self/fd/{handle}").resolve()
        if not (root / path).resolve().is_relative_to(root):
            raise OSError(errno.EXDEV, "it leads outside")
        between()
        return os.open(root / path, flags & ~os.O_NOFOLLOW)

    return open_after_looking


def test_control_looking_first_and_opening_then_escapes(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapper = Swapper(workspace, workspace.parent / "ws-evil")
    monkeypatch.setattr(rooted, "open_beneath", looking_first(swapper.swap))
    result = use(READ, {"path": "notes/swap/secret.txt"}, context(workspace, NOTES))
    assert result["content"] == CANARY


def test_no_moment_of_a_swap_opens_the_way_out(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = workspace.parent / "ws-evil"
    swapper = Swapper(workspace, outside)
    left = 0

    def swapping(inner: Callable[..., int]) -> Callable[..., int]:
        def open_in_time(*args: Any, **kwargs: Any) -> int:
            nonlocal left
            left -= 1
            if left == 0:
                swapper.swap()
            return inner(*args, **kwargs)

        return open_in_time

    monkeypatch.setattr(rooted, "_openat2", swapping(rooted._openat2))
    monkeypatch.setattr(os, "open", swapping(os.open))
    seen: set[str] = set()
    for step in range(1, 12):
        for tool, arguments in _tries(step):
            left = step
            seen.add(outcome_of(tool, arguments, context(workspace, NOTES)))
            if swapper.name.is_symlink():
                swapper.swap()
    assert CANARY not in seen
    assert {"inside", "LINK_REFUSED"} <= seen
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize("tries", [1_000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_no_swap_of_a_folder_for_a_link_is_ever_followed(workspace: Path, tries: int) -> None:
    outside = workspace.parent / "ws-evil"
    swapper = Swapper(workspace, outside)
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        while not stop.is_set():
            swapper.swap()
            swaps += 1

    seen: Counter[str] = Counter()
    both = {"inside", "LINK_REFUSED"}
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        # As often as asked, and on until as many swaps have fallen in between and both sides of one were met.
        for number in range(tries * 100):
            if number >= tries and swaps >= tries and both <= seen.keys():
                break
            read, *changes = _tries(number)
            for tool, arguments in (read, *changes) if number % 20 == 0 else (read,):
                seen[outcome_of(tool, arguments, context(workspace, NOTES))] += 1
    finally:
        stop.set()
        thread.join()
    assert swaps >= tries
    assert CANARY not in seen
    assert both <= seen.keys()
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == CANARY


def outcome_of(tool: Tool, arguments: dict[str, Json], at: ToolContext) -> str:
    try:
        return str(use(tool, arguments, at).get("content", "written"))
    except ToolError as refusal:
        return refusal.code
    except BindingChanged:
        return "changed"


def _tries(number: int) -> list[tuple[Tool, dict[str, Json]]]:
    return [
        (READ, {"path": "notes/swap/secret.txt"}),
        (WRITE, {"path": f"notes/swap/made-{number % 50}.txt", "content": str(number)}),
        (PATCH, {"path": "notes/swap/secret.txt", **patch(("side", "side"))}),
    ]
