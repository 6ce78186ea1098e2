"""YAML and JSON, read as JSON would be: what looks like a date or like `yes` is text. Pure.

YAML 1.1 turns `on` into true, `12:30` into 750 and `2027-01-01` into a date without a zone; the API
knows none of these, so here only null, true, false and plain numbers are more than text. A name
that stands twice in one object is refused: one of the two would be lost without a word.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from rota.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_OTHER_LINES = re.compile(r"[\r\x85\u2028\u2029\ufeff]")
_LONGEST_NUMBER = 400
_DEEPEST = 200

Lines = dict[tuple[str | int, ...], int]
"""The line on which each value two steps deep begins, by the way to it."""


@dataclass(frozen=True, slots=True)
class Text:
    """One document of a file: its value, and where its parts begin."""

    value: Any
    lines: Lines


def load(text: str, *, is_json: bool | None = None) -> list[Text]:
    """Every document of a text; `InvalidInput` says on which line it cannot be read.

    Not said to be JSON or YAML, it is what its first character looks like.
    """
    if is_json or (is_json is None and text.lstrip()[:1] in ("{", "[")):
        try:
            return [Text(json.loads(text, object_pairs_hook=_object, parse_constant=_no), {})]
        except (ValueError, RecursionError) as error:
            if is_json or isinstance(error, InvalidInput):
                raise InvalidInput(f"expected JSON: {error}") from error
    try:
        return [_Reading().document(node) for node in _compose(text)]
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
        if depth > _DEEPEST:
            raise InvalidInput(f"expected at most {_DEEPEST} values within each other, got more")


class _Reading:
    """One document's nodes, each made into a value once however many aliases there are of it."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()
        self._lines: Lines = {}

    def document(self, node: yaml.Node) -> Text:
        return Text(self._value(node, ()), self._lines)

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
            self._open.remove(id(node))
        return self._made[id(node)]

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
        return float(text)
    if kind not in {"str", "bool", "int", "float", "timestamp", "value", "merge"}:
        raise _problem(node, f"text or a number, got {node.tag}")
    return text


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
