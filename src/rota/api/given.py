"""What handlers are given: the request, the engine, who is calling, and what the path names."""

from typing import Any

from litestar import Request
from litestar.di import NamedDependency
from litestar.params import FromPath, SkipValidation

from rota.api.engine import Engine
from rota.tenants.tenant import Principal

AnyRequest = Request[Any, Any, Any]
TheEngine = NamedDependency[SkipValidation[Engine]]
Caller = NamedDependency[SkipValidation[Principal]]
Named = FromPath[str]
"""A part of the path, such as an id."""
