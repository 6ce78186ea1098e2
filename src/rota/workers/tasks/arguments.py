"""A payload as the arguments of a function, and the other way round. Pure.

An object with no other keys than `args` (a list) and `kwargs` (an object) holds just those; any
other object is keyword arguments, a list positional ones, null none, and anything else is one
positional argument. So both what `enqueue` writes and what people write by hand call the function.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import msgspec

from rota.errors import CallerError
from rota.workers.tasks.values import Unfit, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.workers.tasks.signature import Signature

_NONE: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
_NUL = rb"\u0000"
_HAS_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""Not the six characters that look like it, of which the first is written twice."""
_ENVELOPE = frozenset({"args", "kwargs"})
_decode = msgspec.json.Decoder().decode
_CARRIED = ("after", "steps")
"""What Rota itself adds to a payload: of the firing that it follows, of the steps before it. For
functions that ask for it, as a parameter of this name."""


class WrongArguments(CallerError, TypeError):
    """Arguments that the function does not take: no other attempt would do better."""


def read(payload: str | bytes | None, signature: Signature) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that a payload (JSON text) holds, as the function wants them."""
    given: Any = None if payload is None else _decode(payload)
    alone = _alone(given)
    if alone is not None and signature.takes(len(alone)):
        # As `enqueue` writes nearly all of them: there is nothing to be sorted out.
        return _placed(signature, alone), {}
    return fit(given, signature)


def fit(given: Any, signature: Signature) -> tuple[list[Any], dict[str, Any]]:
    """The same of a payload that is not text any more."""
    given, said = _apart(given)
    args, kwargs = split(given)
    if said:
        kwargs = {**{n: v for n, v in said.items() if _takes_named(signature, n)}, **kwargs}
    require(signature, args, kwargs)
    return _converted(signature, args, kwargs)


def _alone(given: Any) -> list[Any] | None:
    """The positional arguments of a payload that holds nothing else; None for any other."""
    if type(given) is not dict or len(cast("dict[str, Any]", given)) != 1:
        return None
    args = cast("dict[str, Any]", given).get("args")
    return cast("list[Any]", args) if type(args) is list else None


def _placed(signature: Signature, args: list[Any]) -> list[Any]:
    """Arguments of which none is too many, none is missing and none has a name."""
    return [
        value if type(value) is kind.exact else _one(name, kind, value)
        for (name, kind), value in zip(signature.positional, args, strict=False)
    ]


def _apart(payload: Any) -> tuple[Any, dict[str, Any]]:
    """The payload as somebody gave it, and what Rota has added to it."""
    if not isinstance(payload, dict) or not any(name in payload for name in _CARRIED):
        return cast("Any", payload), {}
    mapping = cast("dict[str, Any]", payload)
    said = {name: mapping[name] for name in _CARRIED if name in mapping}
    return {name: each for name, each in mapping.items() if name not in said}, said


def _takes_named(signature: Signature, name: str) -> bool:
    return name in signature.named or signature.extra is not None


def split(payload: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Which of a payload are positional arguments, and which have names."""
    if payload is None:
        return _NONE
    if isinstance(payload, dict):
        mapping = cast("dict[str, Any]", payload)
        if mapping and mapping.keys() <= _ENVELOPE:
            args, kwargs = mapping.get("args", []), mapping.get("kwargs", {})
            if isinstance(args, list) and isinstance(kwargs, dict):
                return cast("list[Any]", args), cast("dict[str, Any]", kwargs)
        return (), mapping
    if isinstance(payload, list):
        return cast("list[Any]", payload), {}
    return (payload,), {}


def write(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes | None:
    """The payload for these arguments, as JSON; None for none.

    `WrongArguments` when the function would not take them, so that the fault shows where it is
    made, and not in a worker an hour later.
    """
    require(signature, args, kwargs)
    try:
        for (_, kind), value in zip(signature.positional, args, strict=False):
            kind.check(value)
        for name, value in kwargs.items():
            kind = signature.named.get(name, signature.extra)
            if kind is not None:
                kind.check(value)
        payload = _enveloped(args, kwargs)
        return None if payload is None else storable(encode(payload))
    except Unfit as error:
        name = _culprit(signature, args, kwargs)
        raise WrongArguments(f"Wrong argument{name}: {error}") from None


def storable(payload: bytes) -> bytes:
    """The payload, if the database can keep it: its texts cannot hold the character NUL."""
    if _NUL in payload and _HAS_NUL.search(payload):
        raise Unfit("cannot be kept: expected text without the character NUL (\\0), got some")
    return payload


def require(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse arguments of the wrong number or name, as Python itself would."""
    positional = signature.positional
    count = len(args)
    if count > len(positional) and signature.rest is None:
        raise WrongArguments(
            f"Wrong arguments: expected {_counted(len(positional), 'positional argument')} at "
            f"most, got {count}; the task takes {signature.text}"
        )
    if not kwargs and not signature.required:
        return
    filled = {name for name, _ in positional[:count]}
    for name in kwargs:
        if name in filled and name in signature.named:
            raise WrongArguments(f"Wrong arguments: {name} is given twice; {_takes(signature)}")
        if name not in signature.named and signature.extra is None:
            raise WrongArguments(f"Wrong arguments: {name} is not expected; {_takes(signature)}")
    missing = signature.required - filled - kwargs.keys()
    if missing:
        names = ", ".join(sorted(missing))
        raise WrongArguments(f"Wrong arguments: {names} missing; {_takes(signature)}")


def _converted(
    signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    known = signature.positional
    for at, value in enumerate(args):
        name, kind = known[at] if at < len(known) else (f"{at + 1}", signature.rest)
        positional.append(value if kind is None else _one(name, kind, value))
    named: dict[str, Any] = {}
    for name, value in kwargs.items():
        kind = signature.named.get(name, signature.extra)
        named[name] = value if kind is None else _one(name, kind, value)
    return positional, named


def _one(name: str, kind: Any, value: Any) -> Any:
    try:
        return kind.convert(value)
    except Unfit as error:
        raise WrongArguments(f"Wrong argument {name}: {error}") from None


def _enveloped(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    if not kwargs:
        return {"args": args} if args else None
    return {"args": args, "kwargs": kwargs} if args else {"kwargs": kwargs}


def _culprit(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Which argument it was; found anew, as the good ones should not pay for the bad."""
    pairs = [(name, kind, value) for (name, kind), value in zip(signature.positional, args)]  # noqa: B905
    pairs += [(n, signature.named.get(n, signature.extra), v) for n, v in kwargs.items()]
    for name, kind, value in pairs:
        try:
            storable(encode(value))
            if kind is not None:
                kind.check(value)
        except Unfit:
            return f" {name}"
    return ""


def _takes(signature: Signature) -> str:
    return f"the task takes {signature.text}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}" if count else f"no {what}s"
