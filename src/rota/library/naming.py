"""What functions and programs are called when nobody says. Pure, but for what Python knows of them.

A module that is run (`python report.py`, `python -m app.report`) is called `__main__` inside, and
`report` or `app.report` wherever else it is imported: both must give the same names.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.targets.task import MAX_QUEUE, RESERVED_QUEUES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_NOT_OF_A_QUEUE = re.compile(r"[^A-Za-z0-9_.-]+", re.ASCII)


def task_name(function: Callable[..., Any]) -> str | None:
    """`module.function`; None for what has no name of its own, such as a lambda."""
    path = function_name(function)
    if path is None:
        return None
    inside: str = getattr(function, "__qualname__", path).replace("<locals>.", "")
    return f"{module_name(getattr(function, '__module__', None) or '')}.{inside}".lstrip(".")


def function_name(function: Callable[..., Any]) -> str | None:
    """As it was written after `def`."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and name.isidentifier() else None


def module_name(module: str, main: ModuleType | None = None) -> str:
    """The name by which other processes import the module."""
    if module != "__main__":
        return module
    main = main or sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return str(spec.name).removesuffix(".__main__")
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else "main"


def queue_name(program: str) -> str:
    """The queue of a program that says no other: its name, in the letters a queue's may have."""
    name = _NOT_OF_A_QUEUE.sub("-", program).strip("-.")
    if not name or len(name) > MAX_QUEUE:
        digest = hashlib.sha256(program.encode()).hexdigest()[:12]
        name = f"{name[: MAX_QUEUE - 13] or 'program'}-{digest}"
    return f"{name}-tasks" if name in RESERVED_QUEUES else name


def where(function: Callable[..., Any]) -> str:
    """Where a function is, for a message that a person follows: file, line and name."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", repr(function)[:80])
    return name if code is None else f"{code.co_filename}:{code.co_firstlineno}, {name}"


def summary(function: Callable[..., Any]) -> str | None:
    """The first line of what is written about it."""
    text = (getattr(function, "__doc__", None) or "").strip()
    return text.splitlines()[0].strip()[:500] if text else None
