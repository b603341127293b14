"""`gridstride onnx check`: is a file valid, and does ONNX Runtime give what PyTorch gives."""

from __future__ import annotations

from typing import Any

from gridstride.commands.onnx.onnx_model import example, usage_errors
from gridstride.commands.terminal import emit, stdout
from gridstride.frameworks.onnx.check import Checked, check_file


def run(file: str, *, model: str | None, seed: int, as_json: bool) -> bool:
    """Whether the file is valid, and every error within the tolerance of its dtype."""
    with usage_errors():
        checked = check_file(file, None if model is None else example(model), seed=seed)
    if as_json:
        emit({"file": file, "opset": checked.opset, "operators": checked.operators, "inputs": checked.inputs,
              **shapes_json(checked)})  # fmt: skip
        return checked.passed
    console = stdout()
    operators = ", ".join(f"{op} {count}" for op, count in checked.operators.items())
    console.print(f"{file}: valid, opset {checked.opset}, {sum(checked.operators.values())} nodes ({operators})")
    show_shapes(checked)
    if model is None:
        console.print("Compare with PyTorch:  --model FOLDER, or --model FILE.py:FUNCTION")
    return checked.passed


def show_shapes(checked: Checked) -> None:
    """A line for each shape."""
    console = stdout()
    for shape in checked.shapes:
        sizes = ", ".join(f"{name} {size}" for name, size in shape.sizes.items()) or "its one shape"
        error = "runs" if shape.error is None else f"max error {shape.error:.2g} against PyTorch"
        passed = "" if shape.share is None or shape.share <= 1 else "  TOO LARGE"
        console.print(f"onnxruntime, {sizes}: {error}{passed}")


def shapes_json(checked: Checked) -> dict[str, Any]:
    """Errors by shape, for --json; an infinite one is text, as JSON has no such number."""
    shapes = [{"sizes": shape.sizes, "error": _number(shape.error)} for shape in checked.shapes]
    return {"passed": checked.passed, "max_error": _number(checked.max_error), "shapes": shapes}


def _number(value: float | None) -> float | str | None:
    return "infinite" if value == float("inf") else value
