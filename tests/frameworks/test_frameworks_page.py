"""The code of docs/frameworks.md runs as it stands there."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

import gridstride as gs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import torch

PAGE = Path(__file__).parents[2] / "docs/frameworks.md"
TRITON, INDUCTOR, PALLAS, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def run(code: str, folder: Path) -> None:
    file = folder / "block.py"
    file.write_text(code)
    linecache.checkcache()
    exec(compile(code, str(file), "exec"), {"__name__": "__main__"})


def test_triton(triton_here: gs.VirtualGPU, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(TRITON, tmp_path)
    assert "add_kernel on virtual h200: grid 98, block 128" in capsys.readouterr().out


def test_pallas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'jax>=0.10'")
    run(PALLAS, tmp_path)
    assert "add_kernel on virtual h200: grid 4, block 128" in capsys.readouterr().out


def test_torch_compile(
    triton_here: gs.VirtualGPU, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._dynamo import list_backends, register_backend

    from gridstride.frameworks.inductor import compile_graph

    if "gridstride" not in list_backends(exclude_tags=()):  # an installation from before the backend was there
        register_backend(compile_graph, name="gridstride")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    run(INDUCTOR, tmp_path)
    shown = capsys.readouterr().out
    said = PAGE.read_text()
    for name in re.findall(r"^(?:triton|extern)[\w.]+(?=:)", shown, re.MULTILINE):
        assert name in said
    assert "block.py:7  return F.gelu" in shown
    torch._dynamo.reset()
