"""Any number of schedules, sent in requests of a size that the server takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
from ulid import ULID

from rota.sdk.client.call import Call, encoded, post_once, written
from rota.sdk.client.schedules import BulkItem, BulkResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


MAX_ITEMS = 10_000
MAX_BYTES = 8 * 1024 * 1024
"""Of the items in one request; the server takes 10 MB in all."""


@dataclass(slots=True, kw_only=True)
class Bulk:
    """The calls of one `create_schedules`, made one after another, and what became of them."""

    items: Iterable[Mapping[str, Any]]
    partial: bool = False
    request_key: str = field(default_factory=lambda: str(ULID()))
    created: int = 0
    done: list[BulkItem] = field(default_factory=list[BulkItem])

    def calls(self) -> Iterator[Call[BulkResult]]:
        """Each request, made when the one before has been answered."""
        for number, chunk in enumerate(chunks(self.items)):
            key = f"{self.request_key}.{number}"
            call = post_once(BulkResult, "/v1/schedules/bulk", key, {"items": chunk})
            yield replace(call, query=written({"partial": self.partial or None}))

    def add(self, answer: BulkResult) -> None:
        """Join an answer to those before, its items counted on from theirs."""
        start = len(self.done)
        self.created += answer.created
        self.done += [msgspec.structs.replace(one, index=start + one.index) for one in answer.items]

    def explain(self, error: Exception) -> None:
        """Say with an error what was done before it."""
        if self.done:
            error.add_note(
                f"{self.created:,} of the {len(self.done):,} schedules before had been created; "
                f"items[0] of this error is item {len(self.done):,} of all"
            )

    @property
    def result(self) -> BulkResult:
        """What became of all items so far."""
        return BulkResult(
            created=self.created, failed=len(self.done) - self.created, items=tuple(self.done)
        )


def chunks(items: Iterable[Mapping[str, Any]]) -> Iterator[list[msgspec.Raw]]:
    """The items in order, as many together as one request may have; each is encoded once."""
    chunk: list[msgspec.Raw] = []
    size = 0
    for item in items:
        text = encoded(item) or b"null"
        if chunk and (len(chunk) == MAX_ITEMS or size + len(text) > MAX_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(msgspec.Raw(text))
        size += len(text) + 1
    if chunk:
        yield chunk
