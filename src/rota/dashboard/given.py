"""What pages are given: the request, the desk, who looks, and what the path names."""

from typing import Any

from litestar import Request
from litestar.di import NamedDependency
from litestar.params import FromPath, SkipValidation

from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor

AnyRequest = Request[Any, Any, Any]
TheDesk = NamedDependency[SkipValidation[Desk]]
TheVisitor = NamedDependency[SkipValidation[Visitor]]
Named = FromPath[str]
"""A part of the path, such as an id."""
