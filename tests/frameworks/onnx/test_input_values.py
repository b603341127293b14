"""Inputs from files."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
from pathlib import Path

from small_models import FLOAT

from gridstride.frameworks.onnx import OnnxError
from gridstride.frameworks.onnx.input_values import read_inputs

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


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
