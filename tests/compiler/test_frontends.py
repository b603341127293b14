"""Python compilers that are not there, too old or switched off: refused with what mends it."""

from __future__ import annotations

import json
import sys

import pytest

import gridstride as gs
from gridstride.compiler import frontends


def kernel(x):
    """Stands for a user's function; nothing here compiles it."""


@pytest.mark.parametrize(
    ("module", "make", "message"),
    [
        (
            "triton",
            lambda: gs.triton(kernel, signature={"x": "*fp32"}),
            r"Triton cannot be loaded .*: pip install 'tri",
        ),
        ("numba.cuda", lambda: gs.numba(kernel, "void(float32[:])"), r"Numba's CUDA .*: pip install 'numba-cuda\[cu13"),
    ],
)
def test_a_missing_compiler_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, module: str, make, message: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RuntimeError, match=message):
        make()


def require(version: str, monkeypatch: pytest.MonkeyPatch, *, at_least: tuple[int, ...] = (3, 5)):
    monkeypatch.setattr(frontends, "distribution_version", lambda name: version)
    return frontends.require("json", distribution="json", at_least=at_least, install="json", what="JSON")


@pytest.mark.parametrize("version", ["3.4.9", "3.4.0+git12", "2.99", "3"])
def test_an_old_compiler_is_refused_with_its_version(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        require(version, monkeypatch)
    shown = f"JSON is json {version} here, 3.5 or later is needed: pip install --upgrade json"
    assert str(caught.value) == shown


@pytest.mark.parametrize("version", ["3.5", "3.5.0", "3.10.1+git1a2b", "4.0rc1", ""])
def test_a_compiler_that_is_new_enough_is_used(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    assert require(version, monkeypatch) is json


def test_importing_gridstride_imports_neither(tmp_path) -> None:
    import subprocess

    code = "import sys, gridstride; sys.exit(any(m in sys.modules for m in ('triton', 'numba', 'gridstride.device')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == 0
