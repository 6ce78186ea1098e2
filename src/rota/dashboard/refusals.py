"""What pages raise when they cannot be shown."""

from http import HTTPStatus


class NotSignedIn(Exception):
    """Nobody is signed in: to the door."""


class PageRefused(Exception):
    """The page cannot be shown, or the change not made; `detail` says why, to a person."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def missing(what: str) -> PageRefused:
    """There is no such thing, or it is somebody else's: the two look the same."""
    return PageRefused(HTTPStatus.NOT_FOUND, f"There is no such {what}.")
