"""The special functions of f32: sin cos ex2 lg2 tanh, as polynomials on whole warps.

NVIDIA gives bounds for `.approx`, not bits. Ours are sharper than the ISA's bounds; every NaN is 0x7fffffff. The
coefficients are minimax fits made for the stated ranges, each rounded to f32 before the next was fitted.

Two are made coarser again, tanh and lg2 near 1: hardware is wrong by far more there than in the last place, and a
kernel whose results depend on more must not look right here. Their error is as large as an H200's, and its own.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

from gridstride.virtual.ir.builder import Builder, Value, constant
from gridstride.virtual.ir.float_common import canonical, is_nan, negative
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.arithmetic import half_instructions
from gridstride.virtual.lowering.instructions.operand_checks import finish, operands
from gridstride.virtual.lowering.program import Emitter
from gridstride.virtual.ptx.module import Instruction

EXP2 = (0.6931471824645996, 0.24022650718688965, 0.05550359562039375, 0.009618062525987625, 0.0013390984386205673,
        0.000154628767631948)  # fmt: skip
"""(2^x - 1) / x for |x| ≤ 1/2, within 2^-28 of 2^x."""

LOG2 = (1.4426950216293335, -0.7213475108146667, 0.4809033274650574, -0.3606816828250885, 0.2883390486240387,
        -0.23984543979167938, 0.20817366242408752, -0.19210554659366608, 0.16753992438316345,
        -0.08788095414638519)  # fmt: skip
"""log2(1 + x) / x for sqrt(1/2) ≤ 1 + x ≤ sqrt(2), within 2^-25."""

SINE = (6.2831854820251465, -41.34176254272461, 81.60829162597656, -76.71897888183594, 40.80365753173828)
"""sin(2πs) / s in s² for |s| ≤ 1/4, within 2^-25 of itself."""

LOG2_STEP = 2.0**-22
"""Of what lg2 is a multiple. An H200 is up to 0.96 of that away, absolutely, however near to 0 the result is."""

TANH_STEP, TANH_EXACT = 7, 2.0**-9
"""Bits that tanh lacks, which leaves it right to 2^-17 as on an H200; and from where on: that one is exact below."""

TANH = (0.9999999403953552, -0.33332380652427673, 0.1331101655960083, -0.05213627964258194, 0.015521692112088203)
"""tanh(x) / x in x² for |x| ≤ 0.6, within 2^-23."""


def single(x: float) -> float:
    """The f32 nearest to x."""
    value: float = struct.unpack("f", struct.pack("f", x))[0]
    return value


TURN = single(0.5 / math.pi)
"""1 / 2π."""

TWICE_LOG2_E = single(2 / math.log(2))

ROOT_HALF = 0x3F3504F3
"""The bits of sqrt(1/2) as f32."""


def polynomial(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """c0 + c1 x + c2 x² + …, one fused multiply-add a step."""
    total = constant(x.type, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = b.intrinsic("fma", total, x, constant(x.type, c))
    return total


def exp2(b: Builder, x: Value) -> Value:
    """2^x: 2^n · 2^f with n the nearest integer. The power of two is applied in halves, so subnormals round once."""
    low, high = constant(x.type, -160.0), constant(x.type, 129.0)
    inside = b.select(b.compare("ogt", x, low), x, low)
    inside = b.select(b.compare("olt", inside, high), inside, high)
    rounded = b.intrinsic("rint", inside)
    f = b.op("fsub", inside, rounded)
    mantissa = b.intrinsic("fma", f, polynomial(b, f, EXP2), constant(x.type, 1.0))
    n = b.cast("fptosi", rounded, "i32")
    half_n = b.op("ashr", n, constant(n.type, 1))
    result = b.op("fmul", mantissa, _power(b, half_n))
    result = b.op("fmul", result, _power(b, b.op("sub", n, half_n)))
    return canonical(b, b.select(is_nan(b, x), x, result))


def _power(b: Builder, n: Value) -> Value:
    """2^n for an n that gives a normal number."""
    biased = b.op("add", n, constant(n.type, 127))
    return b.cast("bitcast", b.op("shl", biased, constant(n.type, 23)), "float")


def log2(b: Builder, x: Value) -> Value:
    """log2 x: exponent plus the logarithm of a significand between sqrt(1/2) and sqrt(2)."""
    small = b.compare("olt", x, constant(x.type, 2.0**-126))
    scaled = b.select(small, b.op("fmul", x, constant(x.type, 2.0**24)), x)
    word = b.cast("bitcast", scaled, "i32")
    above = b.op("sub", word, constant(word.type, ROOT_HALF))
    exponent = b.op("ashr", above, constant(word.type, 23))
    significand = b.op("sub", word, b.op("shl", exponent, constant(word.type, 23)))
    f = b.op("fsub", b.cast("bitcast", significand, "float"), constant(x.type, 1.0))
    lowered = b.op("sub", exponent, constant(exponent.type, 24))
    n = b.cast("sitofp", b.select(small, lowered, exponent), "float")
    result = b.intrinsic("fma", f, polynomial(b, f, LOG2), n)
    steps = b.intrinsic("rint", b.op("fmul", result, constant(x.type, 1 / LOG2_STEP)))
    return canonical(b, _log2_edges(b, x, b.op("fmul", steps, constant(x.type, LOG2_STEP))))


def _log2_edges(b: Builder, x: Value, result: Value) -> Value:
    infinity = constant(x.type, math.inf)
    result = b.select(b.compare("olt", x, infinity), result, x)
    result = b.select(b.compare("olt", x, constant(x.type, 0.0)), constant(x.type, math.nan), result)
    return b.select(b.compare("oeq", x, constant(x.type, 0.0)), constant(x.type, -math.inf), result)


def _turns(b: Builder, x: Value) -> Value:
    """x / 2π less the nearest integer, in [-1/2, 1/2], as Hopper has it: NaN for infinite x.

    The quotient is rounded toward zero to f32, and what is left of it cut to multiples of 2^-25 (all that a GPU's sine
    sees: it is 0 below 2π · 2^-25). So values are within 2^-21.5 of an H200's, where exact ones would be 2^-20.5 away.
    """
    turn = constant(x.type, TURN)
    near = b.op("fmul", x, turn)
    beyond = b.op(
        "fmul", b.intrinsic("fma", x, turn, negative(b, near)), b.intrinsic("copysign", constant(x.type, 1.0), x)
    )
    word = b.cast("bitcast", near, "i32")
    correction = b.cast("zext", b.compare("olt", beyond, constant(x.type, 0.0)), "i32")
    cut = b.cast("bitcast", b.op("sub", word, correction), "float")
    fraction = b.op("fsub", cut, b.intrinsic("rint", cut))
    steps = b.intrinsic("trunc", b.op("fmul", fraction, constant(x.type, 2.0**25)))
    return b.op("fmul", steps, constant(x.type, 2.0**-25))


def _sine_of_turns(b: Builder, s: Value) -> Value:
    """sin(2πs) for |s| ≤ 1/4, never beyond 1: the polynomial is one unit in the last place too high here and there."""
    result = b.op("fmul", s, polynomial(b, b.op("fmul", s, s), SINE))
    for bound, beyond in ((1.0, "ogt"), (-1.0, "olt")):
        limit = constant(s.type, bound)
        result = b.select(b.compare(beyond, result, limit), limit, result)
    return result


def sine(b: Builder, x: Value) -> Value:
    """sin x for x in radians; sin(-0) is -0."""
    s = _turns(b, x)
    over = b.compare("ogt", b.intrinsic("fabs", s), constant(x.type, 0.25))
    mirrored = b.op("fsub", b.intrinsic("copysign", constant(x.type, 0.5), s), s)
    result = _sine_of_turns(b, b.select(over, mirrored, s))
    return canonical(b, b.select(b.compare("oeq", x, constant(x.type, 0.0)), x, result))


def cosine(b: Builder, x: Value) -> Value:
    """cos x for x in radians."""
    s = b.intrinsic("fabs", _turns(b, x))
    return canonical(b, _sine_of_turns(b, b.op("fsub", constant(x.type, 0.25), s)))


def tanh(b: Builder, x: Value) -> Value:
    """tanh x: a polynomial near 0, else 1 - 2 / (e^2|x| + 1) with the sign of x."""
    size = b.intrinsic("fabs", x)
    power = exp2(b, b.op("fmul", size, constant(x.type, TWICE_LOG2_E)))
    one = constant(x.type, 1.0)
    below = b.op("fdiv", constant(x.type, 2.0), b.op("fadd", power, one))
    far = b.intrinsic("copysign", b.op("fsub", one, below), x)
    near = b.op("fmul", x, polynomial(b, b.op("fmul", x, x), TANH))
    result = b.select(b.compare("olt", size, constant(x.type, 0.5625)), near, far)
    return canonical(b, b.select(is_nan(b, x), x, result))


def coarse_tanh(b: Builder, x: Value) -> Value:
    """tanh.approx.f32: rounded to as many bits as hardware has right. Halves have fewer anyway."""
    exact = tanh(b, x)
    word = b.cast("bitcast", exact, "i32")
    up = b.op("add", word, constant(word.type, 1 << TANH_STEP - 1))
    rounded = b.cast("bitcast", b.op("and", up, constant(word.type, -1 << TANH_STEP)), "float")
    far = b.compare("oge", b.intrinsic("fabs", x), constant(x.type, TANH_EXACT))
    return b.select(far, rounded, exact)


def function(
    compute: Callable[[Builder, Value], Value], halves: Callable[[Builder, Value], Value] | None = None
) -> Emitter:
    """The emitter of a function of one f32, and of halves where they have it."""

    def lower(cx: Lowering, ins: Instruction) -> None:
        if halves is not None and half_instructions.is_half(ins):
            half_instructions.unary(cx, ins, halves)
            return
        finish(cx, ins, cx.shared(compute.__name__, compute, operands(cx, ins, "f32", 1)[0]))

    return lower
