"""Inputs of a model: checked against what the graph says, drawn at random, read from .npz files."""

from __future__ import annotations

import difflib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.graph import Array, Graph, Port
from gridstride.frameworks.onnx.onnx_errors import OnnxError

DEFAULT_SIZES = (2, 16)
"""Of sizes that vary and nobody gave: the first one, the others."""
_TOKENS = 32
"""Random integers stay below it where nothing says what they choose: they are labels more often than not."""


def check_inputs(
    ports: Sequence[Port], values: Mapping[str, Any], fixed: frozenset[str] = frozenset()
) -> dict[str, Array]:
    """The arrays by name; OnnxError for a name, dtype or shape that the model does not take.

    `fixed`: inputs whose value stands in the file.
    """
    names = [port.name for port in ports]
    for name in values:
        if name in fixed:
            raise OnnxError(f"input {name!r} has a value in the file, which is used: change the initializer there")
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names) or 'no inputs'}"
            raise OnnxError(f"the model has no input {name!r}: {hint}")
    missing = [port for port in ports if port.name not in values]
    if missing:
        raise OnnxError(f"input {missing[0].name!r} is missing: {missing[0]}")
    arrays = {port.name: np.asarray(values[port.name]) for port in ports}
    sizes: dict[str, int] = {}
    for port in ports:
        _check(port, arrays[port.name], sizes)
    return arrays


def _check(port: Port, array: Array, sizes: dict[str, int]) -> None:
    if array.dtype != port.dtype:
        raise OnnxError(f"input {port.name!r} is {array.dtype}, the model takes {port}: array.astype({port.dtype})")
    if port.shape is None:
        return
    shape = list(array.shape)
    if len(shape) != len(port.shape):
        raise OnnxError(f"input {port.name!r} has shape {shape}, the model takes {port}: {len(port.shape)} axes")
    for axis, (size, n) in enumerate(zip(port.shape, shape, strict=True)):
        if isinstance(size, str):
            size = sizes.setdefault(size, n)
        if size is not None and size != n:
            raise OnnxError(
                f"input {port.name!r} has shape {shape}, the model takes {port}: axis {axis} must be {size}"
            )


def token_limits(graph: Graph) -> dict[str, int]:
    """Inputs that choose rows of a weight (an embedding), with how many rows there are."""
    rows: dict[str, int] = {}
    for node in graph.nodes:
        if node.qualified == "Gather" and not node.attributes.get("axis", 0) and node.inputs[0] in graph.constants:
            count = len(graph.constants[node.inputs[0]])
            rows[node.inputs[1]] = min(count, rows.get(node.inputs[1], count))
    return {port.name: rows[port.name] for port in graph.inputs if port.name in rows}


def random_inputs(
    ports: Sequence[Port], sizes: Mapping[str, int], seed: int = 0, limits: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """Normal floats, integers from 0 on, bools; `sizes` gives those that vary, by name.

    `limits`: what integers stay below, by input; "" stands for all others.
    """
    draw, limits = np.random.default_rng(seed), limits or {}
    chosen = dict(sizes)
    names = sorted({size for port in ports for size in port.shape or () if isinstance(size, str)})
    for name, size in sizes.items():
        if name not in names:
            raise OnnxError(f"the model has no size {name!r} that varies: it has {', '.join(names) or 'none'}")
        if size < 0:
            raise OnnxError(f"size {name} = {size} must be 0 or above")
    inputs = {}
    for port in ports:
        if port.shape is None:
            raise OnnxError(f"input {port.name!r} has no shape in the model: give it by --inputs FILE.npz")
        shape = [_size(size, axis, chosen) for axis, size in enumerate(port.shape)]
        limit = limits.get(port.name, limits.get("", _TOKENS))
        inputs[port.name] = _drawn(draw, shape, port.dtype, limit)
    return inputs


def _size(size: int | str | None, axis: int, chosen: dict[str, int]) -> int:
    if isinstance(size, int):
        return size
    default = DEFAULT_SIZES[min(axis, 1)]
    return default if size is None else chosen.setdefault(size, default)


def _drawn(draw: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any], limit: int) -> Array:
    if dtype.kind == "b":
        return np.asarray(draw.random(shape) < 0.5)
    if dtype.kind in "iu":
        return draw.integers(0, limit, shape).astype(dtype)
    return draw.standard_normal(shape).astype(dtype)


def read_inputs(path: str | Path) -> dict[str, Array]:
    """The arrays of an .npz file; OnnxError where it is none."""
    file = Path(path)
    if not file.is_file():
        raise OnnxError(f"there is no file {path}: np.savez(…) writes one, an array for each input by its name")
    try:
        archive = np.load(file, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise OnnxError(f"{path} holds one array without a name: np.savez('{path}', name=array)")
        with archive:
            return {name: archive[name] for name in archive.files}
    except OnnxError:
        raise
    except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
        raise OnnxError(f"{path} is no .npz file, or it is cut short: np.savez(…) writes one") from error
