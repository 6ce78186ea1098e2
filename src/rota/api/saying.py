"""Bounds of a field as the OpenAPI document says them.

They are checked where the field is read, which says in a sentence what was expected; the document
says them to programs.
"""

from __future__ import annotations

import msgspec


def says(**bounds: object) -> msgspec.Meta:
    """For an annotation: JSON Schema beside the type's own, such as minimum=1."""
    return msgspec.Meta(extra_json_schema=bounds)
