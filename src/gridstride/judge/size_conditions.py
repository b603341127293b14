"""Where a kernel's own text decides by a size: `if (n > 65536)`, read from its PTX.

Past such a branch lies code that is run at these sizes only, so every kind of data, tail and address belongs there as
it does elsewhere. What is followed is whole-number arithmetic on the launch's parameters and constants; a register that
is set twice, or from a thread's place or from memory, is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_WORD = re.compile(r"-?\d+|0[xX][0-9a-fA-F]+U?")
_INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(.+?)\s*;", re.MULTILINE)
_PARAMETER = re.compile(r"\[\w+_param_(\d+)\]")
_ENTRY = re.compile(r"\.entry[^{]*\{(.*?)^\}", re.MULTILINE | re.DOTALL)
MOST_TOKENS = 24  # tokens of an expression: what people compare is shorter
_MOST = 12  # conditions of a kernel that are looked at
_GROWTH = 1.2  # from one size that is tried to the next

Token = int | str
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << min(b, 63),
    "shr": lambda a, b: a >> min(b, 63),
    "div": lambda a, b: a // b if b > 0 else 0,
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


@dataclass(frozen=True, slots=True)
class SizeCondition:
    """A comparison of an expression with a constant.

    `expression` is in reverse Polish notation: "p2" is the launch's third argument, whole numbers stand for themselves,
    and `add32` takes two. `type` is that of the comparison: s32, u32, s64 or u64.
    """

    expression: tuple[Token, ...]
    comparison: str
    type: str
    constant: int

    def __post_init__(self) -> None:
        words = {f"{name}{bits}" for name in _OPERATIONS for bits in (32, 64)}
        known = all(
            isinstance(each, int) or each in words or re.fullmatch(r"p\d{1,2}", each) for each in self.expression
        )
        depth = 0
        for each in self.expression:
            depth += -1 if isinstance(each, str) and each in words else 1
            known &= depth > 0
        if not known or depth != 1 or len(self.expression) > MOST_TOKENS:
            raise ValueError(f"{self.expression} is no expression")
        if self.comparison not in _COMPARISONS or self.type not in ("s32", "u32", "s64", "u64"):
            raise ValueError(f"{self.comparison}.{self.type} is no comparison")

    @property
    def parameters(self) -> frozenset[int]:
        """Places of the arguments that it is about."""
        return frozenset(int(each[1:]) for each in self.expression if isinstance(each, str) and each[0] == "p")

    def holds(self, arguments: Mapping[int, int]) -> bool:
        """Whether it is true for these arguments, by place."""
        stack: list[int] = []
        for each in self.expression:
            if isinstance(each, int):
                stack.append(each)
            elif each[0] == "p":
                stack.append(arguments[int(each[1:])])
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(_wrapped(_OPERATIONS[each[:-2]](left, right), f"s{each[-2:]}"))
        sides = _wrapped(stack[0], self.type), _wrapped(self.constant, self.type)
        return _COMPARISONS[self.comparison](*sides)

    def moved(self, places: Sequence[int | None]) -> SizeCondition | None:
        """The same by other places: `places[i]` is where argument i stands; None where it stands nowhere."""
        if any(each >= len(places) or places[each] is None for each in self.parameters):
            return None
        tokens = (f"p{places[int(t[1:])]}" if isinstance(t, str) and t[0] == "p" else t for t in self.expression)
        return SizeCondition(tuple(tokens), self.comparison, self.type, self.constant)


def size_conditions(ptx: str) -> tuple[SizeCondition, ...]:
    """Those of a module's first kernel."""
    entry = _ENTRY.search(ptx)
    lines = _INSTRUCTION.findall(entry[1]) if entry else []
    values = _values(lines)
    found: dict[SizeCondition, None] = {}
    for opcode, operands in lines:
        name, *forms = opcode.split(".")
        if name != "setp" or len(forms) < 2 or len(found) == _MOST:
            continue
        comparison, kind = _UNSIGNED.get(forms[0], forms[0]), forms[-1].replace("b", "u")
        sides = [_value(each, values) for each in operands.split(", ")[1:3]]
        if comparison in _COMPARISONS and kind in ("s32", "u32", "s64", "u64") and all(sides):
            left, right = sides
            if isinstance(right[0], int) and len(right) == 1:
                found[SizeCondition(left, comparison, kind, right[0])] = None
    return tuple(each for each in found if each.parameters)


def changes(condition: Callable[[int], bool], most: int) -> list[int]:
    """The sizes up to `most` after which a condition is another one."""
    tried = [1]
    while tried[-1] < most:
        tried.append(min(most, max(tried[-1] + 1, int(tried[-1] * _GROWTH))))
    found = []
    for low, high in pairwise(tried):
        before = condition(low)
        if before == condition(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if condition(middle) == before else (low, middle)
        found.append(low)
    return found


def _values(lines: Sequence[tuple[str, str]]) -> dict[str, tuple[Token, ...]]:
    """Registers that hold arithmetic on parameters; those that are set more than once are left out."""
    values: dict[str, tuple[Token, ...]] = {}
    known: set[str] = set()
    for opcode, operands in lines:
        target, _, rest = operands.partition(", ")
        if target in known:
            values.pop(target, None)
            continue
        known.add(target)
        if made := _made(opcode.split("."), rest, values):
            values[target] = made
    return values


def _made(opcode: Sequence[str], operands: str, values: Mapping[str, tuple[Token, ...]]) -> tuple[Token, ...]:
    """What an instruction leaves, as an expression; nothing where it is not followed."""
    name, forms = opcode[0], opcode[1:]
    if name == "ld" and forms[:1] == ["param"] and forms[-1:] in (["u32"], ["u64"], ["s32"], ["b32"], ["b64"]):
        place = _PARAMETER.match(operands)
        return (f"p{int(place[1])}",) if place and int(place[1]) < 100 else ()
    given = [_value(each, values) for each in operands.split(", ")]
    if not all(given) or any(form.startswith("f") for form in forms):
        return ()
    bits = "64" if forms and (forms[-1].endswith("64") or "wide" in forms) else "32"
    if name in ("mov", "cvt") and len(given) == 1:
        return given[0]
    if name == "mad" and len(given) == 3 and "hi" not in forms:
        return _short((*given[0], *given[1], f"mul{bits}", *given[2], f"add{bits}"))
    if name in _OPERATIONS and len(given) == 2 and "hi" not in forms:
        return _short((*given[0], *given[1], f"{name}{bits}"))
    return ()


def _short(expression: tuple[Token, ...]) -> tuple[Token, ...]:
    return expression if len(expression) <= MOST_TOKENS else ()


def _value(operand: str, values: Mapping[str, tuple[Token, ...]]) -> tuple[Token, ...]:
    text = operand.strip()
    if _WORD.fullmatch(text):
        return (int(text.rstrip("U"), 0),)
    return values.get(text, ())


def _wrapped(value: int, kind: str) -> int:
    """As a register of that type holds it."""
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value
