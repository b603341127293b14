"""The runtime's bulk reductions: shared memory combined element by element into global memory, each one atomically."""

from __future__ import annotations

from gridstride.virtual.ir.atomic_operations import AtomicOperation, combine
from gridstride.virtual.ir.builder import Builder, IrModule, Value
from gridstride.virtual.runtime.common import i32, i64

_WORDS = ("b32", "b64")
_HALVES = ("f16", "bf16")
_BY_OPERATION = {
    "add": (*_WORDS, "f32", "f64", *_HALVES), "min": _HALVES, "max": _HALVES, "umin": _WORDS, "umax": _WORDS,
    "smin": _WORDS, "smax": _WORDS, "and": _WORDS, "or": _WORDS, "xor": _WORDS, "inc": ("b32",), "dec": ("b32",),
}  # fmt: skip
REDUCTIONS = tuple(AtomicOperation(op, type_) for op, types in _BY_OPERATION.items() for type_ in types)
"""What cp.reduce.async.bulk can do; the runtime knows each by its place, counted from 1 (0: a copy)."""


TENSOR_OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_ADDING = {2: "b32", 3: "b32", 4: "b64", 6: "f16", 7: "f32", 8: "f32", 10: "bf16"}
_SIGNS = {2: "u", 3: "s", 4: "u", 5: "s", 6: "", 10: ""}
_WIDTHS = {2: "b32", 3: "b32", 4: "b64", 5: "b64"}
TENSOR_REDUCTIONS = {
    **{("add", number): AtomicOperation("add", type_) for number, type_ in _ADDING.items()},
    **{(op, number): AtomicOperation(f"{sign}{op}", _WIDTHS.get(number) or _ADDING[number])
       for op in ("min", "max") for number, sign in _SIGNS.items()},
    **{(op, number): AtomicOperation(op, width) for op in ("and", "or", "xor") for number, width in _WIDTHS.items()
       if number != 5},  # an H200 ends them on .s64 in an illegal instruction
    ("inc", 2): AtomicOperation("inc", "b32"), ("dec", 2): AtomicOperation("dec", "b32"),
}  # fmt: skip
"""By operation and the number of a tensor's element type: what cp.reduce.async.bulk.tensor does."""


def emit_reduce(m: IrModule) -> None:
    """gs_deliver: a copy, or one of the reductions; gs_tensor_reduction."""
    _of_types(m)
    for number, what in enumerate(REDUCTIONS, 1):
        _reduction(m, f"gs_reduce_{number}", what)
    with m.function("void", "gs_deliver", "ptr target", "ptr source", "i32 bytes", "i32 size", "i32 reduce") as (
        b,
        args,
    ):
        target, source, bytes_, size, reduce = args
        with b.if_(reduce == 0, likely=True):
            b.call("void", "gs_move", target, source, bytes_, size)
            b.ret()
        for number in range(1, len(REDUCTIONS) + 1):
            with b.if_(reduce == number):
                b.call("void", f"gs_reduce_{number}", target, source, bytes_)
                b.ret()


def _of_types(m: IrModule) -> None:
    """gs_tensor_reduction: which one an operation of TENSOR_OPERATIONS, counted from 1, is for elements of a type.

    0 for no operation at all; -1 where the type has none such.
    """
    with m.function("i32", "gs_tensor_reduction", "i32 operation", "i32 type") as (b, (operation, type_)):
        with b.if_(operation == 0, likely=True):
            b.ret(i32(0))
        key, reduction = (operation << 8) | type_, i32(-1)
        for (op, number), what in TENSOR_REDUCTIONS.items():
            matches = key == (((TENSOR_OPERATIONS.index(op) + 1) << 8) | number)
            reduction = b.select(matches, i32(REDUCTIONS.index(what) + 1), reduction)
        b.ret(reduction)


def _reduction(m: IrModule, name: str, what: AtomicOperation) -> None:
    with m.function("void", name, "ptr target", "ptr source", "i32 bytes") as (b, (target, source, bytes_)):
        end, at = b.resize(bytes_, "i64"), b.alloca("i64")
        b.store(i64(0), at)
        with b.loop() as done:
            offset = b.load("i64", at)
            b.break_if(offset >= end, done)
            b.store(offset + what.size, at)
            _combined(b, what, b.offset(target, offset), b.load(what.scalar, b.offset(source, offset)))


def _combined(b: Builder, what: AtomicOperation, pointer: Value, x: Value) -> None:
    """place = place op x, until no other thread came between."""
    integer = f"i{8 * what.size}"
    with b.loop() as done:
        old = b.define(integer, f"load atomic {integer}, ptr {pointer.name} monotonic, align {what.size}")
        new = b.bitcast(combine(b, what, "global", b.bitcast(old, what.scalar), x), integer)
        if what.type == "f32":  # an H200 has one NaN here
            absolute = new & 0x7FFFFFFF
            new = b.select(absolute > 0x7F800000, i32(0x7FFFFFFF), new)
        swap = f"cmpxchg ptr {pointer.name}, {old!r}, {new!r} seq_cst seq_cst, align {what.size}"
        pair = b.define(f"{{ {integer}, i1 }}", swap)
        b.break_if(b.define("i1", f"extractvalue {pair!r}, 1"), done)
