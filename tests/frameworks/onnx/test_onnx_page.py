"""The code of docs/onnx.md runs as it stands there, and what it shows is what comes out."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from gridstride.frameworks.onnx.operators import supported
from gridstride.frameworks.onnx.registry import PLUGINS

PAGE = (Path(__file__).parents[3] / "docs/onnx.md").read_text()
MLP, ENGINE, PLUGIN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_from_the_module_to_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: object) -> None:
    from gridstride.frameworks.onnx.export import example_of, export_module

    monkeypatch.chdir(tmp_path)
    Path("mlp.py").write_text(MLP)
    exported = export_module(example_of("mlp.py:mlp"), "mlp.onnx")
    assert f"opset {exported.opset}, {exported.nodes} nodes" in PAGE
    names = {"x": np.ones((2, 64), np.float32)}
    exec(ENGINE, names)
    for node in names["result"].nodes:
        assert f"\n{node.name} " in PAGE
        assert f" {node.op} " in PAGE


def test_a_plugin(gpu: object) -> None:
    try:
        exec(PLUGIN, {})
        assert "com.example::Doubled" in supported()
    finally:
        PLUGINS.clear()


def test_the_table_names_every_operator_that_is_not_elementwise() -> None:
    from gridstride.frameworks.onnx.expressions import ELEMENTWISE_OPS
    from gridstride.frameworks.onnx.registry import OPERATORS

    supported()
    table = PAGE.partition("| operators | |")[2].partition("\n\n")[0]
    names = {name for name in OPERATORS if "::" not in name and name not in ELEMENTWISE_OPS}
    assert {name for name in names if not re.search(rf"\b{name}\b", table) and not name.startswith("Reduce")} == set()
