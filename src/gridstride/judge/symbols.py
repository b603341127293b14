"""Arithmetic over a problem's sizes: `ceil(N/16)`, `min(ceil(n/256), 8*SMS)`, `2*M*N*K`.

A kernel file is anybody's, so its expressions are read as a small language of whole numbers and never handed to Python.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction

_LONGEST = 200  # characters: enough for any launch shape, and it bounds the work and the size of the numbers

_Exact = int | Fraction  # whole numbers stay ints, which are faster: a verdict evaluates 20,000 expressions
_BINARY: dict[type[ast.operator], Callable[[_Exact, _Exact], _Exact]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: Fraction,  # exact
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., _Exact]] = {"ceil": math.ceil, "min": min, "max": max}


class ExpressionError(ValueError):
    """An expression that is not arithmetic over the known sizes; the message says what is wrong with it."""


def evaluate(text: str, symbols: Mapping[str, int]) -> int:
    """Value of `text`, exactly. ExpressionError for anything but a whole number."""
    value = _value(_parse(text), text, symbols)
    if value.denominator != 1:
        raise ExpressionError(f"{text} is {_short(value)}, not a whole number: write ceil({text}) or use //")
    return int(value)


def _short(value: _Exact) -> str:
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "beyond all numbers"


def names(text: str) -> frozenset[str]:
    """The sizes that `text` speaks of."""
    called = set(_FUNCTIONS)
    return frozenset(node.id for node in ast.walk(_parse(text)) if isinstance(node, ast.Name)) - called


@functools.lru_cache(1024)  # a verdict evaluates the same few a thousand times
def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ExpressionError(f"an expression of {len(text)} characters is too long (at most {_LONGEST})")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text.strip()!r} is not an expression such as ceil(N/16)") from error


def _value(node: ast.expr, text: str, symbols: Mapping[str, int]) -> _Exact:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return _symbol(name, text, symbols)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, text, symbols)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _combine(type(op), _value(left, text, symbols), _value(right, text, symbols), text)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS and arguments:
            return _call(name, [_value(argument, text, symbols) for argument in arguments], text)
    supported = "+ - * / // %, ceil, min, max"
    written = ast.get_source_segment(text.strip(), node) or text  # as it stands there: 1e400 is infinity when unparsed
    raise ExpressionError(f"{written} in {text} is not understood: only whole numbers, sizes and {supported} are")


def _symbol(name: str, text: str, symbols: Mapping[str, int]) -> _Exact:
    if name not in symbols:
        raise ExpressionError(f"{name} in {text} is no size of this problem (sizes: {', '.join(sorted(symbols))})")
    value = symbols[name]
    return value if type(value) is int else Fraction(value)  # NumPy's would wrap


def _combine(op: type[ast.operator], left: _Exact, right: _Exact, text: str) -> _Exact:
    try:
        return _BINARY[op](left, right)
    except ZeroDivisionError:
        raise ExpressionError(f"{text} divides by zero") from None


def _call(name: str, arguments: list[_Exact], text: str) -> _Exact:
    if name == "ceil" and len(arguments) != 1:
        raise ExpressionError(f"ceil takes one value, {len(arguments)} are given in {text}")
    return _FUNCTIONS[name](*arguments)
