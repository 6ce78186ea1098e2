"""`/metrics`: figures for Prometheus. Without a key: they name nothing that is a tenant's."""

from http import HTTPStatus

from litestar import Response, get

from rota.api import access
from rota.api.given import TheEngine
from rota.api.problems import Refused


@get("/metrics", opt=access.PUBLIC)
async def metrics(engine: TheEngine) -> Response[bytes]:
    """The figures of this process and of the installation, as text."""
    if engine.metrics is None:
        raise Refused(
            HTTPStatus.NOT_FOUND, "metrics are off here; the operator's setting `metrics` says so"
        )
    kind, content = await engine.metrics()
    # The framework adds the charset.
    kind = kind.removesuffix("; charset=utf-8")
    return Response(content, media_type=kind, headers={"Cache-Control": "no-store"})
