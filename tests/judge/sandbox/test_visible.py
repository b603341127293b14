"""What of the file system a worker may read: no folder for having been started in, or for being on sys.path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gridstride.judge.sandbox import visible
from gridstride.judge.sandbox.python_kernels import why_not

READS = Path(__file__).parents[1] / "hostile" / "reads_the_folder.py"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder with a secret, and a module that tells it."""
    (tmp_path / "secret.txt").write_text("hunter2")
    (tmp_path / "told.py").write_text("SECRET = 'hunter2'")
    return tmp_path


def paths() -> list[str]:
    return [path for path, _ in visible.folders("/tmp/scratch", cache=False)]


def test_an_entry_of_the_path_is_not_readable_for_that(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(secret))
    monkeypatch.chdir(secret)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert not [path for path in paths() if secret.is_relative_to(path)]


def test_a_package_that_lies_there_is_readable_and_its_neighbours_are_not(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `pip install --target` has it."""
    for name in ("triton", "triton.libs", "mine"):
        (secret / name).mkdir()
        (secret / name / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(secret))
    shown = {path for path in paths() if Path(path).is_relative_to(secret)}
    assert shown == {str(secret / "triton"), str(secret / "triton.libs")}


def test_a_folder_of_ones_own_that_is_named_like_a_package_is_not_readable(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cuda` and `nvidia` have no __init__.py: every folder of that name on the path is a part of them."""
    (secret / "cuda").mkdir()
    (secret / "nvidia").mkdir()
    monkeypatch.syspath_prepend(str(secret))
    assert not [path for path in paths() if Path(path).is_relative_to(secret)]
    (secret / "nvidia_cuda_nvrtc-13.0.dist-info").mkdir()
    assert [path for path in paths() if Path(path).is_relative_to(secret)] == [
        str(secret / "nvidia"),
        str(secret / "nvidia_cuda_nvrtc-13.0.dist-info"),
    ]


def test_the_package_is_readable_and_what_it_lies_in_is_not() -> None:
    package = Path(visible.__file__).parents[2]
    assert str(package) in paths()
    assert str(package.parent) not in paths()


def test_a_prefix_that_is_a_project_is_not_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m venv .` makes the project the prefix of its Python."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert str(tmp_path) not in paths()


@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("by", ["-m", "PYTHONPATH"])
def test_a_secret_beside_the_judge_is_not_in_the_verdict(secret: Path, by: str) -> None:
    pytest.importorskip("triton")
    path = (
        os.pathsep.join(filter(None, sys.path))
        if by == "-m"
        else os.pathsep.join([str(secret), *filter(None, sys.path)])
    )
    done = subprocess.run(
        [sys.executable, "-m", "gridstride", "check", str(READS), "-p", "vector_add", "--device", "virtual"],
        cwd=secret if by == "-m" else "/", env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert "hunter2" not in done.stdout + done.stderr
    assert "compile error" in done.stdout
