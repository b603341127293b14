"""The mipmap level that tex.grad's differences ask for."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.common import i32
from gridstride.virtual.machine.layout import OBJECT


def emit_gradients(m: Module) -> None:
    """gs_gradient_lod: log2 of the longer of two steps in texels of the first level, in 1/256, within the range."""
    head = ("ptr object", "i32 form", "i32 xx", "i32 xy", "i32 xz", "i32 yx", "i32 yy", "i32 yz")
    with m.function("i32", "gs_gradient_lod", *head) as (b, (object_, _, *steps)):
        longest = b.intrinsic("maxnum", *(_length(b, object_, steps[3 * j : 3 * j + 3]) for j in range(2)))
        level = b.call("double", "llvm.log2.f64", longest)
        level = b.op("fmul", level, constant("double", 0.5))
        word = b.bitcast(b.define("float", f"fptrunc double {level.name} to float"), "i32")
        b.ret(b.call("i32", "gs_lod", object_, word, i32(1)))


def _length(b: Builder, object_: Value, words: list[Value]) -> Value:
    """The square of a step's length in texels."""
    total = constant("double", 0.0)
    for word, name in zip(words, ("width", "height", "depth"), strict=True):
        size = b.intrinsic("umax", b.get(object_, OBJECT, name), i32(1))
        step = b.define("double", f"fpext float {b.bitcast(word, 'float').name} to double")
        texels = b.op("fmul", step, b.define("double", f"uitofp i32 {size.name} to double"))
        total = b.op("fadd", total, b.op("fmul", texels, texels))
    return total
