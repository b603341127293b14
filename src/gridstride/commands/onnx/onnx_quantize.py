"""`gridstride onnx quantize`: a model in int8, with its size and its error."""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.commands.onnx.onnx_model import check_suffix, megabytes, mistakes_told, sizes_of
from gridstride.commands.terminal import WrongUse, emit, print_stderr, stdout, within
from gridstride.frameworks.onnx.graph import load_graph
from gridstride.frameworks.onnx.input_values import random_inputs, read_inputs, token_limits
from gridstride.frameworks.onnx.quantize import MODES, Values, quantize_file

_MOST_SAMPLES = 10_000


def run(
    file: str, *, out: str, mode: str, data: Sequence[str], samples: int, sizes: Sequence[str], seed: int,
    per_channel: bool, as_json: bool,
) -> bool:  # fmt: skip
    """Write the file; errors are told, and fail nothing: what is too much, the user knows."""
    path = check_suffix("--out", out, ".onnx")
    if mode not in MODES:
        raise WrongUse(f"--mode {mode} is none of {', '.join(MODES)}")
    within("--samples", samples, 1, _MOST_SAMPLES)
    with mistakes_told():
        values = _data(file, data, samples, sizes_of(sizes), seed)
        if mode == "static" and not data:
            print_stderr(f"note: calibrating by {samples} random inputs, which are not your data: --data FILE.npz")
        quantized = quantize_file(file, path, mode=mode, data=values, per_channel=per_channel)
    ratio = quantized.bytes_before / quantized.bytes_after
    if as_json:
        emit({"file": str(path), "mode": mode, "bytes_before": quantized.bytes_before,
              "bytes_after": quantized.bytes_after, "ratio": ratio, "max_error": quantized.max_error,
              "mean_error": quantized.mean_error, "operators": quantized.operators})  # fmt: skip
        return True
    console = stdout()
    before, after = megabytes(quantized.bytes_before), megabytes(quantized.bytes_after)
    console.print(f"wrote {path}: int8 {mode}, {after} instead of {before} ({ratio:.2f} times smaller)")
    console.print(
        f"error against the float model, of the largest output: {quantized.max_error:.2%} at most, "
        f"{quantized.mean_error:.3%} on average ({len(values)} sets of inputs, onnxruntime)"
    )
    return True


def _data(file: str, names: Sequence[str], samples: int, sizes: dict[str, int], seed: int) -> list[Values]:
    """Sets of inputs, from files or drawn."""
    graph = load_graph(file)
    if names:
        return [read_inputs(name) for name in names]
    limits = token_limits(graph)
    return [random_inputs(graph.inputs, sizes, seed + number, limits) for number in range(samples)]
