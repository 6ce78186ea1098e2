"""Finding schedules by words, tags and names (AP2), also what has just been made or edited."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.schedules import SHARDS, Office

from rota.clock import SystemClock
from rota.schedules import create
from rota.schedules import list as listing
from rota.schedules.list import Filter
from rota.schedules.search_indexer import SearchIndexer
from rota.tenants import administer

if TYPE_CHECKING:
    from rota.db import Database
    from rota.tenants.tenant import Tenant

NAMES = (
    "Send invoices",
    "Nightly report",
    "Sync the warehouse: EU-West",
    "100%_sure",
    "Ümläut Größe",
)


async def found(db: Database, tenant: Tenant, /, **wanted: Any) -> list[str]:
    async with db.transaction(read_only=True, tenant=tenant.id) as tx:
        page, _ = await listing.page(tx, tenant.id, Filter(**wanted), after=None, limit=100)
    return [each.schedule.name for each in reversed(page)]


@pytest.mark.parametrize(
    ("q", "names"),
    [
        ("invoice", ["Send invoices"]),
        ("INVOICES", ["Send invoices"]),
        ("send inv", ["Send invoices"]),
        ("voice", []),
        ("invoices send", []),
        ("eu-w", ["Sync the warehouse: EU-West"]),
        ("warehouse: eu", ["Sync the warehouse: EU-West"]),
        ("%_s", ["100%_sure"]),
        ("%", ["100%_sure"]),
        ("größe", ["Ümläut Größe"]),
        ("'", []),
        ("\\", []),
        ("x' | 'y", []),
        ("key-0", ["Send invoices"]),
    ],
)
async def test_text_is_found_from_the_beginning_of_a_word(
    db: Database, q: str, names: list[str]
) -> None:
    office = await Office.open(db)
    for number, name in enumerate(NAMES):
        await office.create(name=name, key=f"key-{number}", description=f"text {number}")
    assert await found(db, office.tenant, q=q) == names


async def test_thousands_are_found_before_and_after_their_words_are_written(db: Database) -> None:
    office = await Office.open(db)
    items = [
        {"name": f"Bulk {n % 7} {n}", "key": f"k{n}", "interval": "1h", "job_type": "a.b"}
        | {"tags": ["seventh"] if n % 7 == 0 else []}
        for n in range(300)
    ]
    await create.create_many(db, office.tenant, items, shards=SHARDS)
    await office.create(name="Bulk single 1", key="single", tags=["seventh"])

    async def look() -> tuple[list[str], list[str], list[str], list[str]]:
        return (
            await found(db, office.tenant, q="bulk 3"),
            await found(db, office.tenant, tag="seventh"),
            await found(db, office.tenant, name="Bulk 5 5"),
            await found(db, office.tenant, q="nothing"),
        )

    before = await look()
    assert [len(each) for each in before] == [43, 44, 1, 0]
    assert await SearchIndexer(db, SystemClock()).run_once() == 300
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM wordless") == 0
        assert await tx.fetch_value("SELECT count(*) FROM schedule_words") == 301
    assert await look() == before


async def test_an_edit_is_found_at_once_and_a_deleted_one_leaves_nothing(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(name="Old name", key="k", tags=["old"])
    await office.update(made, name="New name", tags=["new"])
    assert await found(db, office.tenant, q="old") == []
    assert await found(db, office.tenant, tag="old") == []
    assert await found(db, office.tenant, q="new", tag="new") == ["New name"]
    await office.delete(made)
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM schedule_words") == 0


async def test_pages_of_a_search_are_pages_of_one_list(db: Database) -> None:
    """Through the walk and the look-up alike: a window's end falls between two pages."""
    office = await Office.open(db)
    items = [
        {"name": f"{'rare' if n % 50 == 0 else 'common'} {n}", "interval": "1h", "job_type": "a.b"}
        for n in range(4_000)
    ]
    await create.create_many(db, office.tenant, items, shards=SHARDS)
    await SearchIndexer(db, SystemClock()).run_once()
    names: list[str] = []
    after = None
    while True:
        async with db.transaction(read_only=True, tenant=office.tenant.id) as tx:
            page, _ = await listing.page(
                tx, office.tenant.id, Filter(q="rare"), after=after, limit=30
            )
        if not page:
            break
        names += [each.schedule.name for each in page]
        after = page[-1].schedule.id
    assert names == [f"rare {n}" for n in range(3_950, -1, -50)]


async def test_nobody_finds_what_is_anothers(db: Database) -> None:
    """TN1: also when the function that searches is asked for the other tenant's."""
    office = await Office.open(db)
    await office.create(name="Secret plan", key="k", tags=["hidden"])
    async with db.transaction() as tx:
        other = await administer.create(tx, {"name": "other"})
    assert await found(db, other, q="secret") == []
    assert await found(db, other, tag="hidden") == []
    async with db.transaction(read_only=True, tenant=other.id) as tx:
        rows = await tx.fetch(
            "SELECT find_schedules($1, NULL, words_wanted($1, 'secret', NULL, NULL), NULL, NULL, "
            "NULL, NULL, NULL, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 10)",
            office.tenant.id,
        )
    assert rows == []


async def test_a_text_has_the_words_of_every_part_of_it_that_begins_with_a_word(
    db: Database,
) -> None:
    """The index may find too many, and never too few: what it misses is not looked at again."""
    office = await Office.open(db)
    random = Random(22)
    texts: list[str] = []
    parts: list[str] = []
    while len(texts) < 3_000:
        text = "".join(random.choices("aab7-:/. \n", k=random.randint(1, 25)))
        begins = [at for at in range(len(text)) if text[at].isalnum() and _is_begin(text, at)]
        if begins:
            begin = random.choice(begins)
            texts.append(text)
            parts.append(text[begin : random.randint(begin + 1, len(text))])
    async with db.transaction() as tx:
        missed = await tx.fetch(
            "SELECT text, part FROM unnest($2::text[], $3::text[]) AS x(text, part) "
            "WHERE NOT words_of($1, text, '', '{}', NULL, '{}') "
            "          @@ words_wanted($1, part, NULL, NULL)",
            office.tenant.id,
            texts,
            parts,
        )
    assert [tuple(row) for row in missed] == []


def _is_begin(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalnum()


async def test_a_key_is_not_looked_for_among_all_that_have_its_words(db: Database) -> None:
    office = await Office.open(db)
    async with db.transaction() as tx:
        query = await tx.fetch_value(
            "SELECT words_wanted($1, 'customer-77:list 7', NULL, NULL)::text", office.tenant.id
        )
        mark = await tx.fetch_value("SELECT word_mark($1)", office.tenant.id)
    assert query == f"'{mark}+customer 77' & '{mark}+77 list' & '{mark} 7':*"
