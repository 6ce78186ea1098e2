"""YAML and JSON, read as JSON would be: what looks like a date or like `yes` is text. Pure.

YAML 1.1 turns `on` into true, `12:30` into 750 and `2027-01-01` into a date without a zone; the API
knows none of these, so here only null, true, false and plain numbers are more than text. A name
that stands twice in one object is refused: one of the two would be lost without a word.

A file is bounded before anything is made of it: its length, its depth, and how many values it has
when every alias is counted with all that it stands for. A few lines of aliases of aliases are more
values than any program could look at.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

from rota.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_OTHER_LINES = re.compile(r"[\r\x85\u2028\u2029\ufeff]")
_LONGEST_NUMBER = 400

MAX_BYTES: Final = 16 * 1024 * 1024
"""Of one file."""
MAX_DEPTH: Final = 200
MAX_VALUES: Final = 1_000_000
"""Of one file, each alias counted with all that it stands for."""
MAX_EXPANDED: Final = 64 * 1024 * 1024
"""Characters of its texts, counted in the same way."""

_TOO_DEEP: Final = f"expected at most {MAX_DEPTH} values within each other, got more"
_TOO_MANY: Final = (
    f"at most {MAX_VALUES:,} values and {MAX_EXPANDED:,} characters in a file, each alias counted "
    "with all that it stands for, got more: write it without aliases of aliases, or split it"
)

Lines = dict[tuple[str | int, ...], int]
"""The line on which each value two steps deep begins, by the way to it."""


@dataclass(frozen=True, slots=True)
class Text:
    """One document of a file: its value, and where its parts begin."""

    value: Any
    lines: Lines


@dataclass(frozen=True, slots=True)
class _Size:
    """How large a value is with every alias in it written out."""

    values: int = 1
    characters: int = 0
    depth: int = 0

    def with_parts(self, parts: Sequence[_Size]) -> _Size:
        return _Size(
            self.values + sum(part.values for part in parts),
            self.characters + sum(part.characters for part in parts),
            1 + max((part.depth for part in parts), default=0),
        )


def load(text: str, *, is_json: bool | None = None) -> list[Text]:
    """Every document of a text; `InvalidInput` says on which line it cannot be read.

    Not said to be JSON or YAML, it is what its first character looks like.
    """
    if len(text) > MAX_BYTES:
        raise InvalidInput(f"expected a file of at most {MAX_BYTES} bytes, got more: split it")
    if is_json or (is_json is None and text.lstrip()[:1] in ("{", "[")):
        try:
            return [Text(_json(text), {})]
        except (ValueError, RecursionError) as error:
            if is_json or isinstance(error, InvalidInput):
                raise InvalidInput(f"expected JSON: {error}") from error
    try:
        nodes = _compose(text)
        reading = _Reading()
        return [reading.document(node) for node in nodes]
    except yaml.YAMLError as error:
        raise InvalidInput(_sentence(error)) from error
    except RecursionError as error:
        raise InvalidInput("expected YAML of reasonable depth, got values too deep") from error


def dump(documents: Iterable[Mapping[str, Any]]) -> str:
    """YAML that `load` reads as the same, and that YAML 1.1 does not take for something else."""
    return yaml.dump_all(
        list(documents),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=10_000,
    )


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - its name there
        return True  # `&id001` is nobody's idea of a file to edit.


def _represent_text(_: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Lines as lines, where YAML can write them so and read them back."""
    style = "|" if "\n" in text else None
    if _OTHER_LINES.search(text):
        style = '"'  # These would come back as blanks.
    return yaml.ScalarNode(_TAG + "str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _compose(text: str) -> list[yaml.Node]:
    # The one in C is ten times as fast, and is not there in every build.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parse: Any = getattr(yaml, "parse")  # noqa: B009 - its stub says nothing of types
    compose: Any = getattr(yaml, "compose_all")  # noqa: B009 - as above
    _refuse_depth(parse(text, Loader=loader))
    return [node for node in compose(text, Loader=loader) if node is not None]


def _refuse_depth(events: Iterable[yaml.Event]) -> None:
    """Looked at first: the composer in C overflows its stack, and takes the program with it."""
    depth = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise InvalidInput(_TOO_DEEP)


class _Reading:
    """A file's nodes, each made into a value once however many aliases there are of it."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()
        self._lines: Lines = {}
        self._sizes: dict[int, _Size] = {}
        self._total = _Size(values=0)

    def document(self, node: yaml.Node) -> Text:
        self._lines = {}
        value = self._value(node, ())
        self._total = _bounded(node, self._total.with_parts([self._size(node)]))
        return Text(value, self._lines)

    def _value(self, node: yaml.Node, way: tuple[str | int, ...]) -> Any:
        if len(way) <= 2:
            self._lines[way] = node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) in self._open:
            raise _problem(node, "a value that is not part of itself")
        if id(node) not in self._made:
            self._open.add(id(node))
            self._made[id(node)] = self._collection(node, way)
            # Before anything is made of it again: of merged objects, every use is a copy.
            self._sizes[id(node)] = _bounded(node, self._size_of_parts(node))
            self._open.remove(id(node))
        return self._made[id(node)]

    def _size(self, node: yaml.Node) -> _Size:
        if isinstance(node, yaml.ScalarNode):
            return _Size(characters=len(node.value))
        return self._sizes[id(node)]

    def _size_of_parts(self, node: yaml.Node) -> _Size:
        if isinstance(node, yaml.SequenceNode):
            return _Size().with_parts([self._size(each) for each in node.value])
        sizes: list[_Size] = []
        for key, value in node.value:
            sizes.append(_Size(values=0, characters=len(key.value)))
            is_merged = key.tag == _TAG + "merge" and isinstance(value, yaml.SequenceNode)
            sizes += [self._size(each) for each in (value.value if is_merged else [value])]
        return _Size().with_parts(sizes)

    def _collection(self, node: yaml.Node, way: tuple[str | int, ...]) -> Any:
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self._value(each, (*way, at)) for at, each in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, way)
        raise _problem(node, f"an object, a list, text or a number, got {node.tag}")

    def _mapping(self, node: yaml.MappingNode, way: tuple[str | int, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _TAG + "merge":
                merged |= self._merged(value, way)
            elif not isinstance(key, yaml.ScalarNode):
                raise _problem(key, "a name, got an object or a list")
            elif key.value in found:
                raise _problem(key, f"each name once, got {key.value!r} twice")
            else:
                # A name is text, whatever it looks like, as in JSON.
                found[key.value] = self._value(value, (*way, key.value))
        return merged | found

    def _merged(self, node: yaml.Node, way: tuple[str | int, ...]) -> dict[str, Any]:
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for part in reversed(parts):
            if not isinstance(part, yaml.MappingNode):
                raise _problem(part, "an object to merge (<<)")
            merged |= self._value(part, (*way, "<<", "<<"))
        return merged


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    kind = node.tag.removeprefix(_TAG)
    if kind == "null":
        return None
    if kind == "bool" and text in _WORDS:
        return _WORDS[text]
    if kind == "int" and _INT.fullmatch(text) and len(text) <= _LONGEST_NUMBER:
        return int(text)
    if kind == "float" and _FLOAT.fullmatch(text):
        return _float(text)
    if kind not in {"str", "bool", "int", "float", "timestamp", "value", "merge"}:
        raise _problem(node, f"text or a number, got {node.tag}")
    return text


def _bounded(node: yaml.Node, size: _Size) -> _Size:
    if size.values > MAX_VALUES or size.characters > MAX_EXPANDED:
        raise _problem(node, _TOO_MANY)
    if size.depth > MAX_DEPTH:
        raise InvalidInput(_TOO_DEEP)
    return size


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object, parse_constant=_no, parse_float=_float)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InvalidInput(f"expected a number that fits into 64 bits, got {text[:40]}")
    return number


def _problem(node: yaml.Node, expected: str) -> InvalidInput:
    return InvalidInput(f"line {node.start_mark.line + 1}: expected {expected}")


def _sentence(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f"expected YAML: {error}"
    where = f"line {error.problem_mark.line + 1}: expected YAML: {error.problem or error.context}"
    starred = "alias" in f"{error.problem} {error.context}"
    return where + ('; a text that begins with * needs quotes: "*/5 * * * *"' if starred else "")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f"each name once, got {name!r} twice")
        found[name] = value
    return found


def _no(constant: str) -> float:
    raise InvalidInput(f"a number, got {constant}")
