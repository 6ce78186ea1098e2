"""A command as a shell would split it, when no shell is needed to understand it. Pure.

Words, quotes, backslashes and redirections of output; anything that only a shell can fill in or
that runs a second command raises `NotSimple`, which says what it was.
"""

from __future__ import annotations

_OPERATORS = "|&;()<>"
_BLANKS = " \t\n"


class NotSimple(ValueError):
    """The command is more than words; the message says what it has."""


def words(command: str) -> list[str]:
    """The words of a command, without redirections of what it prints."""
    found: list[str] = []
    skip_next = False
    for word in _Reading(command).tokens():
        if isinstance(word, _Redirection):
            skip_next = word.needs_file
        elif skip_next:
            skip_next = False
        else:
            found.append(word)
    if skip_next:
        raise NotSimple("a redirection to nowhere")
    return found


class _Redirection:
    """`>`, `2>>`, `2>&1`: where output goes, which is nothing to who calls a URL."""

    def __init__(self, *, needs_file: bool) -> None:
        self.needs_file = needs_file


class _Reading:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def tokens(self) -> list[str | _Redirection]:
        found: list[str | _Redirection] = []
        while self._skip_blanks():
            if self._text[self._at] == "#":
                break
            found.append(self._redirection() or self._word())
        return found

    def _skip_blanks(self) -> bool:
        while self._at < len(self._text) and self._text[self._at] in _BLANKS:
            self._at += 1
        return self._at < len(self._text)

    def _redirection(self) -> _Redirection | None:
        rest = self._text[self._at :]
        for mark in ("2>&1", "1>&2", ">&2", "2>&-", "1>&-", ">&-"):
            if rest.startswith(mark):
                self._at += len(mark)
                return _Redirection(needs_file=False)
        for mark in ("&>>", "&>", "1>>", "2>>", ">>", "1>", "2>", ">&", ">|", ">"):
            if rest.startswith(mark):
                self._at += len(mark)
                return _Redirection(needs_file=True)
        return None

    def _word(self) -> str:
        word = ""
        while self._at < len(self._text) and self._text[self._at] not in _BLANKS:
            char = self._text[self._at]
            if char == ">":
                break  # The end of the word, and the beginning of a redirection.
            if char in _OPERATORS:
                raise NotSimple(f"{char}, so it is more than one command")
            self._at += 1
            word += self._piece(char)
        return word

    def _piece(self, char: str) -> str:
        if char == "'":
            return self._until("'")
        if char == '"':
            return self._double()
        if char == "\\":
            return self._taken()
        _refuse_expansion(char)
        return char

    def _until(self, quote: str) -> str:
        end = self._text.find(quote, self._at)
        if end < 0:
            raise NotSimple("a quote that is not closed")
        inside, self._at = self._text[self._at : end], end + 1
        return inside

    def _double(self) -> str:
        inside = ""
        while (char := self._taken()) != '"':
            if char == "\\":
                escaped = self._taken()
                inside += escaped if escaped in '$`"\\' else char + escaped
            else:
                _refuse_expansion(char)
                inside += char
        return inside

    def _taken(self) -> str:
        if self._at >= len(self._text):
            raise NotSimple("a quote or a backslash that is not closed")
        self._at += 1
        return self._text[self._at - 1]


def _refuse_expansion(char: str) -> None:
    if char in "$`":
        raise NotSimple(f"{char}, which only a shell fills in")
