"""Finding a program's `Rota`, and saying what was looked for when it is not there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from rota import Rota
from rota.library.finding import NoApp, find

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Where programs are, and nothing of them stays."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("shop"):
            del sys.modules[name]


def test_a_rota_is_found_by_its_name_or_alone(folder: Path) -> None:
    (folder / "shop_a.py").write_text("from rota import Rota\nqueue = Rota()\nother = 3\n")
    (folder / "shop_b.py").write_text("from rota import Rota\none = Rota()\nrota = Rota()\n")
    assert isinstance(find("shop_a:queue"), Rota)
    assert find("shop_a") is find("shop_a:queue")
    assert find("shop_b") is find("shop_b:rota")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("shop.py", "there is no module 'shop.py'"),
        ("shop:a b", "expected MODULE:APP, such as shop.tasks:rota, got 'shop:a b'"),
        ("shop_none", "expected a Rota in the module 'shop_none', got none: make one with"),
        ("shop_c:nope", "expected a Rota called 'nope' in 'shop_c', got shop_c:app"),
        ("shop_c:other", "expected shop_c:other to be a Rota, got builtins.int"),
        ("shop_two", "expected a Rota in the module 'shop_two', got shop_two:one, shop_two:two"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(folder: Path, path: str, said: str) -> None:
    (folder / "shop_none.py").write_text("")
    (folder / "shop_c.py").write_text("from rota import Rota\napp = Rota()\nother = 3\n")
    (folder / "shop_two.py").write_text("from rota import Rota\none = Rota()\ntwo = Rota()\n")
    with pytest.raises(NoApp) as caught:
        find(path)
    assert said in str(caught.value)


def test_what_the_module_itself_lacks_passes_through(folder: Path) -> None:
    (folder / "shop_d.py").write_text("import shop_of_nobody\n")
    with pytest.raises(ModuleNotFoundError, match="shop_of_nobody"):
        find("shop_d")
