"""NVRTC is found wherever its wheel lies on sys.path, and is named where it cannot be loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import gridstride
from gridstride.compiler import NoCompiler, bindings

SOURCE = Path(gridstride.__file__).parents[1]


def test_wheels_in_a_folder_on_pythonpath_are_found(tmp_path: Path) -> None:
    """As `pip install --target` leaves them: cuda-pathfinder, which looks in site-packages only, finds none there."""
    target, bare = tmp_path / "target", tmp_path / "bare"
    target.mkdir()
    for entry in Path(sysconfig.get_path("platlib")).iterdir():
        if entry.suffix != ".pth":
            (target / entry.name).symlink_to(entry)
    venv.create(bare, with_pip=False)
    unset = ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [bare / "bin/python", "-c", "from gridstride.compiler.bindings import supported_archs as a; print(*a())"],
        env=environment | {"PYTHONPATH": os.pathsep.join(map(str, (target, SOURCE)))},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "sm_90" in done.stdout.split()


def test_what_cannot_be_loaded_is_one_line_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    monkeypatch.delattr("cuda.bindings.nvrtc", raising=False)
    with pytest.raises(NoCompiler) as raised:
        bindings.load()
    assert str(raised.value).startswith("NVRTC, the CUDA compiler, cannot be loaded: ")
    assert str(raised.value).endswith("; pip install cuda-bindings nvidia-cuda-nvrtc")
    assert "\n" not in str(raised.value)
