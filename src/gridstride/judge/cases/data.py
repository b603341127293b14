"""The data a kernel is run on. Each kind catches what the others let through."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Case, Parameter, Problem, Values

_WHOLE = 4  # whole numbers from -4 to 4: a sum of 2^20 products still fits the 24 bits of a float
_SPIKE = 1e6
INFINITE = ("nonfinite", "infinite", "opposed")  # what a problem leaves out for whose answers an infinity is too much
_ALONE = {f"{kind} in ": kind for kind in ("nonfinite", "not a number")}
"""Before the name of an array or a number: the other arrays hold zeros for it to meet."""
_ZEROS = ("half zeros", "zeros only")  # what the others hold, by the parity of the case's seed
_BAD = 0.05  # of the elements beside a problem's own kind of data
_CHANGED = 0.25  # of the elements of data that are mostly those of the launch before
_LARGE = 1 << 15  # elements: of such a size there is one case of a kind, which must show what it can
_PART = 1 << 20  # elements that one thread makes at a time: they fit its cache


def kinds(problem: Problem) -> tuple[str, ...]:
    """The kinds of data that make sense for the problem's inputs."""
    floats = any(np.dtype(p.dtype).kind == "f" for p in problem.parameters)
    kind_names = tuple(_FLOATS) if floats else ("normal", "equal", "spikes")
    left_out = {*problem.without, *(INFINITE if "nonfinite" in problem.without else ())}
    general = (kind_name for kind in kind_names if kind not in left_out for kind_name in _by_array(problem, kind))
    return (*general, *problem.special)


def _by_array(problem: Problem, kind: str) -> tuple[str, ...]:
    """Not finite in one place at a time: an answer that is NaN because of one says nothing of the other.

    Numbers take their turn too, unless the problem has its own ones made of what is drawn.
    """
    floats = [p for p in problem.parameters if p.given and np.dtype(p.dtype).kind == "f"]
    prefix_of_kind = next((prefix for prefix, arrays in _ALONE.items() if arrays == kind), "")
    numbers = kind == "nonfinite" and problem.arrange is None
    names = [p.name for p in floats if p.role != "scalar" or numbers]
    return tuple(f"{prefix_of_kind}{name}" for name in names) if prefix_of_kind and len(names) > 1 else (kind,)


def general_kinds(problem: Problem) -> dict[str, str]:
    """Those kinds of the problem's data that are not its own, with what each is for."""
    return {kind: GENERAL_KINDS[_general(kind)] for kind in kinds(problem) if kind not in problem.special}


def _general(kind: str) -> str:
    return next((general for prefix, general in _ALONE.items() if kind.startswith(prefix)), kind)


def generate(problem: Problem, case: Case) -> dict[str, Any]:
    """Values for every parameter of the problem but the pure outputs, drawn from the case's seed."""
    kind_names = dict.fromkeys((*_FLOATS, *kinds(problem), *problem.special))
    if case.data not in kind_names:
        raise ValueError(f"{case.data!r} is no kind of data: {', '.join(kind_names)}")
    draw = np.random.default_rng(case.seed)
    values = {p.name: _values(problem, p, case, draw) for p in problem.parameters if p.given}
    if problem.arrange:
        values |= problem.arrange(values)
    special = problem.special.get(case.data)
    if special is None:
        return values
    changed = _retyped(problem, special(values, draw))
    return values | _beside(problem, case, values, changed, draw) | changed


def partly(problem: Problem, values: Values, alternative: Values, seed: int) -> dict[str, Any]:
    """Values in which a quarter of the elements are others: whoever knows its input again by a few of them is wrong.

    Both are of one case's sizes. Arrays of whole numbers stay as they are: they may be places in others.
    """
    draw = np.random.default_rng(seed)
    floats = [p for p in problem.parameters if p.given and p.shape and np.dtype(p.dtype).kind == "f"]
    changed = {p.name: (draw.random(values[p.name].shape) < _CHANGED, alternative[p.name]) for p in floats}
    return {**values, **{name: np.where(where, other, values[name]) for name, (where, other) in changed.items()}}


def _beside(problem: Problem, case: Case, values: Values, changed: Values, draw: np.random.Generator) -> dict[str, Any]:
    """The arrays that a problem's own kind of data leaves as they are, in every other hidden case with a few NaN: what
    a kernel takes for nothing, as it is far out in one array, is not nothing beside those of another.

    NaN alone, since a factor that float32 rounds to 0 is none in float64: times Inf they are not one. Problems that
    arrange their data give arrays a meaning of their own.
    """
    plain = problem.arrange is None and case.hidden
    kind_names = kinds(problem) if plain and case.seed % 2 else ()
    arrays = [p.name for p in problem.parameters if f"not a number in {p.name}" in kind_names and p.name not in changed]
    chosen = {name: np.array(values[name]) for name in arrays if np.ndim(values[name])}
    for array in chosen.values():
        array[draw.random(array.shape) < _BAD] = np.nan
    return chosen


def _retyped(problem: Problem, values: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays in the dtypes that the problem gives them."""
    dtypes = {p.name: p.dtype for p in problem.parameters}
    with np.errstate(over="ignore"):
        return {
            name: np.ascontiguousarray(value, dtypes[name]) if isinstance(value, np.ndarray) else value
            for name, value in values.items()
        }


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
        return _draw(dtype, _kind_of_number(problem, parameter, case), (1,), draw)[0].item()
    return _draw(dtype, _kind_of(problem, parameter, case), problem.shape(parameter, case.sizes), draw)


def _kind_of(problem: Problem, parameter: Parameter, case: Case) -> str:
    """What this array holds where the data are of the case's kind."""
    if case.data in problem.special:
        return "normal"
    general = _general(case.data)
    if general == "infinite":  # each infinity keeps its sign: of those of both signs any sum is NaN, and shows nothing
        signed = "infinite" if case.seed // 8 % 2 else "infinite below"
        return signed if _has_infinities(problem, parameter, case) else "positive"
    if general == case.data or case.data.endswith(f" in {parameter.name}"):
        return general
    return _ZEROS[case.seed % 2]


def _has_infinities(problem: Problem, parameter: Parameter, case: Case) -> bool:
    """One of the inputs has them; an array that is written as well every other time."""
    read = [p.name for p in problem.parameters if p.role == "in" and p.shape and np.dtype(p.dtype).kind == "f"]
    if parameter.role == "in":
        return parameter.name == read[case.seed // 2 % len(read)]
    return not read or bool(case.seed // 4 % 2)


def _kind_of_number(problem: Problem, parameter: Parameter, case: Case) -> str:
    """The same of a number, which would turn the whole answer into Inf or NaN where arrays hold those."""
    if case.data != _general(case.data) and case.data.endswith(f" in {parameter.name}"):
        return "infinite or NaN"
    return "normal" if _general(case.data) in (*INFINITE, "not a number", *problem.special) else case.data


def _draw(dtype: np.dtype[Any], kind: str, shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    if dtype.kind == "f":
        make = _FLOATS.get(kind) or _BESIDE[kind]
        return make(dtype, shape, draw).astype(dtype, copy=False)
    information = np.iinfo(dtype)
    low, high = int(information.min), int(information.max)
    if kind == "equal":
        return np.full(shape, draw.integers(low, high, endpoint=True), dtype)
    if kind == "spikes":
        return draw.choice(np.array([low, high], dtype), shape)
    return _in_parts(
        dtype, shape, draw, lambda count, generator: generator.integers(low, high, count, dtype, endpoint=True)
    )


def _normal(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """random, standard normal (whole numbers: uniform): where lower precision shows"""
    if dtype.itemsize > 4:
        return _in_parts(
            np.dtype(np.float64), shape, draw, lambda count, generator: generator.standard_normal(count, np.float64)
        )
    return _in_parts(
        np.dtype(np.float32), shape, draw, lambda count, generator: generator.standard_normal(count, np.float32)
    )


def _in_parts(
    dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator, make: Callable[[int, Generator], Array]
) -> Array:
    """Independent elements. Many of them are made by all processors, each part by a generator of its own."""
    size = prod(shape)
    if size <= _PART:
        return make(size, draw).reshape(shape)
    values = np.empty(size, dtype)
    starts = range(0, size, _PART)

    def fill(start: int, generator: Generator) -> None:
        part = values[start : start + _PART]
        part[...] = make(part.size, generator)

    seeds = draw.bit_generator.seed_seq.spawn(len(starts))  # type: ignore[attr-defined]
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(fill, starts, map(np.random.default_rng, seeds)))
    except RuntimeError:  # no thread can be started where addresses are few: one makes the same numbers
        for start, stream in zip(starts, map(np.random.default_rng, seeds), strict=True):
            fill(start, stream)
    return values.reshape(shape)


def _small_integers(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """small whole numbers, so that sums are exact and there is no tolerance to argue about"""
    return draw.integers(-_WHOLE, _WHOLE, shape, endpoint=True)


def _equal(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """one value everywhere: rounding errors all point the same way"""
    return np.full(shape, draw.uniform(0.05, 0.95))


def _cancellation(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """large numbers whose sum is small, of both signs"""
    flat = draw.uniform(500.0, 1000.0, int(np.prod(shape)))
    flat[1::2] = -flat[0::2][: flat[1::2].size]
    return (flat + draw.uniform(-0.5, 0.5, flat.size)).reshape(shape)


def _spikes(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """mostly small numbers with a few huge ones: a prefix sum that is scaled back fails"""
    values = draw.uniform(-1.0, 1.0, shape)
    spikes = draw.random(shape) < 0.02
    return np.where(spikes, draw.choice([-_SPIKE, _SPIKE], shape), values)


def _denormal(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """numbers about the smallest normal float: below it, or with sums that are, lost where a kernel flushes to zero"""
    return draw.uniform(-2.0, 2.0, shape) * float(np.finfo(dtype).smallest_normal)


def _small(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """small numbers of one scale, far from denormal: who adds a constant or counts in steps loses them"""
    values: Array = draw.standard_normal(shape) * float(np.finfo(dtype).smallest_normal) ** draw.uniform(0.2, 0.4)
    return values


def _infinite(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """infinities of one sign at both ends, or one anywhere: sums are infinite, who takes one from another has NaN"""
    return _with_infinities(shape, draw, np.inf)


def _infinite_below(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """the same below zero"""
    return _with_infinities(shape, draw, -np.inf)


def _with_infinities(shape: tuple[int, ...], draw: np.random.Generator, value: float) -> Array:
    values = _with_one(draw, shape, value)
    if (
        values.ndim > 1 and values.size
    ):  # and in every other row: what a tile still holds from the one before shows there
        rows = values.reshape(-1, shape[-1])
        some = np.flatnonzero(draw.random(len(rows)) < 0.5)
        rows[some, draw.integers(shape[-1], size=some.size)] = value
    ends = draw.random() < 0.75 or values.size > _LARGE  # the first is what many begin with, tails read the last again
    if values.size > 1 and ends:
        values.flat[[0, -1]] = value
    return values


def _opposed(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """one infinity of each sign, which add up to NaN: who counts them, or takes the last, has one of them"""
    values = draw.standard_normal(shape)
    if values.size > 1:
        first = int(draw.integers(values.size))
        values.flat[[first, first - int(draw.integers(1, values.size))]] = np.inf, -np.inf
    return values


def _not_a_number(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """one NaN or one in a hundred, among numbers and zeros: who sorts by sign, compares or leaves zeros out loses it"""
    values = _half_zeros(dtype, shape, draw)
    if draw.random() < 0.5:  # many meet every other value somewhere; a single one is not made up for by another
        values = np.where(draw.random(shape) < 0.01, np.nan, values)
    return _with_one(draw, shape, np.nan, values)


def _with_one(draw: np.random.Generator, shape: tuple[int, ...], value: float, base: Array | None = None) -> Array:
    values = draw.standard_normal(shape) if base is None else base
    if values.size:
        values.flat[(0, values.size - 1, int(draw.integers(values.size)))[draw.integers(3)]] = value
    return values


def _zeros(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """nothing but zeros, or zeros over whole tiles: who divides by the largest or waits for another value fails"""
    values = draw.standard_normal(shape)
    if draw.random() < 0.5:
        return np.zeros(shape)
    start = draw.integers(0, max(1, values.size // 4), endpoint=True)
    values.flat[start : start + values.size // 2] = 0.0
    return values


def _nonfinite(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """a few Inf and NaN in one array, and zeros that they are multiplied with"""
    values = _half_zeros(dtype, shape, draw)  # 0 · Inf is NaN, also for who leaves the zeros out
    chosen = draw.random(shape) < 0.01
    values = np.where(chosen, draw.choice([np.inf, -np.inf, np.nan], shape), values)
    if values.size:
        values.flat[draw.integers(values.size, size=2)] = draw.choice([np.inf, -np.inf])
    return values


def _half_zeros(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """numbers, half of them zeros"""
    return np.where(draw.random(shape) < 0.5, 0.0, draw.standard_normal(shape))


def _only_zeros(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """zeros, so that whole tiles may be left out by who thinks that they change nothing"""
    return np.zeros(shape)


def _positive(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """numbers above zero"""
    values: Array = np.abs(draw.standard_normal(shape))
    return values


def _unbounded(dtype: np.dtype[Any], shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """Inf, -Inf or NaN"""
    values: Array = draw.choice([np.inf, -np.inf, np.nan], shape)
    return values


def any_bits(shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    """float32 of every pattern of bits, for problems that move them. Half are both zeros, ends of the denormals, Inf
    and NaNs with payloads, signalling ones too; the others are anything.
    """
    named = np.array([0x80000000, 0, 1, 0x807FFFFF, 0x7FC12345, 0xFF812345, 0x7F800000], np.uint32)
    patterns = draw.integers(0, 1 << 32, shape, np.uint32)
    bits: Array = np.where(draw.random(shape) < 0.5, draw.choice(named, shape), patterns).view(np.float32)
    return bits


_FLOATS: dict[str, Callable[[np.dtype[Any], tuple[int, ...], np.random.Generator], Array]] = {
    "normal": _normal,
    "whole": _small_integers,
    "equal": _equal,
    "cancellation": _cancellation,
    "spikes": _spikes,
    "small": _small,
    "denormal": _denormal,
    "zeros": _zeros,
    "nonfinite": _nonfinite,
    "infinite": _infinite,
    "opposed": _opposed,
    "not a number": _not_a_number,
}

_BESIDE: dict[str, Callable[[np.dtype[Any], tuple[int, ...], np.random.Generator], Array]] = {
    "half zeros": _half_zeros,
    "zeros only": _only_zeros,
    "positive": _positive,
    "infinite below": _infinite_below,
    "infinite or NaN": _unbounded,
}

GENERAL_KINDS: dict[str, str] = {name: make.__doc__ or "" for name, make in _FLOATS.items()}
"""Kinds of data that every problem of floats has, by name, with what each is for."""
