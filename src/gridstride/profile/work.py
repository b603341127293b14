"""What an operator has to do at least: floating-point operations, and bytes that must move, from its inputs' shapes.

Lower bounds: every input read once, every output written once. Where the shapes do not tell, there is no answer.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from pathlib import Path

from gridstride.profile.trace import Dims, Inputs

_BYTES = {
    "double": 8, "float": 4, "c10::Half": 2, "c10::BFloat16": 2, "long int": 8, "long": 8, "int": 4, "short int": 2,
    "short": 2, "signed char": 1, "unsigned char": 1, "bool": 1, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1,
    "c10::complex<float>": 8, "c10::complex<double>": 16,
    "TensorList": 4,  # the trace does not say of lists what they are of: float32, as parameters are
}  # fmt: skip
_INTEGERS = re.compile(r"-?\d+")


@dataclass(frozen=True, slots=True)
class MinimalWork:
    """Operations and bytes that cannot be saved, and the element type of the arithmetic."""

    flops: float
    bytes: float
    dtype: str


@dataclass(frozen=True, slots=True)
class Family:
    """Operators of one kind."""

    key: str
    name: str


@functools.cache
def _families() -> Mapping[str, Family]:
    data = tomllib.loads((Path(__file__).parent / "operators.toml").read_text())
    return {name: Family(key, entry["name"]) for key, entry in data.items() for name in entry["operators"]}


_OTHER = Family("other", "everything else")


def family(operator: str) -> Family:
    """What kind of operator that is."""
    return _families().get(operator, _OTHER)


def work(operator: str, inputs: Inputs | None) -> MinimalWork | None:
    """The least work of one call; None where nothing is known of it."""
    of = _WORK.get(family(operator).key)
    if of is None or inputs is None or not inputs.types:
        return None
    try:
        return of(operator, inputs)
    except (IndexError, ValueError, TypeError):  # shapes other than the operator's: another version of PyTorch
        return None


def _size(inputs: Inputs, at: int) -> int:
    """Bytes of an element of an input; 0 where it is no tensor."""
    return _BYTES.get(inputs.types[at], 0) if at < len(inputs.types) else 0


def _elements(dims: Dims) -> int:
    """Of a tensor, or of all tensors of a list."""
    if dims and isinstance(dims[0], tuple):
        return sum(prod(dim) for dim in dims)
    return prod(dims)


def _tensors(inputs: Inputs) -> list[tuple[int, int]]:
    """(elements, bytes of one) of every input that is a tensor or a list of tensors."""
    return [(_elements(dims), size) for at, dims in enumerate(inputs.dims) if (size := _size(inputs, at))]


def _read(inputs: Inputs) -> int:
    return sum(elements * size for elements, size in _tensors(inputs))


def _product(operator: str, inputs: Inputs) -> MinimalWork:
    """[…, M, K] times […, K, N]; the added matrix of addmm and the like comes first."""
    first = 1 if operator in _WITH_ADDEND else 0
    a, b = inputs.dims[first], inputs.dims[first + 1]
    size = _size(inputs, first)
    if a[-1] != (b[-2] if len(b) > 1 else b[-1]):
        raise ValueError(f"{operator} of {a} and {b}")
    batch, rows, inner = prod(a[:-2]), (a[-2] if len(a) > 1 else 1), a[-1]
    columns = b[-1] if len(b) > 1 else 1
    moved = _elements(a) * size + _elements(b) * _size(inputs, first + 1) + batch * rows * columns * size
    return MinimalWork(2.0 * batch * rows * inner * columns, moved, inputs.types[first])


_WITH_ADDEND = ("aten::addmm", "aten::baddbmm", "aten::_addmm_activation", "aten::addmv")


def _convolution(operator: str, inputs: Inputs) -> MinimalWork | None:
    if operator == "aten::convolution_backward":
        (out, x, weight), kinds, transposed = inputs.dims[:3], 2, inputs.concrete[7] == "True"
    else:
        x, weight = inputs.dims[:2]
        extents = _extents(operator, inputs)
        if extents is None:
            return None
        out, kinds, transposed = (x[0], weight[0], *extents), 1, False
    if transposed:
        return None
    size = _size(inputs, 0)
    flops = 2.0 * _elements(out) * prod(weight[1:])
    return MinimalWork(
        kinds * flops, kinds * (_elements(x) + _elements(out) + _elements(weight)) * size, inputs.types[0]
    )


def _extents(operator: str, inputs: Inputs) -> tuple[int, ...] | None:
    """Of a convolution's output, by its padding, stride and dilation."""
    if operator not in _CONVOLUTION_ARGUMENTS:
        return None
    x, weight = inputs.dims[:2]
    padding, stride, dilation = (_integers(inputs.concrete[at]) for at in _CONVOLUTION_ARGUMENTS[operator])
    spatial = zip(x[2:], weight[2:], padding, stride, dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, p, s, d in spatial)


# Where padding, stride and dilation stand among the arguments (native_functions.yaml of PyTorch).
_CONVOLUTION_ARGUMENTS = {"aten::mkldnn_convolution": (3, 4, 5), "aten::cudnn_convolution": (2, 3, 4)}


def _integers(text: str) -> list[int]:
    return [int(number) for number in _INTEGERS.findall(text)]


def _attention(operator: str, inputs: Inputs) -> MinimalWork | None:
    """Scores and their product with the values; half of it with a causal mask; backward two and a half times."""
    backward = "backward" in operator
    q, k, v = inputs.dims[1:4] if backward else inputs.dims[:3]
    if not len(q) == len(k) == len(v) == 4:
        return None  # packed sequences of unknown lengths
    heads_last = operator in _HEADS_BEFORE_CHANNELS
    heads, long, keys = (q[2], q[1], k[1]) if heads_last else (q[1], q[2], k[2])
    causal = 0.5 if _causal(operator, inputs.concrete) else 1.0
    scores = 2.0 * q[0] * heads * long * keys * causal
    size = _size(inputs, 1 if backward else 0)
    moved = (_elements(q) * 2 + _elements(k) + _elements(v)) * size
    times = 2.5 if backward else 1.0
    return MinimalWork(
        times * scores * (q[3] + v[3]), (2 if backward else 1) * moved, inputs.types[1 if backward else 0]
    )


def _causal(operator: str, concrete: tuple[str, ...]) -> bool:
    """Whether each position sees only those before it; True where that is unknown, so that the work is the least."""
    at = _CAUSAL.get(operator)
    return at is None or at >= len(concrete) or concrete[at] not in ("False", "0")


# Where is_causal (or the kind of mask) stands among the arguments (native_functions.yaml of PyTorch 2.11).
_CAUSAL = {
    "aten::_scaled_dot_product_flash_attention": 4, "aten::_scaled_dot_product_flash_attention_for_cpu": 4,
    "aten::_scaled_dot_product_efficient_attention": 6, "aten::_scaled_dot_product_cudnn_attention": 6,
    "aten::_flash_attention_forward": 8, "aten::_efficient_attention_forward": 9, "aten::_cudnn_attention_forward": 10,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": 7,
    "aten::_scaled_dot_product_flash_attention_backward": 11, "aten::_flash_attention_backward": 11,
    "aten::_scaled_dot_product_efficient_attention_backward": 11,
    "aten::_scaled_dot_product_cudnn_attention_backward": 14, "aten::_cudnn_attention_backward": 14,
}  # fmt: skip
_HEADS_BEFORE_CHANNELS = (
    "aten::_flash_attention_forward", "aten::_flash_attention_backward",
    "aten::_efficient_attention_forward", "aten::_efficient_attention_backward",
)  # fmt: skip


def _elementwise(operator: str, inputs: Inputs) -> MinimalWork:
    shapes = [dims for at, dims in enumerate(inputs.dims) if _size(inputs, at)]
    out = prod(max(extents) for extents in zip_longest(*map(reversed, shapes), fillvalue=1))
    return MinimalWork(out, _read(inputs) + out * _size(inputs, 0), inputs.types[0])


def _many_tensors(operator: str, inputs: Inputs) -> MinimalWork:
    lists = [dims for dims in inputs.dims if dims and isinstance(dims[0], tuple)]
    elements = _elements(lists[0])
    written = elements * (3 if operator.startswith("aten::_fused_adam") else 0 if operator.endswith("norm") else 1)
    read = sum(_elements(dims) for dims in lists)
    return MinimalWork(elements * len(lists), 4.0 * (read + written), "float")


def _passes(count: float) -> Callable[[str, Inputs], MinimalWork]:
    """Work that is so many times the first tensor's bytes, with an operation or so for each element."""

    def of(operator: str, inputs: Inputs) -> MinimalWork:
        elements, size = _tensors(inputs)[0]
        return MinimalWork(elements, count * elements * size, inputs.types[0])

    return of


def _copy(operator: str, inputs: Inputs) -> MinimalWork:
    """The destination comes first; a broadcast source is read at its own size."""
    return MinimalWork(0.0, _read(inputs), inputs.types[0])


def _concatenation(operator: str, inputs: Inputs) -> MinimalWork:
    return MinimalWork(0.0, 2.0 * _read(inputs), "float")


def _lookup(operator: str, inputs: Inputs) -> MinimalWork | None:
    """Rows of a table; other indices leave the result's shape open."""
    if operator not in ("aten::index_select", "aten::embedding") or inputs.concrete[1] not in ("", "0"):
        return None
    table, rows = inputs.dims[0], inputs.dims[2 if operator == "aten::index_select" else 1]
    return MinimalWork(0.0, 2.0 * prod(rows) * prod(table[1:]) * _size(inputs, 0), inputs.types[0])


_WORK: Mapping[str, Callable[[str, Inputs], MinimalWork | None]] = {
    "matrix_product": _product,
    "convolution": _convolution,
    "attention": _attention,
    "elementwise": _elementwise,
    "many_tensors": _many_tensors,
    "reduction": _passes(1),
    "normalisation": _passes(2),
    "normalisation_backward": _passes(3),
    "copy": _copy,
    "concatenation": _concatenation,
    "fill": _passes(1),
    "lookup": _lookup,
}
