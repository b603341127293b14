"""Where a kernel cuts its work into shares by a product of 32 bits, found in its PTX.

`blockIdx.x * n / gridDim.x`, where a block's share begins, is right for every grid and size that can be run here, and
for the last blocks of the timed size more than 32 bits hold. What else a product may be for (a hash, half of one of 64
bits, a turn of threads within a tile) wraps and is right: it counts where it is divided by as many blocks as there are,
and ahead of every branch, so that all blocks make it. A quotient that is chosen or left by a predicate, or
slept for, says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridstride.judge.cases.size_conditions import (
    ENTRY,
    INSTRUCTION,
    VARIABLE,
    Token,
    evaluated,
    is_expression,
    operand_value,
    register_values,
)

BITS = 32
MOST = 16  # products of a kernel that are looked at
_LOC = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)")
_BLOCK = {f"%ctaid.{axis}": number for number, axis in enumerate("xyz")}
_LOW = re.compile(r"(?:mul|mad)\.lo\.[sub]32$")
_CONSTANT = re.compile(r"\d{1,9}$")
_QUOTIENT = re.compile(r"(?:div|shr)\.[su]32$")
_SELECTION = re.compile(r"\bselp\.\w+\s+%\w+,\s*(%?[\w.]+),\s*(%?[\w.]+),")
_SLEEP = re.compile(r"\bnanosleep\.u32\s+(%\w+)")
_LEAVES = re.compile(r"\s*(?:\$\w+:|(?:@!?%\w+\s+)?(?:bra|brx|ret|exit|trap)\b)")


@dataclass(frozen=True, slots=True)
class BlockProduct:
    """(blockIdx + more) * factor / divisor on a source line: `axis` 0 to 2; factor, of a size, and divisor as in
    `SizeCondition`.
    """

    line: int
    axis: int
    more: int
    factor: tuple[Token, ...]
    divisor: tuple[Token, ...] = ("g0",)

    def __post_init__(self) -> None:
        if (
            not (is_expression(self.factor) and is_expression(self.divisor))
            or self.axis not in (0, 1, 2)
            or self.more < 0
        ):
            raise ValueError(f"{self} is no product of a block's number")

    def moved(self, positions: Sequence[int | None]) -> BlockProduct | None:
        """The same by other places, as `SizeCondition.moved`."""
        tokens = {token for token in (*self.factor, *self.divisor) if _is_argument(token)}
        places = {token: int(str(token)[1:]) for token in tokens}
        if any(place >= len(positions) or positions[place] is None for place in places.values()):
            return None
        factor, divisor = (
            tuple(f"p{positions[places[token]]}" if token in places else token for token in expression)
            for expression in (self.factor, self.divisor)
        )
        return BlockProduct(self.line, self.axis, self.more, factor, divisor)

    @property
    def sizes(self) -> frozenset[str]:
        """The launch's arguments that it is about: "p2"."""
        return frozenset(str(token) for token in self.factor if _is_argument(token))

    def wraps(self, grid: Sequence[int], block: Sequence[int], sizes: Mapping[str, int]) -> int | None:
        """The first block in which it is more than 32 bits hold; None where all are right, or a size is not known."""
        launch = {f"g{axis}": count for axis, count in enumerate(grid)}
        launch |= {f"b{axis}": count for axis, count in enumerate(block)}
        known = {name: np.array([value], np.int64) for name, value in {**sizes, **launch}.items()}
        if not {str(token) for token in (*self.factor, *self.divisor) if _is_argument(token)} <= set(sizes):
            return None
        if int(evaluated(self.divisor, known)[0]) != grid[self.axis]:
            return None  # no share of a block
        factor = int(evaluated(self.factor, known)[0])
        if factor <= 0 or (grid[self.axis] - 1 + self.more) * factor < 1 << BITS:
            return None
        return max(0, -(-(1 << BITS) // factor) - self.more)


def _is_argument(token: Token) -> bool:
    return isinstance(token, str) and token[0] == "p" and VARIABLE.fullmatch(token) is not None


def block_products(ptx: str) -> tuple[BlockProduct, ...]:
    """Those of a module's first kernel."""
    entry = ENTRY.search(ptx)
    return tuple(dict.fromkeys(_products(entry[1])))[:MOST] if entry else ()


def _products(body: str) -> Iterator[BlockProduct]:
    values = register_values(INSTRUCTION.findall(body))
    blocks: dict[str, tuple[int, int]] = {}
    made: dict[str, BlockProduct] = {}
    shares: dict[str, BlockProduct] = {}  # by the register of the quotient
    line = 0
    for text in _first_block(body):
        if location := _LOC.match(text):
            line = int(location[1]) or line
        instruction = INSTRUCTION.match(text)
        if instruction is None:
            continue
        opcode, (target, *operands) = instruction[1], [operand.strip() for operand in instruction[2].split(",")]
        if opcode.startswith("mov.") and operands[0] in _BLOCK:
            blocks[target] = (_BLOCK[operands[0]], 0)
        elif opcode.startswith("add.") and operands[0] in blocks and _CONSTANT.match(operands[1]):
            axis, more = blocks[operands[0]]
            blocks[target] = (axis, more + int(operands[1]))
        elif _LOW.match(opcode):
            for one, other in (operands[:2], operands[1::-1]):
                factor = operand_value(other, values)
                if one in blocks and any(str(token).startswith("p") for token in factor):
                    made[target] = BlockProduct(line, *blocks[one], factor)
        elif _QUOTIENT.match(opcode) and operands[0] in made and (divisor := operand_value(operands[1], values)):
            shares[target] = replace(made[operands[0]], divisor=_as_divisor(opcode, divisor))
    chosen = {name for selection in _SELECTION.findall(body) for name in selection} | {*_SLEEP.findall(body)}
    yield from (product for register, product in shares.items() if register not in chosen)


def _as_divisor(opcode: str, operand: tuple[Token, ...]) -> tuple[Token, ...]:
    """A shift by a constant divides by a power of two; by anything else by nothing that blocks are."""
    if opcode.startswith("div"):
        return operand
    (count,) = operand if len(operand) == 1 else (-1,)
    return (1 << count,) if isinstance(count, int) and 0 <= count < BITS else (0,)


def _first_block(body: str) -> Iterator[str]:
    """The lines that every thread runs: up to the first branch, label or exit."""
    for text in body.splitlines():
        if _LEAVES.match(text):
            return
        yield text
