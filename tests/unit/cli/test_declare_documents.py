"""Files as documents: YAML read as JSON would be, and never a half of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.cli.declare import documents, yamls
from rota.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        *(
            "on",
            "no",
            "~",
            "",
            "null",
            "12:30",
            "0o7",
            "010",
            "1e5",
            "1_000",
            "2027-01-01",
            "=",
            "<<",
        ),
        *(
            "*/5 * * * *",
            "a: b",
            "- x",
            "#",
            "{",
            "a\nb\n",
            " x ",
            "\t",
            "@daily",
            "!x",
            "&a",
            ".inf",
        ),
    ]
)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_TEXTS, _VALUES, max_size=4))
def test_what_is_written_is_read_back(value: dict[str, Any]) -> None:
    assert [each.value for each in yamls.load(yamls.dump([value]), is_json=False)] == [value]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: on", {"a": "on"}),
        ("a: 12:30", {"a": "12:30"}),
        ("a: 2027-01-01", {"a": "2027-01-01"}),
        ("a: 2027-01-01 09:00:00", {"a": "2027-01-01 09:00:00"}),
        ("a: 010", {"a": "010"}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: [1, 2.5, true, ~, -3]", {"a": [1, 2.5, True, None, -3]}),
        ("on: 1\n200: 2\nnull: 3", {"on": 1, "200": 2, "null": 3}),
        ("a: 0 9 * * MON-FRI", {"a": "0 9 * * MON-FRI"}),
        ('{"a": {"b": [1]}}', {"a": {"b": [1]}}),
        ('{\n\t"a": 1\n}', {"a": 1}),
        (
            "x: &d {p: 1, q: 1}\na:\n  <<: *d\n  q: 2",
            {"x": {"p": 1, "q": 1}, "a": {"p": 1, "q": 2}},
        ),
    ],
)
def test_only_what_json_has_is_more_than_text(text: str, expected: object) -> None:
    assert [each.value for each in yamls.load(text)] == [expected]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a: 1\na: 2", "line 2: expected each name once, got 'a' twice"),
        ('{"a": 1, "a": 2}', "each name once, got 'a' twice"),
        ("a: */5 * * * *", 'needs quotes: "*/5 * * * *"'),
        ("a: [1", "line 2: expected YAML"),
        ("a: !!python/object:os.system x", "line 1: expected text or a number"),
        ("a: !!set {x}", "line 1: expected an object, a list"),
        ("? [a]\n: 1", "expected a name"),
        ("a: &x [*x]", "expected a value that is not part of itself"),
        ('{"a": NaN}', "a number, got NaN"),
    ],
)
def test_what_cannot_be_read_is_a_sentence_with_its_line(text: str, wrong: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        yamls.load(text)
    assert wrong in caught.value.message


def _aliases(count: int, first: str = "[x, x]") -> str:
    """A list of which each line is twice the one before."""
    lines = [f"a0: &a0 {first}", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, count))]
    return "\n".join(lines)


def test_a_value_may_have_many_aliases() -> None:
    text = "a: &a {x: 1, y: [2, 3]}\nb: [" + ", ".join(["*a"] * 10_000) + "]"
    (found,) = yamls.load(text)
    assert found.value["b"] == [{"x": 1, "y": [2, 3]}] * 10_000


@pytest.mark.parametrize(
    "text",
    [
        _aliases(40),
        _aliases(100),
        # Of merged objects, of long texts, in many documents, and none of them deep.
        "a0: &a0 {x: 1}\n"
        + "\n".join(
            f"a{n}: &a{n} {{<<: *a{n - 1}, l{n}: *a{n - 1}, r{n}: *a{n - 1}}}" for n in range(1, 40)
        ),
        f"a: &a {'x' * 10_000}\nb: &b [{', '.join(['*a'] * 1_000)}]\nc: [{'*b, ' * 7}]",
        "\n---\n".join([_aliases(16)] * 20),
        "a: &a [" + "x, " * 2_000 + "]\nb: [" + "*a, " * 2_000 + "]",
    ],
    ids=["doubled", "doubled more", "merged", "long", "documents", "squared"],
)
def test_aliases_that_stand_for_more_than_a_file_may_hold_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="each alias counted with all that it stands for"):
        yamls.load(text)


def test_aliases_within_each_other_are_as_deep_as_what_they_stand_for() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 5_000))]
    with pytest.raises(InvalidInput, match="at most 200 values within each other"):
        yamls.load("\n".join(lines))


def test_a_file_without_end_is_refused() -> None:
    (problem,) = _read("/dev/zero").problems
    assert "at most 16777216 bytes" in str(problem)
    with pytest.raises(InvalidInput, match="at most 16777216 bytes"):
        yamls.load("x" * (yamls.MAX_BYTES + 1))


@pytest.mark.parametrize("text", ["a: 1.0e+999", "a: -1.0e+999", '{"a": 1e999}'])
def test_a_number_that_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="fits into 64 bits"):
        yamls.load(text)


def _read(*arguments: object, owner: str | None = None) -> documents.Read:
    return documents.read([str(each) for each in arguments], owner=owner)


def test_the_owner_is_the_documents_own_or_the_files_name(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text("schedules: []\n---\nowner: ops\nschedules: []\n")
    (tmp_path / "free.yaml").write_text("owner: null\nschedules: []")
    assert [each.owner for each in _read(tmp_path / "jobs.yaml").documents] == ["jobs", "ops"]
    assert [each.owner for each in _read(tmp_path / "free.yaml").documents] == [None]
    assert _read(tmp_path / "jobs.yaml", owner="me").owners == {"me", "ops"}


def test_two_files_of_one_name_need_owners(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "jobs.yaml").write_text("schedules: []")
    (problem,) = _read(tmp_path).problems
    assert "expected an owner in it" in str(problem)
    (tmp_path / "b" / "jobs.yaml").write_text("owner: b\nschedules: []")
    assert _read(tmp_path).problems == ()


def test_a_folder_stands_for_all_its_files_but_the_hidden(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yml", "c.json", "d.txt", ".e.yaml"):
        (tmp_path / name).write_text('{"schedules": []}')
    assert _read(tmp_path).owners == {"a", "b", "c"}
    assert len(documents.files([str(tmp_path), str(tmp_path / "a.yaml")])) == 3


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "f.yaml: expected an object with a list of schedules, got nothing"),
        ("# all gone", "got nothing"),
        ("- 1", "expected an object with a list of schedules, got a number"),
        ("- key: a\n- key: b", "got a list: put it under `schedules:`"),
        ("owner: x", "f.yaml:1: expected an object with a list of schedules, got none"),
        ("schedules:", "got none"),
        ("schedules: [3]", "f.yaml:1: schedules[0]: expected an object, got a number"),
        ("schedules: []\nprune: true", "Unknown field 'prune': expected schedules, defaults"),
        ("schedules: []\nowner: 3", "expected an owner of 1 to 92 characters"),
        ("schedules: []\ndefaults: 3", "expected defaults to be an object"),
    ],
)
def test_a_document_that_is_none_is_refused(text: str, wrong: str) -> None:
    problems: list[Any] = []
    documents.of_text(text, "f.yaml", "f", problems)
    assert wrong in str(problems[0])


def test_each_entry_knows_its_line() -> None:
    problems: list[Any] = []
    text = "defaults: {}\nschedules:\n  - key: a\n    text: x\n  - key: b\n"
    ((document, _),) = documents.of_text(text, "f.yaml", "f", problems)
    assert [str(each.place) for each in document.entries] == [
        "f.yaml:3: schedules[0] (a)",
        "f.yaml:5: schedules[1] (b)",
    ]


@pytest.mark.parametrize("is_json", [True, False])
def test_depth_beyond_reason_is_a_sentence(is_json: bool) -> None:
    with pytest.raises(InvalidInput):
        yamls.load("[" * 100_000 + "]" * 100_000, is_json=is_json)
