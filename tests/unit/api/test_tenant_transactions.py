"""Every transaction of the API and the dashboard says whose it is (S10)."""

from __future__ import annotations

import ast
from pathlib import Path

import rota

ROOT = Path(rota.__file__).parent

ENGINES_OWN = {
    # The operator's business.
    ("api/circuits.py", "list_circuits"),
    ("api/circuits.py", "reset_circuit"),
    ("api/figures.py", "get_cluster"),
    ("api/tenants.py", "list_tenants"),
    ("dashboard/pages/overview.py", "_cluster"),
    ("dashboard/pages/cluster.py", "cluster"),
    ("dashboard/pages/cluster.py", "reset_circuit"),
    # Whether the database answers, and what time it is.
    ("api/health.py", "_trouble"),
    ("api/pausing.py", "_check_future"),
    # Who it is has yet to be found: by a token, or by what a browser brings.
    ("api/completing.py", "_once"),
    ("api/monitors.py", "_by_token"),
    ("dashboard/doors.py", "_visitor"),
    ("dashboard/pages/live.py", "_still_good"),
    ("dashboard/pages/signing_in.py", "sign_out"),
    ("dashboard/pages/signing_in.py", "_begin"),
}
"""The functions whose transactions are no tenant's."""


def transactions(tree: ast.AST, inside: str = "") -> list[tuple[str, bool]]:
    """Every `….db.run(` and `….db.transaction(`: in which function, and whether it has `tenant`."""
    found: list[tuple[str, bool]] = []
    for node in ast.iter_child_nodes(tree):
        name = inside
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = inside or node.name
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            is_db = isinstance(of, ast.Attribute) and of.attr in {"db", "_db"}
            if is_db and node.func.attr in {"run", "transaction"}:
                found.append((name, any(each.arg == "tenant" for each in node.keywords)))
        found += transactions(node, name)
    return found


def test_every_transaction_is_held_to_a_tenant_or_has_a_reason_not_to_be() -> None:
    free: set[tuple[str, str]] = set()
    count = 0
    for folder in ("api", "dashboard"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for function, has_tenant in transactions(ast.parse(file.read_text("utf-8"))):
                count += 1
                if not has_tenant:
                    free.add((file.relative_to(ROOT).as_posix(), function))
    assert count > 30
    assert sorted(free - ENGINES_OWN) == [], "give it tenant=…, or say above why it is nobody's"
    assert sorted(ENGINES_OWN - free) == [], "it is held to a tenant now, or gone"
