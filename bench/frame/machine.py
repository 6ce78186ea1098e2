"""Facts about the machine that a reader needs to judge a figure."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from bench.frame.results import Machine


def facts(packages: tuple[str, ...]) -> Machine:
    """This machine, now."""
    return Machine(
        cores=os.cpu_count() or 1,
        load=round(os.getloadavg()[0], 1),
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        packages={name: version(name) for name in packages},
    )
