"""Files: what is no model, cut short, or lacks its weights, in one sentence each."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import onnx
from small_models import FLOAT, Builder, normal

from gridstride.frameworks.onnx import OnnxError, check_file, quantize_file
from gridstride.frameworks.onnx.graph import load_graph
from gridstride.frameworks.onnx.input_values import read_inputs


@pytest.fixture
def model(tmp_path: Path) -> Path:
    b = Builder(20, x=(FLOAT, ["batch", 64]))
    onnx.save(b.model((b("MatMul", "x", normal(64, 32)), FLOAT, 2)), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def refused(path: Path, said: str) -> None:
    for use in (load_graph, check_file):
        with pytest.raises(OnnxError, match=said) as caught:
            use(path)
        assert "\n" not in str(caught.value)


def test_a_good_one_is_checked_on_three_shapes(model: Path) -> None:
    checked = check_file(model)
    assert checked.opset == 20
    assert checked.operators == {"MatMul": 1}
    assert [shape.sizes for shape in checked.shapes] == [{"batch": 2}, {"batch": 1}, {"batch": 3}]
    assert checked.passed
    assert checked.max_error is None


def test_no_file_a_folder_an_empty_one_and_text(tmp_path: Path) -> None:
    refused(tmp_path / "none.onnx", "there is no file .*none.onnx")
    refused(tmp_path, "is no file: name the .onnx file itself")
    (tmp_path / "empty.onnx").touch()
    refused(tmp_path / "empty.onnx", "is empty")
    (tmp_path / "text.onnx").write_text("this is text, not a model")
    refused(tmp_path / "text.onnx", "is no ONNX model")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_one_cut_short(model: Path, share: float) -> None:
    whole = model.read_bytes()
    model.write_bytes(whole[: int(share * len(whole))])
    refused(model, "is no ONNX model, or it is cut short|is no valid ONNX model")


def test_weights_beside_that_are_not_there_or_cut_short(model: Path) -> None:
    onnx.save(onnx.load(model), model, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert load_graph(model).constants["w0"].shape == (64, 32)
    data = model.with_name("w.bin")
    data.write_bytes(data.read_bytes()[:100])
    refused(model, r"w\.bin is cut short: 'w0' ends at byte 8192, the file has 100")
    data.unlink()
    refused(model, r"the weights of 'w0' are in .*w\.bin, which is not there")


def test_an_operator_that_onnx_does_not_know(tmp_path: Path) -> None:
    b = Builder(20, x=(FLOAT, [4]))
    onnx.save(b.model((b("Frobnicate", "x"), FLOAT, 1)), tmp_path / "m.onnx")
    refused(tmp_path / "m.onnx", "is no valid ONNX model: .*Frobnicate")


def test_a_missing_package_is_named_with_the_command(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(OnnxError, match=r"ONNX Runtime cannot be loaded .*pip install 'gridstride\[onnx\]'"):
        check_file(model)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(OnnxError, match=r"ONNX cannot be loaded .*pip install 'gridstride\[onnx\]'"):
        load_graph(model)


def test_inputs_that_are_no_npz(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match="there is no file"):
        read_inputs(tmp_path / "x.npz")
    (tmp_path / "x.npz").write_bytes(b"no archive")
    with pytest.raises(OnnxError, match=r"is no \.npz file"):
        read_inputs(tmp_path / "x.npz")
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(OnnxError, match="holds one array without a name"):
        read_inputs(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", x=np.arange(3))
    assert read_inputs(tmp_path / "x.npz")["x"].tolist() == [0, 1, 2]


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
