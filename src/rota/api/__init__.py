"""The HTTP API: `/v1`, JSON in, JSON out, `application/problem+json` for everything refused.

`app.create` puts it together; one file holds one resource's routes. A handler reads the request
(`bodies`, `queries`, `paths`), asks a stage of the engine, and answers with a view (`views`). Who
may call is decided in one place (`access`), and what an error looks like in one other (`problems`).
"""
