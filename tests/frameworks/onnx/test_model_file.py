"""Files: what is no model, cut short, or lacks its weights, in one sentence each."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
from pathlib import Path

import onnx
from small_models import FLOAT, Builder

from gridstride.frameworks.onnx import OnnxError, check_file
from gridstride.frameworks.onnx.graph import load_graph

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def refused(path: Path, said: str) -> None:
    for use in (load_graph, check_file):
        with pytest.raises(OnnxError, match=said) as caught:
            use(path)
        assert "\n" not in str(caught.value)


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


def test_a_place_of_weights_that_is_no_number(model: Path) -> None:
    onnx.save(onnx.load(model), model, save_as_external_data=True, location="w.bin", size_threshold=0)
    stored = onnx.load(model, load_external_data=False)
    next(entry for entry in stored.graph.initializer[0].external_data if entry.key == "offset").value = "zz"
    model.write_bytes(stored.SerializeToString())
    refused(model, "the offset of the weights of 'w0' is 'zz', which is no number")
