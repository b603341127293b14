"""int8: smaller, with its error; what cannot be quantized."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
from pathlib import Path

import onnx
from small_models import FLOAT, Builder, normal

from gridstride.frameworks.onnx import OnnxError, quantize_file

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_quantizing_makes_it_smaller_and_tells_the_error(model: Path) -> None:
    data = [{"x": normal(5, 64, seed=seed)} for seed in range(3)]
    for mode in ("dynamic", "static"):
        done = quantize_file(model, model.with_name("q.onnx"), mode=mode, data=data)
        assert done.bytes_after < done.bytes_before / 2
        assert 0 < done.mean_error < done.max_error < 0.05


def test_what_cannot_be_quantized(model: Path, tmp_path: Path) -> None:
    out, data = tmp_path / "q.onnx", [{"x": normal(2, 64)}]
    with pytest.raises(OnnxError, match="mode 'half' is none of dynamic, static"):
        quantize_file(model, out, mode="half", data=data)
    with pytest.raises(OnnxError, match="name another file"):
        quantize_file(model, model, data=data)
    with pytest.raises(OnnxError, match="there is no data"):
        quantize_file(model, out, data=[])
    b = Builder(20, x=(FLOAT, ["batch", 64]))
    onnx.save(b.model((b("Relu", "x"), FLOAT, 2)), model)
    with pytest.raises(OnnxError, match="no product with weights"):
        quantize_file(model, out, data=data)
    assert not out.exists()
