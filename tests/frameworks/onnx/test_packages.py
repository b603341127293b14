"""Packages that are missing, named with the command that installs them."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import sys
from pathlib import Path

from small_models import FLOAT

from gridstride.frameworks.onnx import OnnxError, check_file
from gridstride.frameworks.onnx.graph import load_graph

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_a_missing_package_is_named_with_the_command(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(OnnxError, match=r"ONNX Runtime cannot be loaded .*pip install 'gridstride\[onnx\]'"):
        check_file(model)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(OnnxError, match=r"ONNX cannot be loaded .*pip install 'gridstride\[onnx\]'"):
        load_graph(model)
