"""The dashboard: pages for people, rendered here and kept fresh by a little JavaScript.

A page is a file in `pages/` (what it shows), a template (how it looks) and, where it lives, a
module in `static/`. Every page is seen through a session (`doors.py`): its transactions run as the
session's tenant. Nothing comes from outside, nothing is inline, all output is escaped: payloads and
responses are hostile input.
"""

from rota.dashboard.app import routes

__all__ = ["routes"]
