"""A crontab as schedules: every line is taken as cron means it, or reported with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cli.declared import NOW

from rota.library.importers.crontab import entries, lines
from rota.library.importers.crontab.entries import Imported, Target
from rota.schedules import fields

RUN = Target(task="run-command")


def imported(text: str, *, target: Target = RUN, **options: Any) -> Imported:
    return entries.read(text, owner="web1", target=target, now=NOW, **options)


def one(text: str, **options: Any) -> dict[str, Any]:
    read = imported(text, **options)
    assert read.refused == []
    (entry,) = read.entries
    return entry


def refused(text: str, **options: Any) -> dict[int, str]:
    return {each.number: each.reason for each in imported(text, **options).refused}


def test_a_line_becomes_a_schedule_that_is_given_its_command() -> None:
    entry = one("# Nightly backup\n0 2 * * *  /srv/backup.sh --all\n")
    assert entry == {
        "key": entry["key"],
        "name": "Nightly backup",
        "cron_expr": "0 2 * * *",
        "job_type": "run-command",
        "payload": {"command": "/srv/backup.sh --all"},
    }
    assert entry["key"].startswith("web1:backup.sh-")


def test_a_url_can_be_given_the_commands_instead() -> None:
    entry = one("@daily x", target=Target(url="https://runner.example/run"))
    assert entry["target_url"] == "https://runner.example/run"
    assert entry["payload"] == {"command": "x"}


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("*/5 * * * * x", "*/5 * * * *"),
        ("0\t9-17/2\t*\t*\tmon-fri   x", "0 9-17/2 * * mon-fri"),
        ("  @daily   x", "@daily"),
        ("@Hourly x", "@Hourly"),
        ("0 0 1,15 jan,JUL 7 x", "0 0 1,15 jan,JUL 7"),
    ],
)
def test_times_are_kept_as_written(line: str, when: str) -> None:
    assert one(line)["cron_expr"] == when


def test_environment_lines_hold_for_what_follows() -> None:
    text = "0 1 * * * a\nMAILTO=ops@example.com\nPATH = \"/bin:/usr/bin\"\n'A B'=' c '\n0 2 * * * b"
    first, second = imported(text).entries
    assert first["payload"] == {"command": "a"}
    assert second["payload"]["environment"] == {
        "MAILTO": "ops@example.com",
        "PATH": "/bin:/usr/bin",
        "A B": " c ",
    }


def test_a_zone_holds_for_the_lines_that_follow_it() -> None:
    text = "@daily a\nTZ=:Asia/Tokyo\n@daily b\nCRON_TZ=Europe/Madrid\n@daily c\nCRON_TZ=\n@daily d"
    read = imported(text)
    assert [each.get("timezone") for each in read.entries] == [
        None,
        "Asia/Tokyo",
        "Europe/Madrid",
        "Asia/Tokyo",
    ]
    assert read.without_zone == 1
    # A command sees TZ as it always did; CRON_TZ is cron's own.
    assert read.entries[2]["payload"]["environment"] == {"TZ": ":Asia/Tokyo"}
    assert imported(text, timezone="UTC").entries[0]["timezone"] == "UTC"


def test_after_a_zone_that_there_is_not_nothing_is_taken_in_a_wrong_one() -> None:
    text = "CRON_TZ=EST\n@daily a\n@daily b\nCRON_TZ=America/New_York\n@daily c"
    reasons = refused(text)
    assert "Invalid timezone: EST" in reasons[1]
    assert reasons[2] == reasons[3] == "the zone it is in, set on line 1, is not known"
    assert [each["payload"]["command"] for each in imported(text).entries] == ["c"]


@pytest.mark.parametrize(
    ("text", "command", "stdin"),
    [
        ("date +\\%F", "date +%F", None),
        ("mail ana%Hello%you", "mail ana", "Hello\nyou\n"),
        ("mail ana%100\\% sure", "mail ana", "100% sure\n"),
        ("cat %", "cat", "\n"),
        ("cat %%", "cat", "\n"),
        ("echo a\\b", "echo a\\b", None),
    ],
)
def test_a_percent_ends_the_command_and_begins_its_input(
    text: str, command: str, stdin: str | None
) -> None:
    assert lines.split_percent(text) == (command, stdin)


@given(st.text("ab%\\ ", max_size=12))
def test_a_percent_that_is_escaped_never_splits(text: str) -> None:
    escaped = text.replace("\\", "").replace("%", "\\%")
    assert lines.split_percent(escaped) == (text.replace("\\", "").strip(), None)


def test_a_system_crontab_has_a_user() -> None:
    entry = one("17 * * * * root cd / && run-parts /etc/cron.hourly", system=True)
    assert entry["payload"] == {"command": "cd / && run-parts /etc/cron.hourly", "user": "root"}
    assert entry["name"] == "run-parts"
    assert "expected five fields, a user and a command" in refused("* * * * * x", system=True)[1]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@reboot /bin/start", "@reboot is not a time"),
        ("*/90 * * * * x", "expected a step no wider than the field"),
        ("0 0 30 2 * x", "never"),
        ("5-1 * * * * x", "5-1"),
        ("61 * * * * x", "61"),
        ("@fortnightly x", "@fortnightly"),
        ("0 9 * * *", "expected five fields and a command"),
        ("hello world", "expected five fields and a command"),
        ("0 9 * * * %only input", "expected a command"),
        ("~ * * * * x", "~"),
    ],
)
def test_what_cannot_be_taken_says_why(line: str, reason: str) -> None:
    read = imported(f"@daily before\n{line}\n@daily after")
    (problem,) = read.refused
    assert problem.number == 2
    assert reason in problem.reason
    assert [each["payload"]["command"] for each in read.entries] == ["before", "after"]


def test_a_command_needs_somebody_to_run_it() -> None:
    reasons = refused("@daily /srv/backup.sh", target=Target())
    assert "'backup.sh', and Rota calls URLs and tasks" in reasons[1]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Backup\n@daily x", "Backup"),
        ("## Backup ##\n@daily x", "Backup ##"),
        ("# Backup\n\n@daily x", "x"),
        ("# -------\n@daily x", "x"),
        ("# m h  dom mon dow   command\n@daily x", "x"),
        ("# 0 9 * * * old\n@daily x", "x"),
        ("# @daily old\n@daily x", "x"),
        (f"# {'long ' * 40}\n@daily x", "x"),
        ("@daily LANG=C nice.sh", "nice.sh"),
        ("@daily cd /srv/app && ./bin/run --now", "run"),
        ("@daily curl https://acme.example/hooks/a/", "acme.example/hooks/a"),
    ],
)
def test_names_come_from_the_comment_above_or_from_the_command(text: str, name: str) -> None:
    assert one(text)["name"] == name


def test_keys_do_not_depend_on_times_comments_or_other_lines() -> None:
    before = imported("0 1 * * * a.sh\n0 2 * * * b.sh\n0 3 * * * a.sh").entries
    after = imported(
        "0 2 * * * b.sh\nX=1\n# New\n@daily c.sh\n5 1 * * * a.sh\n0 3 * * * a.sh"
    ).entries
    keys = {each["payload"]["command"]: each["key"] for each in reversed(before)}
    assert keys["a.sh"] == before[0]["key"]
    assert before[2]["key"] == before[0]["key"] + "-2"
    assert {each["key"] for each in before} < {each["key"] for each in after}


_LINES = st.sampled_from(
    [
        *("", "# note", "A=b", "TZ=Asia/Tokyo", "CRON_TZ=nowhere", "@daily x", "*/7 * * * * a%b"),
        *("@reboot y", "0 0 * * * curl -d x https://acme.example", "oops", "%", "* * * *"),
    ]
) | st.text(max_size=20)


@given(st.lists(_LINES, max_size=12))
def test_whatever_stands_in_it_what_is_taken_can_be_made(text: list[str]) -> None:
    read = imported("\n".join(text))
    for entry in read.entries:
        assert fields.read(entry, now=NOW).next_slot is not None
    keys = [entry["key"] for entry in read.entries]
    assert len(set(keys)) == len(keys) == len(read.numbers)


def test_a_line_of_odd_white_space_is_refused_like_any_other() -> None:
    (refused,) = lines.read("\x1f")
    assert isinstance(refused, lines.Refused)
    assert "five fields" in refused.reason
