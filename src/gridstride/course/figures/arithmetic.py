"""Arithmetic over named numbers, as lessons write figures: `2 * fp32 * multiprocessors * clock_mhz / 1e6`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: 0.0 if a == b == 0 else a / b,  # sectors of each request, and there are no requests
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"ceil": math.ceil, "min": min, "max": max}


def names(text: str) -> frozenset[str]:
    """The names that an expression speaks of; ValueError where it is none."""
    identifiers = {node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name)}
    return frozenset(identifiers - set(_FUNCTIONS))


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """Its value; ValueError says what is not understood, not known, or divided by zero."""
    return float(_value(_parsed(text), text, values))


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no expression such as `sectors / requests`") from error


def _value(node: ast.expr, text: str, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name):
            raise ValueError(f"{name} in {text!r} is not known: there are {', '.join(sorted(values))}")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            try:
                return _BINARY[type(op)](_value(left, text, values), _value(right, text, values))
            except ZeroDivisionError:
                raise ValueError(f"{ast.unparse(right)} in {text!r} is 0") from None
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS and arguments:
            return _FUNCTIONS[name](*(_value(argument, text, values) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)} in {text!r} is not understood: numbers, names, + - * /, ceil, min, max are")
