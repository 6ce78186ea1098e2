"""What can be wrong with a program that uses Rota as a library.

CallerError
├── InvalidInput
│   └── InvalidDeclaration   a decorator, or what it declares, that cannot be
├── ForeignKey               another app has declared the key
└── NotRunning               asked of a `Rota` that is not started, or is started already
"""

from __future__ import annotations

from rota.errors import CallerError, InvalidInput


class InvalidDeclaration(InvalidInput):
    """A decorator, or what it declares, that cannot be; says where, what was expected and got."""


class ForeignKey(CallerError):
    """A key that another app has declared."""


class NotRunning(CallerError):
    """Something was asked of a `Rota` that is not started, or is started already."""
