"""Models in int8, by ONNX Runtime's quantizer: dynamic (weights alone) or static in QDQ form, by calibration data."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.check import run_session, session_of
from gridstride.frameworks.onnx.graph import Array, graph_of
from gridstride.frameworks.onnx.input_values import check_inputs
from gridstride.frameworks.onnx.model_file import check_model, first_sentence, read_model
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.packages import runtime_package

MODES = ("dynamic", "static")
_INTEGERS = frozenset("MatMulInteger ConvInteger QLinearMatMul QLinearConv QuantizeLinear".split())
Values = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Quantized:
    """A written file. Errors are against the float model by ONNX Runtime, as shares of the largest output."""

    path: Path
    mode: str
    bytes_before: int
    bytes_after: int
    max_error: float
    mean_error: float
    operators: dict[str, int]


def quantize_file(
    path: str | Path, out: str | Path, *, mode: str = "dynamic", data: Sequence[Values], per_channel: bool = True
) -> Quantized:
    """Write `out`. `data`: inputs to compare by, and for "static" to calibrate by.

    OnnxError where nothing of the model can be quantized.
    """
    if mode not in MODES:
        raise OnnxError(f"mode {mode!r} is none of {', '.join(MODES)}")
    if not data:
        raise OnnxError("there is no data: calibration and comparison need at least one set of inputs")
    target = Path(out)
    if not target.parent.is_dir():
        raise OnnxError(f"there is no folder {target.parent}")
    if target.resolve() == Path(path).resolve():
        raise OnnxError(f"{out} is the model itself: name another file")
    model = read_model(path)
    check_model(model, path)
    for values in data:
        check_inputs(graph_of(model, str(path)).inputs, values)
    runtime_package()
    with _silent(), tempfile.TemporaryDirectory() as folder:
        _write(Path(path), target, Path(folder), mode, data, per_channel)
    quantized = read_model(target)
    operators = graph_of(quantized, str(target)).count()
    if not _INTEGERS.intersection(operators):
        target.unlink()
        raise OnnxError(f"{path} has no product with weights that ONNX Runtime could quantize")
    largest, mean = _errors(session_of(path, str(path)), session_of(target, str(target)), data)
    return Quantized(target, mode, Path(path).stat().st_size, target.stat().st_size, largest, mean, operators)


class _Reader:
    """What onnxruntime's CalibrationDataReader is: the next set of inputs, None at the end."""

    def __init__(self, data: Sequence[Values]) -> None:
        self._remaining = iter(data)

    def get_next(self) -> dict[str, Array] | None:
        values = next(self._remaining, None)
        return None if values is None else dict(values)


def _write(path: Path, target: Path, folder: Path, mode: str, data: Sequence[Values], per_channel: bool) -> None:
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.calibrate import CalibrationDataReader
    from onnxruntime.quantization.shape_inference import quant_pre_process

    CalibrationDataReader.register(_Reader)
    prepared = folder / "prepared.onnx"
    try:
        # Symbolic inference stumbles over exported shapes, and ONNX's own is enough.
        quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
        if mode == "dynamic":
            quantize_dynamic(str(prepared), str(target), per_channel=per_channel, weight_type=QuantType.QInt8)
        else:
            quantize_static(
                str(prepared), str(target), _Reader(data), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
            )  # fmt: skip
    except OSError as error:
        raise OnnxError(f"{target} cannot be written: {error.strerror}") from error
    except Exception as error:  # of any class: it is a script
        raise OnnxError(f"ONNX Runtime cannot quantize {path}: {first_sentence(error)}") from error


def _errors(exact: Any, rounded: Any, data: Sequence[Values]) -> tuple[float, float]:
    largest, means = 0.0, []
    for values in data:
        a, b = run_session(exact, values), run_session(rounded, values)
        for name, reference in a.items():
            if reference.dtype.kind != "f" or not reference.size:
                continue
            scale = max(float(np.abs(reference).max()), 1e-30)
            errors = np.abs(b[name].astype(np.float64) - reference) / scale
            largest = max(largest, float(errors.max()))
            means.append(float(errors.mean()))
    return largest, float(np.mean(means)) if means else 0.0


@contextmanager
def _silent() -> Iterator[None]:
    """Without the quantizer's advice on pre-processing, which has been followed."""
    previous_level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous_level)
