"""Every operation of the running server against its own OpenAPI document (schemathesis).

The server has the API's role alone, so nothing that is created here is ever called. Longer and with
another seed: ROTA_CONTRACT_EXAMPLES=200 ROTA_CONTRACT_SEED=7 pytest tests/process/test_contract.py
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.db.secrets_kit import ring_text
from tests.process.serving import Server, serving

from rota.tenants import keys

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.conftest import Postgres

ADMIN = keys.new().text
EXAMPLES = os.environ.get("ROTA_CONTRACT_EXAMPLES", "2")
SEED = os.environ.get("ROTA_CONTRACT_SEED", "1")
PHASES = os.environ.get("ROTA_CONTRACT_PHASES", "coverage,fuzzing")
CONFIG = Path(__file__).with_name("contract") / "schemathesis.toml"


@pytest.fixture
def server(postgres: Postgres, tmp_path: Path) -> Generator[Server]:
    name = asyncio.run(postgres.clone())
    arguments = ("--dsn", postgres.dsn_of(name), "--role", "api")
    variables = {
        "ROTA_ADMIN_KEY": ADMIN,
        "ROTA_SECRET_KEYS": ring_text("k1"),
        "ROTA_REQUEST_RATE": "0",
        "ROTA_ANONYMOUS_RATE": "0",
    }
    with serving(tmp_path, *arguments, **variables) as running:
        yield running
    asyncio.run(postgres.drop(name))


def _known(url: str) -> dict[str, str]:
    """Something of everything, so that requests get further than "not found"."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {ADMIN}"}) as http:
        fields = {"name": "known", "interval": "1h", "job_type": "known", "overlap_policy": "allow"}
        schedule = http.post("/v1/schedules", json=fields).raise_for_status().json()
        at = f"/v1/schedules/{schedule['id']}"
        firing = http.post(f"{at}/trigger").raise_for_status().json()
        tenant = http.post("/v1/tenants", json={"name": "known"}).raise_for_status().json()
        http.put("/v1/secrets/known", json={"value": "x"}).raise_for_status()
        (own,) = http.get("/v1/keys").raise_for_status().json()["items"]
        return {
            "schedule_id": schedule["id"],
            "key": schedule["key"],
            "firing_id": firing["id"],
            "tenant_id": tenant["id"],
            "own_key": own["id"],
        }


@pytest.mark.timeout(0)
def test_the_server_does_what_its_document_says(server: Server, tmp_path: Path) -> None:
    """Issue 5: statuses, media types, schemas, headers, methods and keys, right and wrong data."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli"),
            *("--config-file", str(CONFIG)),
            *("run", f"{server.url}/openapi.json"),
            *("--header", f"Authorization: Bearer {ADMIN}"),
            *("--phases", PHASES),
            *("--max-examples", EXAMPLES, "--seed", SEED, "--workers", "1"),
            *("--continue-on-failure", "--no-color", "--generation-database", "none"),
        ],
        cwd=Path(__file__).parents[2],
        env={
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "ROTA_CONTRACT_KNOWN": json.dumps(_known(server.url)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in (tmp_path / "serve.log").read_text()
