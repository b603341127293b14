"""Elementwise operators as expressions of CUDA C++: one row for each, from which kernels are generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.graph import Array, Node
from gridstride.frameworks.onnx.onnx_errors import UnsupportedOperator

Attributes = Mapping[str, Any]
Expression = Callable[[Sequence[str], Attributes], str]

C_TYPES: dict[str, str] = {
    "float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16", "float64": "double", "bool": "bool",
    "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short", "int32": "int",
    "uint32": "unsigned int", "int64": "long long", "uint64": "unsigned long long",
}  # fmt: skip
"""Element types that kernels are made for, by NumPy's names; bfloat16 is the package ml_dtypes'."""
_STORED = {"float16": "__half2float(__float2half((float)({})))", "bfloat16": "(float)__float2bfloat16((float)({}))"}
"""What is computed in float: how a number becomes what it would be after it was stored."""
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
"""NumPy counts bfloat16 among the kinds that it knows nothing of."""


def c_type(dtype: np.dtype[Any], what: str) -> str:
    """The type in C++; OnnxError where there is none (float8, int4, strings)."""
    if dtype.name not in C_TYPES:
        raise UnsupportedOperator(f"{what} is {_name(dtype)}: the engine computes in {', '.join(C_TYPES)}")
    return C_TYPES[dtype.name]


def _name(dtype: np.dtype[Any]) -> str:
    return "text" if dtype.kind in "OUS" else dtype.name


def computed_type(dtype: np.dtype[Any], what: str) -> str:
    """The type in which a value is computed."""
    return "float" if dtype.name in _STORED else c_type(dtype, what)


def as_stored(text: str, dtype: np.dtype[Any]) -> str:
    """An expression's value as it is after it was stored as `dtype`."""
    return _STORED.get(dtype.name, "{}").format(text)


def number(value: float) -> str:
    """A constant of type float in C++."""
    if np.isnan(value):
        return "__int_as_float(0x7fc00000)"
    if np.isinf(value):
        return "__int_as_float(0x7f800000)" if value > 0 else "__int_as_float(0xff800000)"
    digits = f"{float(value):.9g}"
    return f"{digits}{'' if 'e' in digits or '.' in digits else '.0'}f"


def _plain(template: str) -> Expression:
    return lambda x, _: template.format(*x)


def _with(template: str, **defaults: float) -> Expression:
    """A template with attributes, each a number with a default."""

    def expression(x: Sequence[str], attributes: Attributes) -> str:
        return template.format(*x, **{name: number(attributes.get(name, value)) for name, value in defaults.items()})

    return expression


def _joined(binary: str) -> Expression:
    """Of any number of operands, from left to right."""

    def expression(x: Sequence[str], _: Attributes) -> str:
        result = x[0]
        for operand in x[1:]:
            result = binary.format(result, operand)
        return result

    return expression


def _mean(x: Sequence[str], _: Attributes) -> str:
    return f"(({' + '.join(x)}) / {len(x)})"


def _gelu(x: Sequence[str], attributes: Attributes) -> str:
    if attributes.get("approximate", "none") == "tanh":
        cubed = f"{x[0]} + 0.044715f * {x[0]} * {x[0]} * {x[0]}"
        return f"(0.5f * {x[0]} * (1.0f + tanhf(0.797884561f * ({cubed}))))"
    return f"(0.5f * {x[0]} * (1.0f + erff({x[0]} * 0.707106781f)))"


def _clip(x: Sequence[str], attributes: Attributes) -> str:
    """Bounds are inputs, or absent ("")."""
    least = number(attributes["min"]) if "min" in attributes else x[1] if len(x) > 1 else ""
    most = number(attributes["max"]) if "max" in attributes else x[2] if len(x) > 2 else ""
    result = x[0]
    if least:
        result = f"({result} < {least} ? {least} : {result})"
    if most:
        result = f"({result} > {most} ? {most} : {result})"
    return result


def _shrink(x: Sequence[str], attributes: Attributes) -> str:
    limit, bias = (number(attributes.get(name, value)) for name, value in (("lambd", 0.5), ("bias", 0.0)))
    return f"({x[0]} < -{limit} ? {x[0]} + {bias} : {x[0]} > {limit} ? {x[0]} - {bias} : 0)"


def _is_infinite(x: Sequence[str], attributes: Attributes) -> str:
    signs = [sign for sign, name in (("", "detect_positive"), ("-", "detect_negative")) if attributes.get(name, 1)]
    return f"({' || '.join(f'{x[0]} == {sign}{number(np.inf)}' for sign in signs) or 'false'})"


def _shift(x: Sequence[str], attributes: Attributes) -> str:
    """By as many bits as there are, or more, nothing is left, of a negative number to the right -1."""
    sign, bits = "<<" if attributes["direction"] == "LEFT" else ">>", f"8 * sizeof({x[0]})"
    return f"({x[0]} {sign} ({x[1]} < {bits} ? {x[1]} : {bits} - 1) {sign} ({x[1]} >= {bits}))"


def _modulo(x: Sequence[str], attributes: Attributes) -> str:
    return f"{'remainder_of' if attributes.get('fmod', 0) else 'modulo'}({x[0]}, {x[1]})"


_EXPRESSIONS: dict[str, Expression] = {
    "Abs": _plain("({0} < 0 ? -{0} : {0})"),
    "Neg": _plain("(-{0})"),
    "Exp": _plain("exp({0})"),
    "Log": _plain("log({0})"),
    "Sqrt": _plain("sqrt({0})"),
    "Reciprocal": _plain("(1 / {0})"),
    "Floor": _plain("floor({0})"),
    "Ceil": _plain("ceil({0})"),
    "Round": _plain("rint({0})"),
    "Sign": _plain("({0} != {0} ? {0} : ({0} > 0) - ({0} < 0))"),
    "Sin": _plain("sin({0})"),
    "Cos": _plain("cos({0})"),
    "Tan": _plain("tan({0})"),
    "Asin": _plain("asin({0})"),
    "Acos": _plain("acos({0})"),
    "Atan": _plain("atan({0})"),
    "Sinh": _plain("sinh({0})"),
    "Cosh": _plain("cosh({0})"),
    "Tanh": _plain("tanh({0})"),
    "Asinh": _plain("asinh({0})"),
    "Acosh": _plain("acosh({0})"),
    "Atanh": _plain("atanh({0})"),
    "Erf": _plain("erf({0})"),
    "Not": _plain("(!{0})"),
    "IsNaN": _plain("({0} != {0})"),
    "IsInf": _is_infinite,
    "Identity": _plain("{0}"),
    "Cast": _plain("{0}"),
    "Relu": _plain("({0} < 0 ? 0 : {0})"),
    "Sigmoid": _plain("(1 / (1 + exp(-{0})))"),
    "Softplus": _plain("({0} > 20 ? {0} : log1p(exp({0})))"),
    "Softsign": _plain("({0} / (1 + fabs({0})))"),
    "HardSwish": _plain("({0} * fminf(fmaxf({0} / 6.0f + 0.5f, 0.0f), 1.0f))"),
    "Mish": _plain("({0} * tanh({0} > 20 ? {0} : log1p(exp({0}))))"),
    "Swish": _with("({0} / (1 + exp(-{alpha} * {0})))", alpha=1.0),
    "LeakyRelu": _with("({0} < 0 ? {alpha} * {0} : {0})", alpha=0.01),
    "ThresholdedRelu": _with("({0} > {alpha} ? {0} : 0)", alpha=1.0),
    "Elu": _with("({0} < 0 ? {alpha} * expm1({0}) : {0})", alpha=1.0),
    "Celu": _with("({0} < 0 ? {alpha} * expm1({0} / {alpha}) : {0})", alpha=1.0),
    "Selu": _with("({gamma} * ({0} > 0 ? {0} : {alpha} * expm1({0})))", alpha=1.67326319, gamma=1.05070102),
    "HardSigmoid": _with("({0} != {0} ? {0} : fminf(fmaxf({alpha} * {0} + {beta}, 0.0f), 1.0f))", alpha=0.2, beta=0.5),
    "Shrink": _shrink,
    "Gelu": _gelu,
    "Clip": _clip,
    "Add": _plain("({0} + {1})"),
    "Sub": _plain("({0} - {1})"),
    "Mul": _plain("({0} * {1})"),
    "Div": _plain("({0} / {1})"),
    "Pow": _plain("power({0}, {1})"),
    "Mod": _modulo,
    "PRelu": _plain("({0} < 0 ? {1} * {0} : {0})"),
    "Min": _joined("smaller({0}, {1})"),
    "Max": _joined("larger({0}, {1})"),
    "Sum": _joined("({0} + {1})"),
    "Mean": _mean,
    "And": _plain("({0} && {1})"),
    "Or": _plain("({0} || {1})"),
    "Xor": _plain("({0} != {1})"),
    "Equal": _plain("({0} == {1})"),
    "Greater": _plain("({0} > {1})"),
    "GreaterOrEqual": _plain("({0} >= {1})"),
    "Less": _plain("({0} < {1})"),
    "LessOrEqual": _plain("({0} <= {1})"),
    "BitwiseAnd": _plain("({0} & {1})"),
    "BitwiseOr": _plain("({0} | {1})"),
    "BitwiseXor": _plain("({0} ^ {1})"),
    "BitwiseNot": _plain("(~{0})"),
    "BitShift": _shift,
    "Where": _plain("({0} ? {1} : {2})"),
}
ELEMENTWISE_OPS = frozenset(_EXPRESSIONS)
ACTIVATIONS = frozenset("Relu Gelu Sigmoid Tanh Swish LeakyRelu Elu HardSwish Clip".split())
"""Those that go into the end of a product."""
_TO_BOOL = frozenset("Not IsNaN IsInf And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual".split())


def expression(node: Node, operands: Sequence[str]) -> str:
    """What a node computes of its operands, which are names of variables."""
    return _EXPRESSIONS[node.op](operands, node.attributes)


def result_dtype(node: Node, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The element type of what an elementwise node gives."""
    if node.op in _TO_BOOL:
        return np.dtype(bool)
    if node.op == "Cast":
        from gridstride.frameworks.onnx.packages import onnx_package

        cast: np.dtype[Any] = np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(node.attributes["to"]))
        return cast
    return dtypes[1] if node.op == "Where" else dtypes[0]


def literal(value: Array) -> str | None:
    """A scalar constant as C++ of its own type; None where it is not one."""
    if value.size != 1 or value.dtype.name not in C_TYPES:
        return None
    if value.dtype.name in FLOATS:
        single = number(float(value.reshape(())))
        return f"(double){value.item():.17g}" if value.dtype.name == "float64" and np.isfinite(value).all() else single
    return f"({C_TYPES[value.dtype.name]}){int(value.reshape(()))}"


PRELUDE = """
__device__ __forceinline__ float power(float x, float y) { return y == 2.0f ? x * x : powf(x, y); }
__device__ __forceinline__ double power(double x, double y) { return pow(x, y); }
template <class T, class U> __device__ __forceinline__ T power(T x, U y) { return (T)pow((double)x, (double)y); }
template <class T> __device__ __forceinline__ T smaller(T a, T b) { return a != a || a < b ? a : b; }
template <class T> __device__ __forceinline__ T larger(T a, T b) { return a != a || a > b ? a : b; }
template <class T> __device__ __forceinline__ int saturated(T x, int least, int most)
{
    const T rounded = rint(x);
    return rounded < least ? least : rounded > most ? most : (int)rounded;
}
__device__ __forceinline__ float remainder_of(float a, float b) { return fmodf(a, b); }
__device__ __forceinline__ double remainder_of(double a, double b) { return fmod(a, b); }
template <class T> __device__ __forceinline__ T remainder_of(T a, T b) { return a % b; }
template <class T> __device__ __forceinline__ T modulo(T a, T b)
{
    const T left = remainder_of(a, b);
    return left != 0 && (left < 0) != (b < 0) ? left + b : left;
}
"""
"""Functions that expressions call."""
