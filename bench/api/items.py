"""The schedules that are made: as a program makes them for its customers."""

from __future__ import annotations

from typing import Any

WORDS = (
    *("customer", "invoice", "billing", "report", "warehouse", "newsletter", "payroll", "import"),
    *("export", "sync", "backup", "cleanup", "reminder", "survey", "digest", "alert", "audit"),
    *("cache", "index", "refund"),
)
RARE = "zephyr"
"""In the name of one schedule of 100,000."""


def item(number: int, series: str) -> dict[str, Any]:
    """One of a series, none like another."""
    first, second = WORDS[number % 20], WORDS[number // 20 % 20]
    rare = number % 100_000 == 77
    fields: dict[str, Any] = {
        "name": f"{first.title()} {second} {number}{f' {RARE}' * rare}",
        "key": f"customer-{number % 5000}:{series}-{number}",
        "cron_expr": f"{number % 60} {number % 24} * * *",
        "timezone": "Europe/Berlin",
        "payload": {"customer": number, "kind": second},
        "tags": [f"team-{number % 20}", *["vip"] * (number % 1000 == 3), *["rare"] * rare],
        "enabled": number % 500 != 7,
    }
    if number % 10 == 9:
        return fields | {"job_type": f"{second}.{first}"}
    return fields | {"target_url": f"https://hooks-{number % 100}.example.com/run/{number}"}
