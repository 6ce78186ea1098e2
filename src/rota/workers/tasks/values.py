"""Values as JSON, and back to what an annotation says they are. Pure.

msgspec does it for what it knows (its own types, dataclasses, TypedDicts, datetimes, UUIDs,
Decimals, enums, sets, tuples, ...); pydantic for annotations that hold one of its models. A path is
its text.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN = (str, int, float, bool, bytes)


class Unfit(ValueError):
    """A value that is not what its annotation says, or that JSON cannot carry."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a parameter or a result is: reads it from JSON's builtins, and knows a sure match."""

    annotation: Any
    read: Callable[[Any], Any] | None = field(repr=False)
    """None when JSON's own values will do."""
    exact: type | None = None
    """Values of exactly this type are surely right."""

    @staticmethod
    def of(annotation: Any) -> Kind:
        """The kind that an annotation names."""
        if annotation is Any or annotation is object or isinstance(annotation, str):
            return _ANY
        if annotation is None or annotation is type(None):
            return Kind(None, _reader(None))
        exact = annotation if annotation in _PLAIN else None
        return Kind(annotation, _reader(annotation), exact)

    def convert(self, value: Any) -> Any:
        """The value as the function wants it; `Unfit` when it cannot be that."""
        if self.read is None or (self.exact is not None and type(value) is self.exact):
            return value
        return self.read(value)

    def check(self, value: Any) -> None:
        """Refuse (`Unfit`) what the other side could not read. For whoever sends it."""
        exact = self.exact
        if self.read is not None and (exact is None or type(value) is not exact):
            self.read(_decoder.decode(encode(value)))


def encode(value: object) -> bytes:
    """The value as JSON; `Unfit` when it has no such form."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, UnicodeError, RecursionError) as error:
        raise Unfit(f"cannot be written as JSON: {error}") from error


def show(value: object, most: int = 80) -> str:
    """A value in a sentence, cut."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _reader(annotation: Any) -> Callable[[Any], Any]:
    if _has_pydantic(annotation):
        return _pydantic_reader(annotation)

    def read(value: Any) -> Any:
        try:
            return msgspec.convert(value, annotation, str_keys=True, dec_hook=_from_json)
        except (msgspec.ValidationError, Unfit) as error:
            raise Unfit(f"{error}, got {show(value)}") from None
        except (TypeError, NotImplementedError) as error:
            raise Unfit(f"{annotation!r} cannot be read from JSON: {error}") from None

    return read


def _pydantic_reader(annotation: Any) -> Callable[[Any], Any]:
    @lru_cache(maxsize=1)
    def adapter() -> Any:
        import pydantic  # noqa: PLC0415 - whoever annotates with its models has it

        return pydantic.TypeAdapter(annotation)

    def read(value: Any) -> Any:
        try:
            # As JSON: "strict" models take a datetime's text there, and nowhere else.
            return adapter().validate_json(_encoder.encode(value))
        except ValueError as error:
            raise Unfit(_first_of(error)) from None

    return read


def _first_of(error: ValueError) -> str:
    """What pydantic found first, in a line; without its links."""
    errors: Any = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    first = errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{first['msg']}{f' at {place}' if place else ''}, got {show(first['input'])}"


def _has_pydantic(annotation: Any) -> bool:
    """Whether a pydantic model, or dataclass of its making, is somewhere in the annotation."""
    if "pydantic" not in sys.modules:
        return False
    if hasattr(annotation, "__pydantic_validator__"):
        return True
    return any(_has_pydantic(each) for each in typing.get_args(annotation))


def _from_json(wanted: Any, value: Any) -> Any:
    if isinstance(wanted, type) and issubclass(wanted, PurePath) and isinstance(value, str):
        return wanted(value)
    what = show(cast("object", wanted))
    raise Unfit(f"Expected `{what}`, which JSON cannot carry")


def _to_json(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is not None and hasattr(value, "__pydantic_validator__"):
        return dump(mode="json")
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, set | frozenset):  # of what msgspec does not know
        return list(cast("set[Any]", value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is not a type that JSON can carry")


_ANY = Kind(Any, None)
_encoder = msgspec.json.Encoder(enc_hook=_to_json)
_decoder = msgspec.json.Decoder()
