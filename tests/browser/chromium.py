"""A Chromium for the tests: found on this machine, or installed where that can be done.

`make test` runs this first. It never fetches a browser by itself: Debian's own package is installed
when this is root on such a system, and everybody else is told what to install. Without one, the
tests in this folder are skipped; on CI that is a failure.
"""

from __future__ import annotations

import os
import shutil
import sys

from tests import debian

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # No name leads anywhere: a page that asks outside is found out, and reaches nothing.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
MISSING = (
    "No Chromium was found, and the dashboard is tested in one. Install it (on Debian or Ubuntu: "
    "apt-get install chromium), or name it in TEST_BROWSER."
)
_PACKAGES = ("chromium", "fonts-dejavu-core")


def find() -> str | None:
    """Where a browser is."""
    told = os.environ.get("TEST_BROWSER")
    if told:
        return shutil.which(told)
    return next((path for path in map(shutil.which, NAMES) if path is not None), None)


def is_required() -> bool:
    """Whether tests without a browser count as failed."""
    return debian.is_required("REQUIRE_BROWSER")


def main() -> int:
    """See to it that there is a browser; fails only where one is required."""
    if find() is not None:
        return 0
    debian.install(*_PACKAGES)
    if find() is not None:
        return 0
    debian.say(MISSING)
    return 1 if is_required() else 0


if __name__ == "__main__":
    sys.exit(main())
