"""From a template to a page. Everything is escaped: no template asks for less."""

from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import MediaType, Response
from litestar.datastructures import Cookie
from litestar.response import Redirect

from rota.dashboard import headers, shown
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.time_slicer import Steps
from rota.version import __version__

_TEMPLATES = Path(__file__).parent / "templates"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates, compiled when first used."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(shown.FILTERS)
    constants: dict[str, Any] = made.globals
    constants["version"] = __version__
    return made


def page(
    template: str,
    *,
    visitor: Visitor | None,
    section: str = "",
    code: HTTPStatus = HTTPStatus.OK,
    cookies: tuple[Cookie, ...] = (),
    **values: Any,
) -> Response[str]:
    """A page for a visitor; `section` is the part of the navigation it belongs to."""
    text = (
        environment()
        .get_template(template)
        .render(visitor=visitor, section=section, code=code, **values)
    )
    return Response(
        text,
        status_code=code,
        media_type=MediaType.HTML,
        headers=dict(headers.PAGE),
        cookies=list(cookies),
    )


async def large_page(
    template: str, *, desk: Desk, visitor: Visitor, section: str, **values: Any
) -> Response[str]:
    """A page that may be megabytes long, rendered a little at a time."""
    stream = (
        environment()
        .get_template(template)
        .generate(visitor=visitor, section=section, code=HTTPStatus.OK, **values)
    )

    def steps() -> Steps[str]:
        pieces: list[str] = []
        for piece in stream:
            pieces.append(piece)
            yield
        return "".join(pieces)

    text = await desk.slicer.run(visitor.principal.tenant.id, steps())
    return Response(text, media_type=MediaType.HTML, headers=dict(headers.PAGE))


def part(template: str, *, visitor: Visitor | None, **values: Any) -> str:
    """A piece of a page, for a script to put in its place."""
    return environment().get_template(template).render(visitor=visitor, **values)


def go_to(path: str, *, cookies: tuple[Cookie, ...] = ()) -> Response[Any]:
    """On to another page, after a change: reloading that page repeats nothing."""
    return Redirect(path, status_code=303, cookies=list(cookies), headers=dict(headers.PAGE))
