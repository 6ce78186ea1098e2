"""Cron: what an expression says (`syntax`), which days it means (`days`), when it fires (`cron`).

Debian cron's rules, the open cron pattern's field order and L / W / #, refused when odd.
"""

from rota.triggers.cron.cron import Cron

__all__ = ["Cron"]
