"""Answers that a judge must tell from right ones: what a lazy, a narrow or a careless kernel leaves in an output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gridstride.judge.problem import Array, Problem
from gridstride.judge.reference.prepared_cases import PreparedCase


@dataclass(frozen=True, slots=True)
class Imposter:
    """A way to be wrong. `make` gives the outputs for a case, or None where it would be right or has no meaning."""

    name: str
    story: str
    make: Callable[[Problem, PreparedCase], dict[str, Array] | None]


def imposters(problem: Problem) -> Iterator[Imposter]:
    """Those that have a meaning for a problem's dtypes and shapes."""
    yield Imposter("zeros", "a kernel that writes zeros", _changing(np.zeros_like))
    yield Imposter("a constant", "a kernel that writes one value everywhere", _changing(_constant))
    yield Imposter("an input", "a kernel that copies an input of the same shape", _identity)
    most = max(len(p.shape) for p in problem.outputs)
    for axis in range(most):
        along = "" if most == 1 else f" along axis {axis}"
        yield Imposter(f"off by one{along}", f"an index that is one too high{along}", _changing(_shifted(axis)))
        yield Imposter(f"missing tail{along}", f"the last elements{along} left as they were", _changing(_cut(axis)))
    for name, bits in _narrower(problem):
        yield Imposter(name, f"arithmetic in {name}: {bits} fraction bits", _rounded(bits))


def _changing(change: Callable[[Array], Array | None]) -> Callable[[Problem, PreparedCase], dict[str, Array] | None]:
    """The right values of every output, changed; None where that changes nothing."""

    def make(problem: Problem, prepared_case: PreparedCase) -> dict[str, Array] | None:
        right = right_values(problem, prepared_case)
        changed = {name: change(values) for name, values in right.items()}
        outputs = {name: right[name] if new is None else new for name, new in changed.items()}
        return outputs if any(not _equal(outputs[name], right[name]) for name in outputs) else None

    return make


def right_values(problem: Problem, prepared_case: PreparedCase) -> dict[str, Array]:
    """The reference's outputs, in the dtypes of the problem."""
    with np.errstate(all="ignore"):
        return {p.name: prepared_case.expected[p.name].values.astype(p.dtype) for p in problem.outputs}


def _equal(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _constant(values: Array) -> Array | None:
    return np.full_like(values, values.flat[values.size // 2]) if values.size > 1 else None


def _shifted(axis: int) -> Callable[[Array], Array | None]:
    return lambda values: np.roll(values, 1, axis) if axis < values.ndim and values.shape[axis] > 1 else None


def _cut(axis: int) -> Callable[[Array], Array | None]:
    def cut(values: Array) -> Array | None:
        if axis >= values.ndim or values.shape[axis] < 2:
            return None
        truncated = values.copy()
        truncated[(slice(None),) * axis + (-1,)] = 0
        return truncated

    return cut


def _identity(problem: Problem, prepared_case: PreparedCase) -> dict[str, Array] | None:
    right = right_values(problem, prepared_case)
    inputs: Mapping[str, object] = prepared_case.inputs
    for p in problem.outputs:
        for array in inputs.values():
            if isinstance(array, np.ndarray) and array.shape == right[p.name].shape:
                copied = array.astype(p.dtype)
                if not _equal(copied, right[p.name]):
                    return {**right, p.name: copied}
    return None


# -- precision ---------------------------------------------------------------------------------------------------------
_FRACTION_BITS = {
    "float64": {"float32": 23},
    "float32": {"tf32": 10, "bfloat16": 7},
    "float16": {"fp8 (e4m3)": 3},
}


def _narrower(problem: Problem) -> list[tuple[str, int]]:
    """Of less precision than the problem has by its dtypes, and than it allows its products."""
    kinds = [_FRACTION_BITS.get(np.dtype(p.dtype).name, {}) for p in problem.outputs]
    narrower = kinds[0] if kinds and problem.flops != "0" else {}
    return [(name, bits) for name, bits in narrower.items() if name != problem.products]


def _rounded(bits: int) -> Callable[[Problem, PreparedCase], dict[str, Array] | None]:
    """The reference on inputs that were rounded to fewer bits, as tensor cores do with what they are given."""

    def make(problem: Problem, prepared_case: PreparedCase) -> dict[str, Array] | None:
        narrow = {name: round_to(value, bits) for name, value in prepared_case.inputs.items()}
        with np.errstate(all="ignore"):
            values = problem.reference(narrow)
            outputs = {p.name: np.asarray(values[p.name]).astype(p.dtype) for p in problem.outputs}
        right = right_values(problem, prepared_case)
        return outputs if any(not _equal(outputs[name], right[name]) for name in outputs) else None

    return make


def round_to(value: object, bits: int) -> object:
    """Floats in float64, rounded to so many bits after the leading one; anything else as it is."""
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        with np.errstate(all="ignore"):
            fraction, exponent = np.frexp(np.asarray(value, np.float64))
            return np.ldexp(np.rint(fraction * 2.0 ** (bits + 1)) / 2.0 ** (bits + 1), exponent)
    return value
