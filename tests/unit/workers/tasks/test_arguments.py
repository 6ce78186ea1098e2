"""Payloads as arguments, and back."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.workers.tasks import arguments
from rota.workers.tasks.arguments import WrongArguments
from rota.workers.tasks.context import Context  # noqa: TC001 - found by tasks
from rota.workers.tasks.signature import Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    at: datetime


class Order(msgspec.Struct):
    id: UUID
    price: Decimal


class Customer(pydantic.BaseModel):
    name: str
    since: date
    points: list[int] = []


NOW = datetime(2025, 3, 9, 14, tzinfo=UTC)


def plain(a: int, b: str = "x", *, c: float = 1.0) -> None: ...
def loose(*args: int, **kwargs: str) -> None: ...
def bare(a: Any, b: Any = None) -> None: ...
def told(context: Context, a: int) -> None: ...
def told_last(a: int, *, ctx: Context) -> None: ...


@pytest.mark.parametrize(
    ("payload", "args", "kwargs"),
    [
        (None, [], {}),
        ({"args": [1], "kwargs": {"b": "y"}}, [1], {"b": "y"}),
        ({"args": [1]}, [1], {}),
        ({"kwargs": {"a": 1}}, [], {"a": 1}),
        ({"a": 1, "c": 2.5}, [], {"a": 1, "c": 2.5}),
        ([1, "y"], [1, "y"], {}),
        (1, [1], {}),
        ("text", ["text"], {}),
        (False, [False], {}),
        # Of these names, but not of these kinds: they are the function's own.
        ({"args": 5}, [], {"args": 5}),
        ({"args": [1], "other": 2}, [], {"args": [1], "other": 2}),
        ({}, [], {}),
    ],
)
def test_a_payload_is_split_into_arguments(payload: Any, args: Any, kwargs: Any) -> None:
    found = arguments.split(payload)
    assert (list(found[0]), dict(found[1])) == (args, kwargs)


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (plain, (1,), {}),
        (plain, (1, "y"), {"c": 2.5}),
        (plain, (), {"a": 1, "b": "z"}),
        (loose, (1, 2, 3), {"k": "v"}),
        (bare, (1, [2, {"three": None}]), {}),
        (told, (7,), {}),
        (told_last, (7,), {}),
    ],
)
def test_arguments_come_back_as_they_went(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> None:
    signature = Signature.of(function)
    payload = arguments.write(signature, args, kwargs)
    assert arguments.read(payload, signature) == (list(args), kwargs)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (datetime, NOW),
        (date, NOW.date()),
        (timedelta, timedelta(minutes=5)),
        (UUID, UUID(int=7)),
        (Decimal, Decimal("1.10")),
        (Colour, Colour.RED),
        (Path, Path("/tmp/x")),
        (bytes, b"\x00\xff"),
        (Point, Point(1, NOW)),
        (Order, Order(UUID(int=1), Decimal("9.99"))),
        (Customer, Customer(name="A", since=NOW.date(), points=[1])),
        (list[Customer], [Customer(name="A", since=NOW.date())]),
        (Customer | None, None),
        (dict[int, Point], {3: Point(2, NOW)}),
        (set[int], {1, 2}),
        (tuple[int, str], (1, "a")),
        (int | None, None),
        (float, 3),
    ],
)
def test_a_value_of_an_annotated_type_round_trips(annotation: Any, value: Any) -> None:
    """Issue 6: arguments and results as JSON."""

    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    signature = Signature.of(function)
    args, _ = arguments.read(arguments.write(signature, (value,), {}), signature)
    assert args == [value]


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), {}, "a missing; the task takes (a: 'int', b: 'str' = 'x', *, c: 'float' = 1.0)"),
        ((1, "b", 3), {}, "expected 2 positional arguments at most, got 3"),
        ((1,), {"a": 2}, "a is given twice"),
        ((1,), {"d": 2}, "d is not expected"),
        (("one",), {}, "Wrong argument a: Expected `int`, got `str`, got 'one'"),
        ((1,), {"b": 5}, "Wrong argument b: Expected `str`, got `int`"),
        ((object(),), {}, "Wrong argument a: cannot be written as JSON: object is not a type"),
        ((float("nan"),), {}, "Wrong argument a: Expected `int`, got `null`"),
        ((1, "a\0b"), {}, "Wrong argument b: cannot be kept: expected text without the character"),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_given(
    args: Sequence[Any], kwargs: dict[str, Any], said: str
) -> None:
    with pytest.raises(WrongArguments) as caught:
        arguments.write(Signature.of(plain), args, kwargs)
    assert said in str(caught.value)


def test_what_only_looks_like_a_nul_is_text() -> None:
    signature = Signature.of(plain)
    payload = arguments.write(signature, (1, r"C:\u0000"), {})
    assert arguments.read(payload, signature)[0] == [1, r"C:\u0000"]


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ('{"a": "one"}', "Wrong argument a: Expected `int`"),
        ("[]", "a missing"),
        ('{"a": 1, "b": null}', "Wrong argument b"),
    ],
)
def test_wrong_arguments_of_a_payload_are_refused(payload: str, said: str) -> None:
    with pytest.raises(WrongArguments, match=said.replace("`", ".")):
        arguments.read(payload, Signature.of(plain))


def test_what_a_pydantic_model_refuses_is_said_in_a_line() -> None:
    def function(customer: Customer) -> None: ...

    with pytest.raises(WrongArguments) as caught:
        arguments.fit({"customer": {"name": "A", "since": "never"}}, Signature.of(function))
    assert str(caught.value).startswith("Wrong argument customer: Input should be a valid date")
    assert "\n" not in str(caught.value)


# The database keeps no NUL.
LETTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(LETTERS, max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(LETTERS, max_size=3), inner)
    ),
    max_leaves=8,
)


@given(args=st.lists(JSON, max_size=3), kwargs=st.dictionaries(st.text(LETTERS, min_size=1), JSON))
def test_whatever_json_is_enqueued_arrives(args: list[Any], kwargs: dict[str, Any]) -> None:
    def function(*args: Any, **kwargs: Any) -> None: ...

    signature = Signature.of(function)
    payload = arguments.write(signature, args, kwargs)
    found = arguments.read(payload, signature)
    # Only an envelope with nothing in it cannot be told from one.
    assert (list(found[0]), dict(found[1])) == (args, kwargs)


@given(payload=JSON)
def test_no_payload_breaks_the_split(payload: Any) -> None:
    args, kwargs = arguments.split(payload)
    assert all(isinstance(name, str) for name in kwargs)
    assert len(args) + len(kwargs) >= 0


def simple(a: int, b: str = "x", c: float = 0.5) -> None: ...


def keyed(a: int, *, b: str) -> None: ...


def many(a: int, *rest: int) -> None: ...


@given(
    st.sampled_from([simple, keyed, many]),
    st.lists(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.floats(0, 1)
    ),
)
def test_the_short_way_reads_what_the_long_way_reads(
    function: Callable[..., Any], args: list[Any]
) -> None:
    signature = Signature.of(function)
    text = msgspec.json.encode({"args": args})

    def outcome(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except WrongArguments as error:
            return str(error)

    short = outcome(lambda: arguments.read(text, signature))
    long = outcome(lambda: arguments.fit(msgspec.json.decode(text), signature))
    assert short == long
    assert repr(short) == repr(long)
