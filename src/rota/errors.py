"""Every error Rota raises, arranged by who can do something about it.

RotaError
├── CallerError          whoever made the call: change the input and call again
│   └── InvalidInput     (also a ValueError) one field is wrong; names the field
│       ├── InvalidTrigger      no instants can be read from it
│       │   ├── InvalidCron
│       │   ├── InvalidInterval
│       │   ├── InvalidInstant
│       │   ├── InvalidRecurrence
│       │   ├── InvalidText     English that is unknown, or ambiguous (lists the choices)
│       │   └── NoFutureSlot    a valid trigger that will never fire again
│       └── InvalidTimezone
├── OperatorError        whoever runs the program: configuration, database, installation
│   ├── InvalidConfig    every problem of the configuration at once
│   ├── EmbeddedError    the embedded PostgreSQL could not be found, started or shared
│   └── MigrationError   the database's schema is not one this version can use
├── TemporaryError       nobody: wait and try again
│   └── DatabaseUnavailable
└── BugError             the authors of Rota: a promise of the code was broken
    └── ContractBroken
"""

from __future__ import annotations


class RotaError(Exception):
    """Anything Rota raises on purpose; stages define finer kinds beside their own code."""


class CallerError(RotaError):
    """The caller can mend it by asking for something else."""


class InvalidInput(CallerError, ValueError):
    """A value that cannot be taken. `field` is the name the caller used for it."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidTrigger(InvalidInput):
    """No instants can be read from it."""


class InvalidCron(InvalidTrigger):
    """A cron expression outside the dialect; `field` is the cron field at fault."""


class InvalidInterval(InvalidTrigger):
    """A period that is not a positive length of time."""


class InvalidInstant(InvalidTrigger):
    """Not a point in time, or one that is ambiguous."""


class InvalidRecurrence(InvalidTrigger):
    """An RRULE that is malformed, unbounded in work, or never fires."""


class InvalidText(InvalidTrigger):
    """English that is not understood or has more than one meaning.

    `choices` holds the readings to pick from, each a text that is understood.
    """

    def __init__(
        self, message: str, *, field: str | None = None, choices: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, field=field)
        self.choices = choices


class NoFutureSlot(InvalidTrigger):
    """The trigger is well formed and has no instant left."""


class InvalidTimezone(InvalidInput):
    """Not UTC, Z, ±HH:MM or a name of the IANA database."""


class OperatorError(RotaError):
    """Whoever runs the program can mend it."""


class InvalidConfig(OperatorError):
    """All problems of the configuration, one line each: "key: expected …, got …"."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class EmbeddedError(OperatorError):
    """The embedded PostgreSQL could not be found, started or shared."""


class MigrationError(OperatorError):
    """The database's schema is not one that this version can use."""


class TemporaryError(RotaError):
    """It may work later, unchanged."""


class DatabaseUnavailable(TemporaryError):
    """The database did not answer, or ended the session."""


class BugError(RotaError):
    """A promise of the code was broken; please report it."""


class ContractBroken(BugError):
    """A result that the contract rules out, caught before it could do harm."""
