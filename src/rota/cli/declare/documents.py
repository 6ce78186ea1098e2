"""What the files say, before any of it is looked at as a schedule: owner, defaults, entries."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

from rota.cli.declare import yamls
from rota.cli.declare.problems import InvalidDeclaration, Place, Problem
from rota.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
OWNER_TAG = "applied:"
MAX_OWNER = 100 - len(OWNER_TAG)

_NAMES = ("schedules", "defaults", "owner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One schedule of a document, as written."""

    place: Place
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What one document declares, and who owns it; an owner of None owns nothing."""

    place: Place
    owner: str | None
    defaults: Mapping[str, Any]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """What files say, and what is wrong with how they say it."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def owners(self) -> set[str]:
        return {each.owner for each in self.documents if each.owner is not None}


def read(arguments: Sequence[str], *, owner: str | None = None) -> Read:
    """Every document of files, folders and `-`.

    `owner` takes the place of a file's name where a document names no owner itself.
    """
    problems: list[Problem] = []
    documents: list[Document] = []
    implied: dict[str, str] = {}
    for path in files(arguments):
        stem = owner or (None if path == STDIN else Path(path).stem)
        found = _of_file(path, stem, problems)
        if owner is None and stem is not None and any(_is_implied(each, stem) for each in found):
            other = implied.setdefault(stem, path)
            if other != path:
                wrong = f'expected an owner in it, as {other} is called "{stem}" as well'
                problems.append(Problem(Place(file=path), "owner", wrong))
        documents += [document for document, _ in found]
    return Read(tuple(documents), tuple(problems))


def files(arguments: Sequence[str]) -> list[str]:
    """The files that are meant, each once: a folder stands for all in it that can be read."""
    found: list[str] = []
    for argument in arguments:
        path = Path(argument)
        if argument != STDIN and path.is_dir():
            inside = sorted(str(each) for each in path.rglob("*") if _is_one(each, path))
            if not inside:
                wrong = f"expected a folder with files of {', '.join(SUFFIXES)}, got none"
                raise InvalidDeclaration((Problem(Place(file=argument), None, wrong),))
            found += inside
        else:
            found.append(argument)
    return list(dict.fromkeys(found))


def of_text(
    text: str, file: str, stem: str | None, problems: list[Problem], *, is_json: bool | None = None
) -> list[tuple[Document, bool]]:
    """The documents of a text, each with whether it named its owner. Pure."""
    try:
        texts = yamls.load(text, is_json=is_json)
    except InvalidInput as error:
        problems.append(Problem(Place(file=file), None, error.message))
        return []
    if any(_is_bare_list(each.value) for each in texts):
        wrong = _expected("a list") + ": put it under `schedules:`"
        problems.append(Problem(Place(file=file), None, wrong))
        return []
    parts = [part for each in texts for part in _parts(each)]
    if not parts:
        # A file that was cut off must not look like one that has no schedules any more.
        problems.append(Problem(Place(file=file), None, _expected("nothing")))
    return [found for part in parts if (found := _document(part, file, stem, problems))]


def _of_file(path: str, stem: str | None, problems: list[Problem]) -> list[tuple[Document, bool]]:
    name = "stdin" if path == STDIN else path
    try:
        content = _bytes(path)
        if len(content) > yamls.MAX_BYTES:
            wrong = f"expected a file of at most {yamls.MAX_BYTES} bytes, got more: split it"
            problems.append(Problem(Place(file=name), None, wrong))
            return []
        text = content.decode("utf-8-sig")
    except OSError as error:
        wrong = f"expected a file to read: {(error.strerror or 'no access').lower()}"
        problems.append(Problem(Place(file=name), None, wrong))
        return []
    except UnicodeDecodeError:
        problems.append(Problem(Place(file=name), None, "expected text in UTF-8"))
        return []
    return of_text(text, name, stem, problems, is_json=path.endswith(".json") or None)


def _bytes(path: str) -> bytes:
    """What is in the file; of one that is too long, only so much that this can be told."""
    most = yamls.MAX_BYTES + 1
    if path == STDIN:
        return sys.stdin.buffer.read(most)
    with Path(path).open("rb") as file:
        return file.read(most)


def _parts(text: yamls.Text) -> list[yamls.Text]:
    """JSON has no `---`: there a list is a list of documents."""
    if not isinstance(text.value, list):
        return [text]
    return [yamls.Text(each, {}) for each in cast("list[Any]", text.value)]


def _is_bare_list(value: object) -> bool:
    """Whether it is a list of schedules, and not of documents with schedules."""
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return any(isinstance(each, dict) for each in listed) and not any(
        isinstance(each, dict) and "schedules" in each for each in listed
    )


def _document(
    text: yamls.Text, file: str, stem: str | None, problems: list[Problem]
) -> tuple[Document, bool] | None:
    place = Place(file=file, line=text.lines.get(()))
    if not isinstance(text.value, dict):
        problems.append(Problem(place, None, _expected(_kind(text.value))))
        return None
    body = cast("dict[str, Any]", text.value)
    for name in body:
        if name not in _NAMES:
            wrong = f"Unknown field {name[:60]!r}: expected {', '.join(_NAMES)}"
            problems.append(Problem(place, name[:60], wrong))
    owner = body.get("owner", stem)
    if owner is not None and (wrong := _wrong_with_owner(owner)):
        problems.append(Problem(place, "owner", wrong))
        owner = None
    defaults: object = body.get("defaults")
    if not isinstance(defaults, dict | NoneType):
        problems.append(Problem(place, "defaults", "expected defaults to be an object"))
        defaults = None
    entries = _entries(body.get("schedules"), text.lines, place, problems)
    made = Document(
        place=place,
        owner=owner,
        defaults=cast("dict[str, Any]", defaults or {}),
        entries=tuple(entries),
    )
    return made, "owner" in body


def _entries(
    listed: object, lines: yamls.Lines, place: Place, problems: list[Problem]
) -> list[Entry]:
    if not isinstance(listed, list):
        problems.append(Problem(place, None, _expected("none")))
        return []
    entries: list[Entry] = []
    for at, each in enumerate(cast("list[object]", listed)):
        where = Place(
            file=place.file, line=lines.get(("schedules", at)), part=f"schedules[{at}]{_name(each)}"
        )
        if isinstance(each, dict):
            entries.append(Entry(place=where, fields=cast("dict[str, Any]", each)))
        else:
            problems.append(Problem(where, None, f"expected an object, got {_kind(each)}"))
    return entries


def _is_implied(found: tuple[Document, bool], stem: str) -> bool:
    document, named = found
    return not named and document.owner == stem


def _is_one(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.suffix in SUFFIXES and path.is_file() and not hidden


def _wrong_with_owner(owner: object) -> str | None:
    if isinstance(owner, str) and 0 < len(owner) <= MAX_OWNER and owner.isprintable():
        return None if owner.strip() == owner else "expected an owner without blanks around it"
    return f"expected an owner of 1 to {MAX_OWNER} characters that show"


def _expected(got: str) -> str:
    return f"expected an object with a list of schedules, got {got}"


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return kinds.get(type(value), "a number")


def _name(entry: object) -> str:
    if not isinstance(entry, dict):
        return ""
    fields = cast("dict[str, object]", entry)
    name = fields.get("key") or fields.get("name")
    return f" ({name[:60]})" if isinstance(name, str) else ""
