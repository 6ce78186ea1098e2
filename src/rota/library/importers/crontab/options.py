"""Which options of `curl` and `wget` are understood, and what each does to the request. Pure.

An option that is not here is not simple: whoever reads the report decides what it should become.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.library.importers.crontab.request import Request
from rota.library.importers.crontab.shell import NotSimple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_UNCHECKED = "asks not to check the certificate, which Rota always does"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a program; None for one that only says what is shown or kept."""

    flags: Mapping[str, Callable[[Request], None] | None]
    valued: Mapping[str, Callable[[Request, str], None] | None]
    short: Mapping[str, str]
    refused: Mapping[str, str]
    equals: bool
    """Whether `--name=value` is one of its ways."""


@dataclass(frozen=True, slots=True)
class _Option:
    """One option as it stands in a command, with a value that stands in the same word."""

    shown: str
    name: str
    value: str | None = None


def read(arguments: list[str], options: Options, request: Request) -> None:
    """Everything the arguments say, into the request."""
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word == "--":
            request.urls += left
            return
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if equals and not options.equals:
                raise NotSimple(f"the option {word[:60]}")
            option = _Option(f"--{name}", name, value if equals else None)
            _take(options, option, left, request)
        elif word.startswith("-") and len(word) > 1:
            _read_short(word[1:], options, left, request)
        else:
            request.add_url(word)


def _read_short(cluster: str, options: Options, left: list[str], request: Request) -> None:
    """`-sSo /dev/null`, `-XPOST`, `-qO-`, and wget's `-nv`."""
    while cluster:
        letters = cluster[:2] if len(cluster) > 1 and cluster[:2] in options.short else cluster[0]
        name = options.short.get(letters, "")
        cluster = cluster[len(letters) :]
        if name in options.valued:
            _take(options, _Option(f"-{letters}", name, cluster or None), left, request)
            return
        _take(options, _Option(f"-{letters}", name), left, request)


def _take(options: Options, option: _Option, left: list[str], request: Request) -> None:
    name, value = option.name, option.value
    if name in options.refused:
        raise NotSimple(f"{option.shown}, which {options.refused[name]}")
    if name in options.valued:
        if value is None and not left:
            raise NotSimple(f"{option.shown} without its value")
        given = left.pop(0) if value is None else value
        if (take := options.valued[name]) is not None:
            take(request, given)
    elif name in options.flags and value is None:
        if (act := options.flags[name]) is not None:
            act(request)
    else:
        raise NotSimple(f"the option {option.shown[:60]}")


def _header(name: str) -> Callable[[Request, str], None]:
    return lambda request, value: request.set_header(name, value)


def _method(name: str) -> Callable[[Request], None]:
    return lambda request: request.set_method(name)


def _no_cache(request: Request) -> None:
    request.set_header("Cache-Control", "no-cache")


def _post(request: Request, text: str) -> None:
    request.add_raw(text)
    request.set_method("POST")


def _letters(text: str) -> dict[str, str]:
    """`s=silent S=show-error`, as a mapping."""
    return {letters: name for letters, _, name in (each.partition("=") for each in text.split())}


CURL = Options(
    equals=False,
    flags={
        **dict.fromkeys(("silent", "show-error", "fail", "fail-with-body", "fail-early")),
        **dict.fromkeys(("verbose", "include", "no-buffer", "progress-bar", "remote-name")),
        **dict.fromkeys(("no-progress-meter", "compressed", "ipv4", "ipv6", "disable", "globoff")),
        **dict.fromkeys(("create-dirs", "tcp-nodelay", "http1.1", "http2", "tlsv1.2", "tlsv1.3")),
        **dict.fromkeys(("retry-connrefused", "retry-all-errors", "no-keepalive")),
        "head": _method("HEAD"),
        "get": Request.put_data_in_query,
        "location": Request.note_redirects,
    },
    valued={
        **dict.fromkeys(("output", "write-out", "stderr", "connect-timeout", "dump-header")),
        **dict.fromkeys(("retry-delay", "retry-max-time", "max-redirs", "output-dir", "trace")),
        "url": Request.add_url,
        "request": Request.set_method,
        "header": Request.add_header,
        "data": Request.add_data,
        "data-ascii": Request.add_data,
        "data-binary": Request.add_binary,
        "data-raw": Request.add_raw,
        "data-urlencode": Request.add_encoded,
        "json": Request.add_json,
        "user": Request.set_user,
        "user-agent": _header("User-Agent"),
        "referer": _header("Referer"),
        "cookie": Request.set_cookie,
        "max-time": Request.set_timeout,
        "retry": Request.set_retries,
    },
    short=_letters(
        "s=silent S=show-error f=fail v=verbose i=include N=no-buffer #=progress-bar "
        "O=remote-name 4=ipv4 6=ipv6 q=disable g=globoff I=head G=get L=location "
        "o=output w=write-out D=dump-header X=request H=header d=data u=user "
        "A=user-agent e=referer b=cookie m=max-time k=insecure"
    ),
    refused={"insecure": _UNCHECKED},
)

WGET = Options(
    equals=True,
    flags={
        **dict.fromkeys(("quiet", "no-verbose", "verbose", "debug", "delete-after", "continue")),
        **dict.fromkeys(("timestamping", "no-clobber", "inet4-only", "inet6-only", "background")),
        **dict.fromkeys(("server-response", "no-directories", "no-hsts", "content-on-error")),
        **dict.fromkeys(("show-progress", "no-proxy", "no-dns-cache")),
        "no-cache": _no_cache,
        "spider": _method("HEAD"),
    },
    valued={
        **dict.fromkeys(("output-document", "output-file", "append-output", "directory-prefix")),
        **dict.fromkeys(("connect-timeout", "dns-timeout", "wait", "waitretry", "max-redirect")),
        **dict.fromkeys(("progress", "retry-on-http-error")),
        "method": Request.set_method,
        "body-data": Request.add_raw,
        "post-data": _post,
        "header": Request.add_header,
        "user-agent": _header("User-Agent"),
        "referer": _header("Referer"),
        "timeout": Request.set_timeout,
        "read-timeout": Request.set_timeout,
        "tries": Request.set_tries,
    },
    short=_letters(
        "q=quiet nv=no-verbose v=verbose d=debug c=continue N=timestamping nc=no-clobber "
        "nd=no-directories b=background S=server-response 4=inet4-only 6=inet6-only "
        "O=output-document o=output-file a=append-output P=directory-prefix U=user-agent "
        "T=timeout t=tries w=wait"
    ),
    refused={"no-check-certificate": _UNCHECKED},
)
