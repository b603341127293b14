"""`gridstride onnx export`: a model as an ONNX file, checked against PyTorch."""

from __future__ import annotations

from typing import Any

from gridstride.commands.onnx.onnx_check import shapes_json, show_shapes
from gridstride.commands.onnx.onnx_model import check_suffix, example, megabytes, usage_errors
from gridstride.commands.terminal import emit, print_stderr, stdout
from gridstride.frameworks.onnx.check import check_file
from gridstride.frameworks.onnx.export import export_module


def run(model: str, *, out: str, opset: int, dtype: str, check: bool, as_json: bool) -> bool:
    """Write the file; whether ONNX Runtime computes what PyTorch does."""
    path = check_suffix("--out", out, ".onnx")
    with usage_errors():
        exported_example = example(model, dtype=dtype)
        print_stderr(f"exporting {model} by torch.onnx.export, opset {opset}")
        exported = export_module(exported_example, path, opset=opset)
        checked = check_file(path, exported_example) if check else None
    if as_json:
        report: dict[str, Any] = {
            "file": str(exported.path), "opset": exported.opset, "inputs": exported.inputs, "nodes": exported.nodes,
            "bytes": exported.nbytes, "checked": None if checked is None else shapes_json(checked),
        }  # fmt: skip
        emit(report)
    else:
        console = stdout()
        shapes = ", ".join(f"{name} [{', '.join(map(str, sizes))}]" for name, sizes in exported.inputs.items())
        console.print(f"wrote {path}: opset {exported.opset}, {exported.nodes} nodes, {megabytes(exported.nbytes)}")
        console.print(f"inputs: {shapes}")
        if checked is not None:
            show_shapes(checked)
    return checked is None or checked.passed
