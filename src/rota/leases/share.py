"""How many shards are a node's. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def fair_share(shards: int, schedulers: int) -> int:
    """The most that one of so many live schedulers holds: rounded up, so that none is left over."""
    return -(-shards // max(1, schedulers))


def excess(held: Collection[int], share: int) -> list[int]:
    """The shards to give up so that others get theirs."""
    return sorted(held)[share:]
