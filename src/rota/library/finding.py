"""Finding a program's `Rota` by the name of its module: `package.module:app`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.errors import OperatorError
from rota.library.app import Rota

if TYPE_CHECKING:
    from types import ModuleType

_USUAL = ("rota", "app", "application")
"""Names that need not be given."""


class NoApp(OperatorError):
    """There is no `Rota` where it was said to be."""


def find(path: str) -> Rota:
    """The `Rota` at `module:name`; with the module alone, the one that it has.

    Modules are looked for in the current folder first, as `python -m` does. What the module itself
    raises passes through.
    """
    name, _, attribute = path.partition(":")
    if not all(part.isidentifier() for part in (*name.split("."), *filter(None, [attribute]))):
        raise NoApp(f"expected MODULE:APP, such as shop.tasks:rota, got {path!r}")
    module = _import(name)
    if attribute:
        return _at(module, attribute)
    found = _all(module)
    usual = [found[each] for each in _USUAL if each in found]
    if usual or len(found) == 1:
        return (usual or list(found.values()))[0]
    raise NoApp(f"expected a Rota in the module {name!r}, got {_got(module)}")


def located(path: str, example: str) -> Any:
    """Whatever is at `module:name`; `NoApp` when nothing is."""
    name, _, attribute = path.partition(":")
    if not attribute or not all(part.isidentifier() for part in (*name.split("."), attribute)):
        raise NoApp(f"expected MODULE:NAME, such as {example}, got {path!r}")
    module = _import(name)
    if not hasattr(module, attribute):
        raise NoApp(f"there is no {attribute!r} in the module {name!r}")
    return getattr(module, attribute)


def _import(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Only if it is this module that is missing, and not one that it imports.
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
        raise NoApp(
            f"there is no module {name!r}: looked in {here} and where Python's own modules are. "
            f"Run the command where `python -c 'import {name}'` works"
        ) from error


def _at(module: ModuleType, attribute: str) -> Rota:
    found: Any = getattr(module, attribute, None)
    if isinstance(found, Rota):
        return found
    if found is None:
        raise NoApp(
            f"expected a Rota called {attribute!r} in {module.__name__!r}, got {_got(module)}"
        )
    kind = f"{type(found).__module__}.{type(found).__qualname__}"
    raise NoApp(
        f"expected {module.__name__}:{attribute} to be a Rota, got {kind}; "
        f"the module has {_got(module)}"
    )


def _all(module: ModuleType) -> dict[str, Rota]:
    return {name: each for name, each in vars(module).items() if isinstance(each, Rota)}


def _got(module: ModuleType) -> str:
    names = sorted(_all(module))
    if not names:
        return "none: make one with `rota = Rota()`"
    return ", ".join(f"{module.__name__}:{name}" for name in names)
