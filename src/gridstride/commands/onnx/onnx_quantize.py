"""`gridstride onnx quantize`: a model in int8, with its size and its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridstride.commands.onnx.onnx_model import check_suffix, megabytes, sizes_of, usage_errors
from gridstride.commands.terminal import WrongUse, emit, print_stderr, stdout, within
from gridstride.frameworks.onnx.graph import load_graph
from gridstride.frameworks.onnx.input_values import random_inputs, read_inputs, token_limits
from gridstride.frameworks.onnx.quantize import MODES, Values, quantize_file

if TYPE_CHECKING:
    from gridstride.commands.options.onnx_options import QuantizeWords

_MOST_SAMPLES = 10_000


def run(file: str, words: QuantizeWords, *, out: str, as_json: bool) -> bool:
    """Write the file; errors are told, and fail nothing: what is too much, the user knows."""
    path = check_suffix("--out", out, ".onnx")
    if words.mode not in MODES:
        raise WrongUse(f"--mode {words.mode} is none of {', '.join(MODES)}")
    within("--samples", words.samples, 1, _MOST_SAMPLES)
    with usage_errors():
        values = _data(file, words)
        if words.mode == "static" and not words.data:
            print_stderr(
                f"note: calibrating by {words.samples} random inputs, which are not your data: --data FILE.npz"
            )
        quantized = quantize_file(file, path, mode=words.mode, data=values, per_channel=not words.per_tensor)
    ratio = quantized.bytes_before / quantized.bytes_after
    if as_json:
        emit({"file": str(path), "mode": words.mode, "bytes_before": quantized.bytes_before,
              "bytes_after": quantized.bytes_after, "ratio": ratio, "max_error": quantized.max_error,
              "mean_error": quantized.mean_error, "operators": quantized.operators})  # fmt: skip
        return True
    console = stdout()
    before, after = megabytes(quantized.bytes_before), megabytes(quantized.bytes_after)
    console.print(f"wrote {path}: int8 {words.mode}, {after} instead of {before} ({ratio:.2f} times smaller)")
    console.print(
        f"error against the float model, of the largest output: {quantized.max_error:.2%} at most, "
        f"{quantized.mean_error:.3%} on average ({len(values)} sets of inputs, onnxruntime)"
    )
    return True


def _data(file: str, words: QuantizeWords) -> list[Values]:
    """Sets of inputs, from files or drawn."""
    graph, sizes = load_graph(file), sizes_of(words.sizes)
    if words.data:
        return [read_inputs(name) for name in words.data]
    limits = token_limits(graph)
    return [random_inputs(graph.inputs, sizes, words.seed + number, limits) for number in range(words.samples)]
