"""Products of 32 bits with a size or a launch's extent in them, found in a kernel's PTX: what a larger size may wrap.

`blockIdx.x * n / gridDim.x`, where a block's share begins, is right at every small size. Here each product has an upper
bound by the launch's arguments and extents. Whether 32 bits hold it at a size that can be run, and what comes of it
there, is for a run to say (cases/product_cases.py): a hash wraps and is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gridstride.judge.cases.size_conditions import (
    BINARY,
    INSTRUCTION,
    MOST_TOKENS,
    Token,
    is_expression,
    moved_expression,
    operand_value,
    register_values,
)
from gridstride.judge.header import LaunchShape

MOST = 32  # products of a kernel that are looked at
HELD = (1 << 31) - 1
"""The largest number that 32 bits hold with a sign: an unsigned one goes twice as far, and a quotient has either."""

_ENTRY = re.compile(r"\.entry[^(]*\((.*?)\)", re.DOTALL)
_WHOLE = re.compile(r"\.param \.[usb]32 \w+_param_(\d+)")
_BODY = re.compile(r"\.(entry|func)[^{;]*\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_LOC = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)")
_PRODUCT = re.compile(r"(?:mul|mad)\.lo\.[sub]32$")
_SHIFT = "shl.b32"
_OF_HASHES = 1 << 20
"""Who multiplies by a number as large means to lose what 32 bits do not hold."""
_SIZE = re.compile(r"[pg]\d+$")
_GRID: tuple[Token, ...] = ("g0", "g1", "mul.s64", "g2", "mul.s64")
_BOUNDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - min(b, 0),
    "mul": lambda a, b: abs(a * b),
    "hi": lambda a, b: abs(a * b) >> 32,
    "div": lambda a, b: abs(a) // max(abs(b), 1),
    "rem": lambda a, b: min(abs(a), max(abs(b) - 1, 0)),
    "shl": lambda a, b: a << min(max(b, 0), 63),
    "shr": lambda a, b: a >> min(max(b, 0), 63),
    "and": lambda a, b: max(a, b) if min(a, b) < 0 else min(a, b),
    "or": lambda a, b: abs(a) + abs(b),
    "xor": lambda a, b: abs(a) + abs(b),
    "min": min,
    "max": max,
}
"""Upper bounds of what operations make of operands that are bounds, too, or constants, which alone may be negative
(`n & -4`); those with one operand keep it.
"""
if _BOUNDS.keys() != BINARY.keys():
    raise AssertionError(f"operations without a bound, or bounds of none: {_BOUNDS.keys() ^ BINARY.keys()}")


@dataclass(frozen=True, slots=True)
class SizeProduct:
    """A product on a source line (0: unknown) and what it can be at most: an expression as in `SizeCondition`."""

    line: int
    most: tuple[Token, ...]

    def __post_init__(self) -> None:
        if not is_expression(self.most):
            raise ValueError(f"{self.most} is no expression")

    def moved(self, positions: Sequence[int | None]) -> SizeProduct | None:
        """The same by other places, as `SizeCondition.moved`."""
        expression = moved_expression(self.most, positions)
        return replace(self, most=expression) if expression else None

    def wraps(self, shape: LaunchShape, sizes: Mapping[str, int]) -> bool:
        """Whether 32 bits may not hold it in a launch; `sizes`: the whole numbers among its arguments, "p2"."""
        return self.largest(shape, sizes) > HELD

    def largest(self, shape: LaunchShape, sizes: Mapping[str, int]) -> int:
        """What it can be at most; 0 where an argument is none of the sizes."""
        values = {**sizes, **{f"g{i}": n for i, n in enumerate(shape.grid)}}
        values |= {f"b{i}": n for i, n in enumerate(shape.block)}
        stack: list[int] = []
        for token in self.most:
            if isinstance(token, int):
                stack.append(token)
            elif token in values:
                stack.append(values[token])
            elif "." not in token:
                return 0
            elif (name := token.partition(".")[0]) in BINARY:
                right = stack.pop()
                stack.append(_BOUNDS[name](stack.pop(), right))
        return stack[0]


def size_products(ptx: str) -> tuple[SizeProduct, ...]:
    """Those of a module. A block's and a thread's number count as how many there are, and a factor that is not
    followed, such as a ticket, as up to the grid, and beside a block's number or in a function as any size.
    """
    products_by_most: dict[tuple[Token, ...], SizeProduct] = {}
    entry = _ENTRY.search(ptx)
    size_indices = [int(index) for index in _WHOLE.findall(entry[1])] if entry else []
    for kind, body in _BODY.findall(ptx):
        for product in _products(body, size_indices) if kind == "entry" else _products_of_function(body, size_indices):
            products_by_most.setdefault(product.most, product)
    return tuple(products_by_most.values())[:MOST]


def _products(body: str, size_indices: Iterable[int]) -> Iterator[SizeProduct]:
    body = body.replace("%ctaid.", "%nctaid.").replace("%tid.", "%ntid.")
    values = register_values(INSTRUCTION.findall(body))
    for line, operands in _factors(body):
        first, second = (
            (operand,) if isinstance(operand, int) else operand_value(operand, values) for operand in operands
        )
        index_factor = first or second
        if not first and isinstance(operands[1], int):
            continue  # packs bytes, or makes a float's exponent
        products = [(*(first or _GRID), *(second or _GRID), "mul.s64")]
        if not (first and second) and "g0" in index_factor:
            products += [(*index_factor, f"p{index}", "mul.s64") for index in size_indices]
        for most in products:
            if any(_SIZE.match(str(token)) for token in most) and len(most) <= MOST_TOKENS:
                yield SizeProduct(line, most)


def _products_of_function(body: str, size_indices: Iterable[int]) -> Iterator[SizeProduct]:
    for line, operands in _factors(body):
        if not any(isinstance(operand, int) for operand in operands):
            yield from (SizeProduct(line, (f"p{index}", *_GRID, "mul.s64")) for index in size_indices)


def _factors(body: str) -> Iterator[tuple[int, tuple[str | int, str | int]]]:
    """Of each product its line and its factors, registers or numbers."""
    line = 0
    for text in body.splitlines():
        if location := _LOC.match(text):
            line = int(location[1]) or line
        instruction = INSTRUCTION.match(text)
        if instruction is None:
            continue
        _, first, second, *_ = (*(operand.strip() for operand in instruction[2].split(",")), "", "")
        if instruction[1] == _SHIFT and second.isdecimal() and int(second) < 32:
            yield line, (first, 1 << int(second))
        elif _PRODUCT.match(instruction[1]):
            number = int(second) if second.lstrip("-").isdecimal() else second
            if not isinstance(number, int) or abs(number) < _OF_HASHES:
                yield line, (first, number)
