"""The dashboard's own files: styles and modules, a few of them, from the package itself."""

import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path
from typing import Final

from litestar import Response, get

from rota.dashboard import doors
from rota.dashboard.given import AnyRequest, Named
from rota.dashboard.refusals import missing

_FOLDER: Final = Path(__file__).parent / "static"
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}


@lru_cache(maxsize=1)
def files() -> dict[str, tuple[bytes, str, str]]:
    """Every file by its name: content, media type, tag. Read once, so a path leads nowhere else."""
    found: dict[str, tuple[bytes, str, str]] = {}
    for path in sorted(_FOLDER.iterdir()):
        kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0]
        if path.is_file() and kind is not None:
            content = path.read_bytes()
            found[path.name] = (content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return found


@get("/static/{name:str}", opt=doors.ANYBODY)
async def static(request: AnyRequest, name: Named) -> Response[bytes]:
    """A style or a module."""
    if name not in files():
        raise missing("file")
    content, kind, tag = files()[name]
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers={**_HEADERS, "ETag": tag})
    return Response(content, media_type=kind, headers={**_HEADERS, "ETag": tag})
