"""Bring the translation catalogues up to date, or with --check say what is not.

Every marked string is in every catalogue, translated, with the same placeholders. The compiled file is
committed, so that starting a console needs no gettext programs.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import polib
from marked_strings import Marked, found

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [ROOT / "console", ROOT / "lifecycle_core", ROOT / "templates"]
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")


def main(arguments: list[str]) -> int:
    """Check or update every catalogue; answer the exit code."""
    catalogues = sorted(ROOT.glob("locale/*/LC_MESSAGES/django.po"))
    if not catalogues:
        return report(["There is no catalogue under locale/."])
    marked = found(SOURCES)
    if arguments != ["--check"]:
        for path in catalogues:
            update(path, marked)
    return report([line for path in catalogues for line in complaints(path, marked)])


def report(lines: list[str]) -> int:
    """Print what is wrong; answer the exit code."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


def update(path: Path, marked: dict[Marked, list[tuple[str, str]]]) -> None:
    """Add what is new without a translation, drop what is gone, and compile."""
    catalogue = polib.pofile(str(path), wrapwidth=110)
    known = {key(entry): entry for entry in catalogue if not entry.obsolete}
    catalogue.clear()
    for string, places in sorted(marked.items()):
        entry = known.get(string) or blank(string)
        entry.occurrences = sorted({(str(Path(file).relative_to(ROOT)), "") for file, _ in places})
        catalogue.append(entry)
    catalogue.save()
    catalogue.save_as_mofile(str(path.with_suffix(".mo")))


def blank(string: Marked) -> polib.POEntry:
    """Make the entry of a string that nobody has translated yet."""
    entry = polib.POEntry(msgid=string.text, msgctxt=string.context or None)
    if string.plural:
        entry.msgid_plural = string.plural
        entry.msgstr_plural = {0: ""}
    if "%" in string.text:
        entry.flags = ["python-format"]
    return entry


def key(entry: polib.POEntry | polib.MOEntry) -> Marked:
    """Name an entry as the sources do."""
    return Marked(text=entry.msgid, plural=entry.msgid_plural, context=entry.msgctxt or "")


def complaints(path: Path, marked: dict[Marked, list[tuple[str, str]]]) -> Iterator[str]:
    """Say everything that is wrong with one catalogue."""
    catalogue = polib.pofile(str(path))
    name = path.relative_to(ROOT)
    entries = {key(entry): entry for entry in catalogue if not entry.obsolete}
    for string in sorted(marked.keys() - entries.keys()):
        yield f"{name}: missing: {string.text!r} (run `make messages`, then translate it)"
    for string in sorted(entries.keys() - marked.keys()):
        yield f"{name}: no longer used: {string.text!r} (run `make messages`)"
    for entry in entries.values():
        if not entry.translated():
            yield f"{name}:{entry.linenum}: not translated: {entry.msgid!r}"
        elif not keeps_placeholders(entry):
            yield f"{name}:{entry.linenum}: other placeholders than the original: {entry.msgid!r}"
    if compiled(path) != texts(catalogue):
        yield f"{name}: the compiled file differs (run `make messages`)"


def keeps_placeholders(entry: polib.POEntry) -> bool:
    """Tell whether every translation has the placeholders of the original, or of its plural."""
    allowed = [set(PLACEHOLDER.findall(text)) for text in (entry.msgid_plural or entry.msgid, entry.msgid)]
    translations = entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]
    return all(set(PLACEHOLDER.findall(text)) in allowed for text in translations)


def compiled(path: Path) -> dict[Marked, tuple[str, ...]]:
    """Read the compiled file beside a catalogue."""
    binary = path.with_suffix(".mo")
    return texts(polib.mofile(str(binary))) if binary.exists() else {}


def texts(catalogue: polib.POFile | polib.MOFile) -> dict[Marked, tuple[str, ...]]:
    """Map what a reader of a catalogue would be given."""
    given = {key(entry): tuple(entry.msgstr_plural.values()) or (entry.msgstr,) for entry in catalogue}
    return {string: forms for string, forms in given.items() if all(forms)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
