"""The mipmap level that tex.grad's differences ask for, as an H200 was seen to take it."""

from __future__ import annotations

from gridstride.virtual.abi.texture_objects import OBJECT
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32

LOGARITHM = """
000204050608090b0c0d0f101213141617181a1b1c1e1f202223242627282a2b2c2d2f30313234353637393a3b3c3e3f4041424445464748
4a4b4c4d4e4f51525354555658595a5b5c5d5e5f6162636465666768696a6b6d6e6f707172737475767778797a7b7c7d7e7f808182838485
878889898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a2a3a4a5a6a7a8a9aaabacadadaeafb0b1b2b3b4b5b5b6b7b8b9ba
bbbcbcbdbebfc0c1c2c3c3c4c5c6c7c8c8c9cacbcccdcdcecfd0d1d2d2d3d4d5d6d6d7d8d9dadadbdcdddededfe0e1e2e2e3e4e5e5e6e7e8
e9e9eaebececedeeefeff0f1f2f2f3f4f5f5f6f7f8f8f9fafbfbfcfdfdfeffff
"""
"""256 · log2(1 + i / 256) as the hardware has it, 256 bytes in hexadecimal: i is the first 8 bits of a mantissa."""

MIDDLE, LEAST = 11 / 32, 1 / 4
"""What the second and the third longest component add to the longest for a length."""
DIAGONAL = 11 / 16
"""Nearly 1/√2: sums and differences of the two steps count so much."""


def emit_gradients(m: IrModule) -> None:
    """gs_gradient_lod: the level in 1/256, not yet biased, of two steps given as f32 bits."""
    table = ", ".join(f"i8 {byte}" for byte in bytes.fromhex(LOGARITHM))
    m.preamble.append(f"@gs_log2 = private constant [256 x i8] [{table}]")
    head = ("object* object", "i32 xx", "i32 xy", "i32 xz", "i32 yx", "i32 yy", "i32 yz")
    with m.function("i32", "gs_gradient_lod", *head) as (b, (object_, *words)):
        first, second = (_step(b, object_, words[3 * j : 3 * j + 3]) for j in range(2))
        across = [[b.op(op, x, y) for x, y in zip(first, second, strict=True)] for op in ("fadd", "fsub")]
        lengths = [_length(b, step) for step in (first, second)]
        lengths += [b.op("fmul", _length(b, step), constant("double", DIAGONAL)) for step in across]
        longest = lengths[0]
        for other in lengths[1:]:
            longest = b.intrinsic("maxnum", longest, other)
        b.ret(_log2(b, longest))


def _step(b: Builder, object_: Record, words: list[Value]) -> list[Value]:
    """A step in texels of the first level."""
    steps = []
    for word, name in zip(words, ("width", "height", "depth"), strict=True):
        size = b.intrinsic("umax", b.get(object_, OBJECT, name), i32(1))
        step = b.define("double", f"fpext float {b.bitcast(word, 'float').name} to double")
        steps.append(b.op("fmul", step, b.define("double", f"uitofp i32 {size.name} to double")))
    return steps


def _length(b: Builder, step: list[Value]) -> Value:
    x, y, z = (b.intrinsic("fabs", part) for part in step)
    low, high = b.intrinsic("minnum", x, y), b.intrinsic("maxnum", x, y)
    most, smaller = b.intrinsic("maxnum", high, z), b.intrinsic("minnum", high, z)
    middle, least = b.intrinsic("maxnum", low, smaller), b.intrinsic("minnum", low, smaller)
    scaled = b.op("fmul", middle, constant("double", MIDDLE))
    small = b.op("fmul", least, constant("double", LEAST))
    return b.op("fadd", b.op("fadd", most, scaled), small)


def _log2(b: Builder, length: Value) -> Value:
    """256 times the logarithm, far below any level for 0."""
    word = b.bitcast(length, "i64")
    exponent = (word >> 52) - 1023
    index = (word >> 44) & 255
    fraction = b.resize(b.load("i8", b.offset(Value("@gs_log2", "ptr"), index)), "i32")
    log2 = (b.resize(exponent, "i32") << 8) + fraction
    return b.select(b.compare("uno", length, length), i32(0), log2)
