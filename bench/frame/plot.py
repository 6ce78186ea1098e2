"""A bar chart as SVG text, legible on light and on dark pages: it brings its own background."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from bench.frame.words import number, times

if TYPE_CHECKING:
    from pathlib import Path

    from bench.frame.results import Figure, Report, Row

_WIDTH = 880
_NAMES = 270
_VALUES = 190
_BARS = _WIDTH - _NAMES - _VALUES
_BAR = 16
_STEP = 22
_TITLE = 34
_MARGIN = 20

_STYLE = """\
<style>
  .page { fill: #ffffff; } text { fill: #1f2328; font: 13px system-ui, sans-serif; }
  .title { font-weight: 600; } .soft { fill: #59636e; } .ours { fill: #0a7d5a; }
  .peer { fill: #a8b1bb; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } text { fill: #e6edf3; } .soft { fill: #9198a1; }
    .ours { fill: #2fbf8f; } .peer { fill: #57606a; }
  }
</style>"""


def save(folder: Path, report: Report) -> None:
    """Draw a report, in place of the one before."""
    folder.mkdir(exist_ok=True)
    (folder / f"{report.name}.svg").write_text(draw(report), encoding="utf-8")


def draw(report: Report) -> str:
    """The chart: a group of bars for each piece of work, as long as their medians."""
    parts: list[str] = []
    top = _MARGIN
    for row in report.rows:
        parts.append(_text(_MARGIN, top + 14, row.title, "title"))
        parts.append(_text(_MARGIN + _NAMES, top + 14, f"median {row.unit}", "soft"))
        top += _TITLE - 8
        for figure in (row.ours, *row.peers):
            parts += _bar(row, figure, top)
            top += _STEP
        top += _TITLE - _STEP
    size = f'width="{_WIDTH}" height="{top}" viewBox="0 0 {_WIDTH} {top}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = f"<title>{escape(report.title)}</title>"
    page = '<rect class="page" width="100%" height="100%" rx="6"/>'
    return "\n".join([opening, title, _STYLE, page, *parts, "</svg>\n"])


def _bar(row: Row, figure: Figure, top: int) -> list[str]:
    longest = max(each.median for each in (row.ours, *row.peers))
    length = max(1.0, (_BARS - _MARGIN) * figure.median / longest)
    kind = "ours" if figure is row.ours else "peer"
    value = number(figure.median)
    if figure is not row.ours:
        value += f"  (Rota {times(row.ratio(figure))})"
    left = _MARGIN + _NAMES
    return [
        _text(_MARGIN + 12, top + 13, figure.name, "soft" if kind == "peer" else "name"),
        f'<rect class="{kind}" x="{left}" y="{top}" width="{length:.1f}" height="{_BAR}" rx="2"/>',
        _text(left + length + 8, top + 13, value, "soft" if kind == "peer" else "name"),
    ]


def _text(left: float, base: int, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{left:.1f}" y="{base}">{escape(words)}</text>'
