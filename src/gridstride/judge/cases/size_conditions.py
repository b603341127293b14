"""Where a kernel's own text decides by a size: `if (n > 65536 && n % 16 == 0)`, read from its PTX.

Past such a branch lies code that is run at these sizes only, so every kind of data, tail and address belongs there as
it does elsewhere. What is followed is whole-number arithmetic on the launch's parameters, its grid and block, and
constants; a register that is set twice, or from a thread's place or from memory, is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"-?\d+|0[xX][0-9a-fA-F]+U?")
INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(.+?)\s*;", re.MULTILINE)
_PARAMETER = re.compile(r"\[\w+_param_(\d+)\]")
ENTRY = re.compile(r"\.entry[^{]*\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"p\d{1,2}")
VARIABLE = re.compile(r"p\d{1,2}|[gb][0-2]")
_OF_LAUNCH = {f"%{register}.{axis}": f"{letter}{number}" for register, letter in (("nctaid", "g"), ("ntid", "b"))
              for number, axis in enumerate("xyz")}  # fmt: skip
MOST_TOKENS = 32  # tokens of an expression: what people compare is shorter
_MOST = 24  # conditions of a kernel that are looked at
_LEAST_DIFFERENCE, _MOST_DIFFERENCES = 32, 4  # smaller sizes are all run, and a kernel has few others
_GROWTH = 1.2  # from one size that is tried to the next
_WIDER = {f"{sign}{bits}": 2 * bits for bits in (8, 16, 32) for sign in "su"}

Token = int | str
Values = npt.NDArray[Any]
BINARY: dict[str, Callable[[Values, Values], Values]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "hi": lambda a, b: _high(a, b),
    "div": lambda a, b: _quotient(a, b),
    "rem": lambda a, b: a - b * _quotient(a, b),
    "shl": lambda a, b: a << np.minimum(b, 63),
    "shr": lambda a, b: a >> np.minimum(b, 63),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": np.minimum,
    "max": np.maximum,
}
_UNARY: dict[str, Callable[[Values], Values]] = {
    "as": lambda a: a,
    "neg": lambda a: -a,
    "not": lambda a: ~a,
    "popc": lambda a: np.bitwise_count(a).astype(a.dtype),
}
_COMPARISONS: dict[str, Callable[[Values, Values], Values]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
ORDERS = frozenset({"lt", "le", "gt", "ge"})  # comparisons that change once, where what is compared grows
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_TYPES = tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "su")


@dataclass(frozen=True, slots=True)
class SizeCondition:
    """A comparison of two expressions in reverse Polish notation.

    "p2" is the launch's third argument, "g0" its blocks along x, "b1" its threads along y; whole numbers stand for
    themselves, `add.s32` takes two and `popc.u32` takes one. `type` is that of the comparison: s32, u32, s64 or u64.
    """

    left: tuple[Token, ...]
    comparison: str
    type: str
    right: tuple[Token, ...]

    def __post_init__(self) -> None:
        for expression in (self.left, self.right):
            if not is_expression(expression):
                raise ValueError(f"{expression} is no expression")
        if self.comparison not in _COMPARISONS or self.type not in _TYPES:
            raise ValueError(f"{self.comparison}.{self.type} is no comparison")

    @property
    def variables(self) -> frozenset[str]:
        """What it is about: "p2", "g0", "b1"."""
        return frozenset(token for token in self._tokens if isinstance(token, str) and VARIABLE.fullmatch(token))

    @property
    def constants(self) -> frozenset[int]:
        """Whole numbers that it names."""
        return frozenset(token for token in self._tokens if isinstance(token, int))

    @property
    def _tokens(self) -> tuple[Token, ...]:
        return (*self.left, *self.right)

    def true_of(self, values: Mapping[str, Values]) -> Values:
        """Where it is true of these values of its variables, each an array of int64 of one length."""
        with np.errstate(over="ignore"):
            sides = (_as(evaluated(operand, values), self.type) for operand in (self.left, self.right))
            return np.asarray(_COMPARISONS[self.comparison](*sides), bool)

    def moved(self, positions: Sequence[int | None]) -> SizeCondition | None:
        """The same by other places: `places[i]` is where argument i stands; None where it stands nowhere."""
        left, right = (moved_expression(expression, positions) for expression in (self.left, self.right))
        return SizeCondition(left, self.comparison, self.type, right) if left and right else None


def size_conditions(ptx: str) -> tuple[SizeCondition, ...]:
    """Those of a module's first kernel."""
    entry = ENTRY.search(ptx)
    lines = INSTRUCTION.findall(entry[1]) if entry else []
    values = register_values(lines)
    conditions: dict[SizeCondition, None] = {}
    for opcode, operands in lines:
        name, *forms = opcode.split(".")
        if name != "setp" or len(forms) != 2 or len(conditions) == _MOST:
            continue
        comparison, kind = _UNSIGNED.get(forms[0], forms[0]), forms[-1].replace("b", "u")
        sides = [operand_value(operand, values) for operand in operands.split(", ")[1:3]]
        if comparison in _COMPARISONS and kind in _TYPES and all(sides):
            conditions[SizeCondition(sides[0], comparison, kind, sides[1])] = None
    return tuple(condition for condition in (*conditions, *_differences(lines, values)) if condition.variables)


def _differences(lines: Sequence[tuple[str, str]], values: Mapping[str, tuple[Token, ...]]) -> Iterator[SizeCondition]:
    """Where a parameter itself is held against a number by arithmetic, `n ^ 12345` or `n - 12345`: what is 0 for one
    size alone, and may decide something, is as good as a comparison.
    """
    conditions: dict[SizeCondition, None] = {}
    for opcode, operands in lines:
        name, kind = opcode.split(".")[0], opcode.split(".")[-1].replace("b", "u")
        operand_tokens = [operand_value(operand, values) for operand in operands.split(", ")[1:]]
        if name not in ("xor", "sub", "add") or len(operand_tokens) != 2 or kind not in _TYPES:
            continue
        for first, second in (operand_tokens, operand_tokens[::-1]):
            size = [condition for condition in first if not str(condition).startswith("as.")]
            if len(size) == 1 and _PLACE.fullmatch(str(size[0])) and len(second) == 1 and isinstance(second[0], int):
                number = -second[0] if name == "add" else second[0]
                if number > _LEAST_DIFFERENCE:
                    conditions[SizeCondition(first, "eq", kind, (number,))] = None
    yield from list(conditions)[:_MOST_DIFFERENCES]


def changes(condition: Callable[[int], bool], most: int) -> list[int]:
    """The sizes up to `most` after which a condition is another one."""
    points = [1]
    while points[-1] < most:
        points.append(min(most, max(points[-1] + 1, int(points[-1] * _GROWTH))))
    thresholds = []
    for low, high in pairwise(points):
        outcome = condition(low)
        if outcome == condition(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if condition(middle) == outcome else (low, middle)
        thresholds.append(low)
    return thresholds


# -- what registers hold -----------------------------------------------------------------------------------------------
def register_values(lines: Sequence[tuple[str, str]]) -> dict[str, tuple[Token, ...]]:
    """Registers that hold arithmetic on parameters; those that are set more than once are left out."""
    values: dict[str, tuple[Token, ...]] = {}
    assigned: set[str] = set()
    for opcode, operands in lines:
        target, _, sources = operands.partition(", ")
        if target in assigned:
            values.pop(target, None)
            continue
        assigned.add(target)
        if tokens := _result_expression(opcode.split("."), sources, values):
            values[target] = tokens
    return values


def _result_expression(
    opcode: Sequence[str], operands: str, values: Mapping[str, tuple[Token, ...]]
) -> tuple[Token, ...]:
    """What an instruction leaves, as an expression; nothing where it is not followed."""
    name, forms = opcode[0], opcode[1:]
    kind = forms[-1].replace("b", "u") if forms else ""
    if name == "ld" and forms[:1] == ["param"] and kind in _TYPES:
        parameter = _PARAMETER.match(operands)
        return (f"p{int(parameter[1])}", f"as.{kind}") if parameter and int(parameter[1]) < 100 else ()
    operand_tokens = [operand_value(operand, values) for operand in operands.split(", ")]
    if not all(operand_tokens) or kind not in _TYPES:
        return ()
    if name in ("mov", "cvt") and len(operand_tokens) == 1:
        return _short((*operand_tokens[0], f"as.{kind}")) if len(forms) == 2 else operand_tokens[0]
    if name in ("mul", "mad"):
        product = _product(forms, kind, operand_tokens)
        wide = "wide" in forms
        if name == "mul" or not product:
            return product
        return _short((*product, *operand_tokens[2], f"add.{kind[0]}{_WIDER[kind]}" if wide else f"add.{kind}"))
    if name in BINARY and len(operand_tokens) == 2 and len(forms) == 1:
        return _short((*operand_tokens[0], *operand_tokens[1], f"{name}.{kind}"))
    if name in _UNARY and len(operand_tokens) == 1 and len(forms) == 1:
        return _short((*operand_tokens[0], f"{name}.{kind}"))
    return ()


def _product(forms: Sequence[str], kind: str, factors: Sequence[tuple[Token, ...]]) -> tuple[Token, ...]:
    """A register's worth of a product: its low half, its high one, or all of it in a register twice as wide."""
    first, second = factors[0], factors[1]
    if "wide" in forms:
        wide = f"mul.{kind[0]}{_WIDER[kind]}" if kind in _WIDER else ""
        return _short((*first, f"as.{kind}", *second, f"as.{kind}", wide)) if wide else ()
    if "hi" not in forms:
        return _short((*first, *second, f"mul.{kind}"))
    if kind in _WIDER:
        product = _product(["wide"], kind, factors)
        return _short((*product, int(kind[1:]), f"shr.{kind[0]}{_WIDER[kind]}")) if product else ()
    return _short((*first, *second, f"hi.{kind}"))


def _short(expression: tuple[Token, ...]) -> tuple[Token, ...]:
    return expression if len(expression) <= MOST_TOKENS else ()


def operand_value(operand: str, values: Mapping[str, tuple[Token, ...]]) -> tuple[Token, ...]:
    """The expression that an instruction's operand is; nothing where it is not followed."""
    text = operand.strip()
    if _WORD.fullmatch(text):
        return (int(text.rstrip("U"), 0),)
    return (_OF_LAUNCH[text],) if text in _OF_LAUNCH else values.get(text, ())


def moved_expression(expression: tuple[Token, ...], positions: Sequence[int | None]) -> tuple[Token, ...]:
    """The same by other places: `positions[i]` is where argument i stands; nothing where one stands nowhere."""
    arguments = {int(token[1:]) for token in expression if isinstance(token, str) and _PLACE.fullmatch(token)}
    if any(argument >= len(positions) or positions[argument] is None for argument in arguments):
        return ()
    moved = {f"p{argument}": f"p{positions[argument]}" for argument in arguments}
    return tuple(moved.get(token, token) if isinstance(token, str) else token for token in expression)


# -- what an expression comes to ---------------------------------------------------------------------------------------
def is_expression(tokens: tuple[Token, ...]) -> bool:
    """Whether they are an expression in reverse Polish notation, of known variables and operations."""
    depth = 0
    for token in tokens:
        name, _, kind = token.partition(".") if isinstance(token, str) else ("", "", "")
        if isinstance(token, int) or VARIABLE.fullmatch(token):
            depth += 1
        elif kind not in _TYPES or (name not in BINARY and name not in _UNARY):
            return False
        else:
            depth -= name in BINARY
        if depth < 1:
            return False
    return depth == 1 and len(tokens) <= MOST_TOKENS


def evaluated(expression: tuple[Token, ...], values: Mapping[str, Values]) -> Values:
    """What it comes to for these values of its variables, each an array of int64 of one length."""
    stack: list[Values] = []
    for token in expression:
        if isinstance(token, int):
            stack.append(np.array([_wrapped(token)], np.int64))
        elif token in values:
            stack.append(values[token])
        else:
            name, kind = token.split(".")
            right = _as(stack.pop(), kind)
            result = _UNARY[name](right) if name in _UNARY else BINARY[name](_as(stack.pop(), kind), right)
            stack.append(_as(result.view(np.int64), kind).view(np.int64))
    return stack[0]


def _as(values: Values, kind: str) -> Values:
    """As a register of that type holds them."""
    bits = int(kind[1:])
    if kind[0] == "s":
        return (values << (64 - bits)) >> (64 - bits)
    return (values & ((1 << bits) - 1)).view(np.uint64) if bits < 64 else values.view(np.uint64)


def _high(a: Values, b: Values) -> Values:
    """The high half of a product of 128 bits; by halves, since there is no number of that length."""
    first, second = a.view(np.uint64), b.view(np.uint64)
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    crossed = (first >> high) * (second & low) + (((first & low) * (second & low)) >> high)
    middle = (first & low) * (second >> high) + (crossed & low)
    result: Values = (first >> high) * (second >> high) + (crossed >> high) + (middle >> high)
    if a.dtype == np.uint64:
        return result
    signed: Values = result.view(np.int64) - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)
    return signed


def _quotient(a: Values, b: Values) -> Values:
    """Rounded towards zero; 0 where it divides by nothing."""
    divisor = np.where(b == 0, 1, b).astype(a.dtype)
    quotient = np.abs(a) // np.abs(divisor) if a.dtype == np.int64 else a // divisor
    signed = np.where((a < 0) != (divisor < 0), -quotient, quotient) if a.dtype == np.int64 else quotient
    return np.where(b == 0, 0, signed).astype(a.dtype)


def _wrapped(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value
