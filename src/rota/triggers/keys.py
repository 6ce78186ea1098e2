"""Stable keys: what a schedule is called when its owner gave it a name and no key (TR14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger


def schedule_key(name: str, trigger: Trigger) -> str:
    """`<name>::<signature>`: the same name, pattern and zone always give the same key."""
    return f"{name}::{trigger.signature}"
