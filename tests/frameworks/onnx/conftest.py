"""What the tests of ONNX share: the packages of the extra, a virtual GPU, small models."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def packages() -> None:
    """Skipped where the extra is not installed."""
    for package in ("torch", "onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'gridstride[onnx,torch]'")


@pytest.fixture(scope="module")
def gpu() -> Iterator[object]:
    """A virtual GPU of its own, which finds what is read or written outside of an array."""
    import gridstride as gs

    with gs.use(gs.VirtualGPU(workers=1, time_limit=60)) as device:
        yield device


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The file of a product with a weight, x [batch, 64] times [64, 32]."""
    import onnx
    from small_models import FLOAT, Builder, normal

    b = Builder(20, x=(FLOAT, ["batch", 64]))
    onnx.save(b.model((b("MatMul", "x", normal(64, 32)), FLOAT, 2)), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"
