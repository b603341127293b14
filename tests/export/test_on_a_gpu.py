"""Exported kernels, built as wheels and tested by their own tests, on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gridstride.export import wheel
from gridstride.export.package import package, write
from gridstride.judge.find import find

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(600)]
PROBLEMS = (
    "vector_add gelu softmax swiglu cross_entropy layer_norm rms_norm adamw transpose histogram radix_sort rotary "
    "attention matmul_half"
).split()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_wheel_passes_its_own_tests(problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with code for every GPU, the others with that of this one, which takes a third of the time."""
    if problem != PROBLEMS[0]:
        monkeypatch.setattr(wheel, "ARCHITECTURES", (torch.cuda.get_device_capability(),))
    folder = find(problem)
    made = package(folder, folder.rungs()[-1])
    write(made, tmp_path / "made")
    built = wheel.build(made, tmp_path / "made", wheel.torch_folder(), wheel.installed_compilers())
    with zipfile.ZipFile(built) as file:
        file.extractall(tmp_path / "site")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "made" / "tests")]
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-8000:]
    assert " passed" in done.stdout


def test_the_folder_is_built_by_pip(tmp_path: Path) -> None:
    folder = find("gelu")
    made = package(folder, folder.rungs()[-1], "own_gelu")
    write(made, tmp_path / "made")
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "--target"]
    done = subprocess.run([*pip, str(tmp_path / "site"), str(tmp_path / "made")], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-8000:]
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "made" / "tests")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-8000:]
