"""Recurrence rules (RFC 5545, RRULE): "the last workday of every second month at 09:00".

What a text says is read by `syntax` (its lines) and `parts` (the rule's own parts) into a `Rule`.
Which days it means is python-dateutil's work, one year at a time (`days`); which times of those
days is arithmetic on bit masks (`times`); the two together are `slots`, on the wall clock.
`recurrence` turns wall-clock times into instants.

Odd rules are refused: whatever RFC 5545 forbids, a rule that never fires, and one that can only be
evaluated by trying second after second.
"""

from rota.triggers.recurrence.recurrence import Recurrence
from rota.triggers.recurrence.rule import Frequency, Rule

__all__ = ["Frequency", "Recurrence", "Rule"]
