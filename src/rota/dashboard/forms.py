"""What a form says. Every value is text from outside."""

from typing import Any

from litestar import Request

AnyRequest = Request[Any, Any, Any]


class Form:
    """The fields of a form that was sent."""

    def __init__(self, values: dict[str, list[str]]) -> None:
        self._values = values

    @classmethod
    async def read(cls, request: AnyRequest) -> "Form":
        """The request's form; files and anything else that is no text are left out."""
        sent = await request.form()
        values: dict[str, list[str]] = {}
        for name, value in sent.multi_items():
            if isinstance(value, str):
                values.setdefault(name, []).append(value)
        return cls(values)

    def text(self, name: str) -> str:
        """The field without blanks around it; empty when it was left empty or out."""
        return self._values.get(name, [""])[0].strip()

    def lines(self, name: str) -> str:
        """The field as it was written."""
        return self._values.get(name, [""])[0].replace("\r\n", "\n")

    def all(self, name: str) -> list[str]:
        """Every value of the name, such as of a row of boxes."""
        return self._values.get(name, [])

    def ticked(self, name: str) -> bool:
        return bool(self.text(name))

    def names(self) -> set[str]:
        return set(self._values)
