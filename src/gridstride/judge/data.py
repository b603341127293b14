"""The data a kernel is run on. Each kind catches what the others let through.

normal        random, standard normal (bytes: uniform): where lower precision shows
whole         small whole numbers, so that sums are exact and there is no tolerance to argue about
equal         one value everywhere: rounding errors all point the same way
cancellation  large numbers whose sum is small, of both signs
spikes        mostly small numbers with a few huge ones: a prefix sum that is scaled back fails
denormal      numbers below the smallest normal float: lost where a kernel flushes them to zero
nonfinite     a few Inf and NaN
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Case, Parameter, Problem

_WHOLE = 4  # whole numbers from -4 to 4: a sum of 2^20 products still fits the 24 bits of a float
_SPIKE = 1e6
_PART = 1 << 20  # elements that one thread makes at a time: they fit its cache


def kinds(problem: Problem) -> tuple[str, ...]:
    """The kinds of data that make sense for the problem's inputs."""
    floats = any(np.dtype(p.dtype).kind == "f" for p in problem.parameters)
    if not floats:
        return ("normal", "equal", "spikes")
    return tuple(kind for kind in _FLOATS if kind not in problem.without)


def generate(problem: Problem, case: Case) -> dict[str, Any]:
    """Values for every parameter of the problem but the pure outputs, drawn from the case's seed."""
    if case.data not in _FLOATS:
        raise ValueError(f"{case.data!r} is no kind of data: {', '.join(_FLOATS)}")
    draw = np.random.default_rng(case.seed)
    values = {p.name: _values(problem, p, case, draw) for p in problem.parameters if p.given}
    return values | problem.arrange(values) if problem.arrange else values


def widened(value: Any) -> Any:
    """An array in the widest dtype of its kind, as references want it; anything else as it is."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return value.astype(np.float64 if value.dtype.kind == "f" else np.int64)
    return value


def _values(problem: Problem, parameter: Parameter, case: Case, draw: np.random.Generator) -> Any:
    dtype = np.dtype(parameter.dtype)
    if parameter.role == "scalar":
        if parameter.name in case.sizes:
            return case.sizes[parameter.name]
        # A number of Inf or NaN would turn the whole answer into one: the arrays carry those.
        kind = "normal" if case.data == "nonfinite" else case.data
        return _draw(dtype, kind, (1,), draw)[0].item()
    return _draw(dtype, case.data, problem.shape(parameter, case.sizes), draw)


def _draw(dtype: np.dtype[Any], kind: str, shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    if dtype.kind == "f":
        return _FLOATS[kind](dtype, shape, draw).astype(dtype, copy=False)
    information = np.iinfo(dtype)
    low, high = int(information.min), int(information.max)
    if kind == "equal":
        return np.full(shape, draw.integers(low, high, endpoint=True), dtype)
    if kind == "spikes":
        return draw.choice(np.array([low, high], dtype), shape)
    return _in_parts(dtype, shape, draw, lambda count, one: one.integers(low, high, count, dtype, endpoint=True))


def _normal(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    if dtype.itemsize > 4:
        return _in_parts(np.dtype(np.float64), shape, draw, lambda count, one: one.standard_normal(count, np.float64))
    return _in_parts(np.dtype(np.float32), shape, draw, lambda count, one: one.standard_normal(count, np.float32))


def _in_parts(
    dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator, make: Callable[[int, Generator], Array]
) -> Array:
    """Independent elements. Many of them are made by all processors, each part by a generator of its own."""
    size = prod(shape)
    if size <= _PART:
        return make(size, draw).reshape(shape)
    values = np.empty(size, dtype)
    starts = range(0, size, _PART)

    def fill(start: int, one: Generator) -> None:
        part = values[start : start + _PART]
        part[...] = make(part.size, one)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, starts, draw.spawn(len(starts))))
    return values.reshape(shape)


def _whole(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    return draw.integers(-_WHOLE, _WHOLE, shape, endpoint=True)


def _equal(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    return np.full(shape, draw.uniform(0.05, 0.95))


def _cancellation(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    flat = draw.uniform(500.0, 1000.0, int(np.prod(shape)))
    flat[1::2] = -flat[0::2][: flat[1::2].size]
    return (flat + draw.uniform(-0.5, 0.5, flat.size)).reshape(shape)


def _spikes(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    values = draw.uniform(-1.0, 1.0, shape)
    spikes = draw.random(shape) < 0.02
    return np.where(spikes, draw.choice([-_SPIKE, _SPIKE], shape), values)


def _denormal(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    return draw.uniform(-1.0, 1.0, shape) * float(np.finfo(dtype).smallest_normal)


def _nonfinite(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    values = draw.standard_normal(shape)
    chosen = draw.random(shape) < 0.01
    return np.where(chosen, draw.choice([np.inf, -np.inf, np.nan], shape), values)


_FLOATS: dict[str, Callable[[np.dtype[Any], tuple[int, ...], np.random.Generator], Array]] = {
    "normal": _normal,
    "whole": _whole,
    "equal": _equal,
    "cancellation": _cancellation,
    "spikes": _spikes,
    "denormal": _denormal,
    "nonfinite": _nonfinite,
}
