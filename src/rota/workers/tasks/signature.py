"""What a function takes and gives: its parameters and result, with the types to read them as.

Annotations decide: values come from JSON and are made into what the function says it wants, msgspec
types, dataclasses, pydantic models, datetimes, UUIDs, Decimals and enums among them. What has no
annotation is given as JSON has it.
"""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rota.workers.tasks.context import Context
from rota.workers.tasks.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function's parameters, without the one for the context."""

    positional: tuple[tuple[str, Kind], ...]
    """Those that may be given by position, in order."""
    named: Mapping[str, Kind]
    """Those that may be given by name."""
    required: frozenset[str]
    rest: Kind | None
    """What each of `*args` is; None when there is none."""
    extra: Kind | None
    """What each of `**kwargs` is; None when there is none."""
    context: str | None
    """The parameter that gets the context."""
    context_at: int | None
    """Its place, when it can be given by position."""
    returns: Kind
    text: str
    """As people read it: `(image_id: int, size: str = 'big')`."""
    fewest: int | None
    """So many arguments must be given, when all are given by position; None when not all can."""

    def takes(self, count: int) -> bool:
        """Whether so many arguments, each given by position and as a parameter of its own, do."""
        return self.fewest is not None and self.fewest <= count <= len(self.positional)

    def give(self, args: list[Any], kwargs: dict[str, Any], context: object) -> None:
        """Put the context among the arguments, where the function has its parameter for it."""
        if self.context is None:
            return
        if self.context_at is not None and self.context_at <= len(args):
            args.insert(self.context_at, context)
        else:
            kwargs[self.context] = context

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Signature:
        """The function's."""
        signature = inspect.signature(function)
        found = {
            name: _annotation(each.annotation, function)
            for name, each in signature.parameters.items()
        }
        context = next((name for name, hint in found.items() if _is_context(hint)), None)
        given = [each for name, each in signature.parameters.items() if name != context]
        kinds = {each.name: Kind.of(found[each.name]) for each in given}
        var = {each.kind: kinds[each.name] for each in given}
        positional = tuple((p.name, kinds[p.name]) for p in given if p.kind in _POSITIONAL)
        required = frozenset(
            p.name for p in given if p.default is p.empty and p.kind in {*_POSITIONAL, *_NAMED}
        )
        return cls(
            positional=positional,
            named=MappingProxyType({p.name: kinds[p.name] for p in given if p.kind in _NAMED}),
            required=required,
            rest=var.get(inspect.Parameter.VAR_POSITIONAL),
            extra=var.get(inspect.Parameter.VAR_KEYWORD),
            context=context,
            context_at=_place(signature, context),
            returns=Kind.of(_annotation(signature.return_annotation, function)),
            text=_text(signature, context),
            fewest=_fewest([name for name, _ in positional], required),
        )


def _annotation(annotation: Any, function: Callable[..., Any]) -> Any:
    """What an annotation names, text or not; what cannot be found is left as it is."""
    if annotation is inspect.Signature.empty:
        return Any
    if not isinstance(annotation, str):
        return annotation
    inner = inspect.unwrap(function)
    names = dict(getattr(inner, "__globals__", {}))
    with contextlib.suppress(TypeError, ValueError):
        names |= inspect.getclosurevars(inner).nonlocals
    try:
        return eval(annotation, names)  # noqa: S307 - the program's own annotation, as typing does
    except Exception:  # noqa: BLE001 - a name that only the type checker knows
        return annotation


def _is_context(hint: Any) -> bool:
    if isinstance(hint, str):
        # Imported under TYPE_CHECKING alone: there is nothing to look up.
        return hint.rpartition(".")[2].split("|")[0].strip() == "Context"
    return isinstance(hint, type) and issubclass(hint, Context)


def _fewest(positional: list[str], required: frozenset[str]) -> int | None:
    if not required <= set(positional):
        return None
    return max((at for at, name in enumerate(positional, 1) if name in required), default=0)


def _place(signature: inspect.Signature, context: str | None) -> int | None:
    if context is None or signature.parameters[context].kind not in _POSITIONAL:
        return None
    return list(signature.parameters).index(context)


def _text(signature: inspect.Signature, context: str | None) -> str:
    shown = [each for name, each in signature.parameters.items() if name != context]
    return str(signature.replace(parameters=shown, return_annotation=inspect.Signature.empty))
