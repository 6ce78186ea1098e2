"""What the pages of the settings have in common: their tabs, who may see which, and refusals."""

from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from litestar import Response

from rota import ids
from rota.dashboard import rendering
from rota.dashboard.doors import Needs, Visitor
from rota.dashboard.refusals import missing
from rota.errors import CallerError, InvalidInput
from rota.tenants.secrets import NoSecretKeys

TABS: Final[tuple[tuple[str, str, str, Needs], ...]] = (
    ("installation", "/settings", "Installation", "read"),
    ("secrets", "/settings/secrets", "Secrets", "read"),
    ("signing", "/settings/signing", "Signing keys", "admin"),
    ("channels", "/settings/channels", "Channels", "read"),
    ("calendars", "/settings/calendars", "Calendars", "read"),
    ("keys", "/settings/keys", "API keys", "admin"),
    ("tenants", "/settings/tenants", "Tenants", "operator"),
)

DONE: Final = {
    "set": "The secret was stored. Its value will not be shown again.",
    "deleted": "It was deleted.",
    "made": "It was made.",
    "saved": "The change was saved.",
    "rotated": "New keys sign from now on. Show each host's key, and give it to its receiver.",
    "tested": "A test was put on its way: it is listed below, and goes out within a second or so.",
    "revoked": "The key was revoked: it is refused everywhere within a second.",
}
"""What to say after a change, by the word in the address: nothing else can be put there."""


def page(
    template: str,
    visitor: Visitor,
    tab: str,
    *,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
    **values: Any,
) -> Response[str]:
    """A page of the settings."""
    return rendering.page(
        template,
        visitor=visitor,
        section="settings",
        code=code,
        tab=tab,
        tabs=[each[:3] for each in TABS if visitor.may(each[3])],
        said=DONE.get(done or "", ""),
        wrong=wrong,
        **values,
    )


REFUSALS: Final = (CallerError, NoSecretKeys)
"""What a form can be refused with, and the page be shown again."""


def refusal(error: Exception) -> tuple[HTTPStatus, str]:
    """The status, and what to say to whoever filled in the form."""
    if isinstance(error, InvalidInput):
        return HTTPStatus.BAD_REQUEST, error.message
    text = str(error)
    return HTTPStatus.CONFLICT, text[:1].upper() + text[1:]


def wall(visitor: Visitor) -> UUID | None:
    """The tenant that a transaction is held to; none for whoever may see all tenants."""
    return None if visitor.may("operator") else visitor.principal.tenant.id


def read_id(kind: ids.Kind, text: str, what: str) -> UUID:
    """The id in an address or a form; what is none names nothing."""
    try:
        return ids.from_text(kind, text)
    except ids.InvalidId as error:
        raise missing(what) from error
