"""What device functions and their callers agree on: signatures, and arguments in areas of 32 lanes a word.

An area holds a .param variable as rows of four bytes, one row for each word, one column for each lane; a function
gets a pointer to the area of each of its parameters and results.
"""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.grid_launches import FUNCTION_BASE
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, bits, constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.frame_layout import parameter_layout
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.value_types import retype
from gridstride.virtual.ptx.module import (
    Function,
    Operand,
    Register,
    Variable,
)

ROW = 4 * LANES


def rows_of(size: int) -> int:
    """Rows of the area of a variable of so many bytes."""
    return max(1, -(-size // 4))


def area(cx: Lowering, name: str) -> Value:
    """The area of a .param variable: handed in for a function's own, on the stack for a call's."""
    own = [v.name for v in (*cx.function.params, *cx.function.returns)]
    if not cx.code.entry and name in own:
        return Value(f"%p{own.index(name)}", "ptr")
    areas = cx.program.scratch_of(cx).areas
    if name not in cx.function.variables or cx.function.variables[name].space != "param":
        raise cx.unsupported(f"`{name}`, which is no .param variable,")
    if name not in areas:
        areas[name] = cx.b.alloca(f"[{rows_of(cx.function.variables[name].size) * ROW} x i8]", align=64)
    return areas[name]


def read_area(cx: Lowering, name: str, offset: int, access: Access) -> list[Value]:
    """The elements at a byte offset of an area, a vector each."""
    base = area(cx, name)
    _inside(cx, name, offset, access)
    return [read_element(cx, base, offset + access.size * j, access.size) for j in range(access.count)]


def _inside(cx: Lowering, name: str, offset: int, access: Access) -> None:
    """Refuses an access past the ends of a .param variable, or across its words."""
    own = {v.name: v for v in (*cx.function.params, *cx.function.returns)}
    size = (own.get(name) or cx.function.variables[name]).size
    if offset < 0 or offset + access.bytes > size or offset % min(access.size, 4):
        raise cx.unsupported(f"{access.bytes} bytes at {offset} of `{name}`, which has {size},")


def read_element(cx: Lowering, base: Value, offset: int, size: int) -> Value:
    """`size` bytes at a byte offset of an area, one element for each lane."""
    b = cx.b
    words = [b.load(wide("i32"), b.offset(base, (offset // 4 + w) * ROW), align=4) for w in range(rows_of(size))]
    if size <= 4:
        shifted = b.op("lshr", words[0], constant(wide("i32"), 8 * (offset % 4))) if offset % 4 else words[0]
        return b.resize(shifted, f"i{8 * size}")
    value = b.resize(words[0], f"i{8 * size}")
    for w, word in enumerate(words[1:], 1):
        long = b.resize(word, f"i{8 * size}")
        value = b.op("or", value, b.op("shl", long, constant(long.type, 32 * w)))
    return value


def write_area(cx: Lowering, name: str, offset: int, access: Access, values: list[Value]) -> None:
    """st.param, of an argument or result; lanes that do not execute keep what another group may have put there."""
    base = area(cx, name)
    _inside(cx, name, offset, access)
    for j, value in enumerate(values):
        write_element(cx, base, offset + access.size * j, access.size, value)


def write_element(cx: Lowering, base: Value, offset: int, size: int, value: Value) -> None:
    """The same, stored for the lanes that execute."""
    b = cx.b
    for w in range(rows_of(size)):
        at = b.offset(base, (offset // 4 + w) * ROW)
        part = b.op("lshr", value, constant(value.type, 32 * w)) if w else value
        word = b.resize(part, "i32")
        old = b.load(wide("i32"), at, align=4)
        if size < 4:
            ones = ((1 << 8 * size) - 1) << 8 * (offset % 4)
            moved = b.op("shl", word, constant(word.type, 8 * (offset % 4)))
            word = b.op("or", b.op("and", old, constant(old.type, ~ones)), b.op("and", moved, constant(old.type, ones)))
        if not cx.always():
            word = b.select(cx.active_bits(), word, old)
        b.store(word, at, align=4)


def load_parameter(cx: Lowering, name: str, offset: int, access: Access) -> list[Value]:
    """ld.param: a kernel's own parameters are scalars; a function's and a call's differ between lanes."""
    own = {p.name: (p, o) for p, o in parameter_layout(cx.program.entry.params)} if cx.code.entry else {}
    if name not in own:
        return read_area(cx, name, offset, access)
    variable, start = own[name]
    if offset < 0 or offset + access.bytes > variable.size:
        raise cx.unsupported(f"a read past the end of parameter `{name}` ({variable.size} bytes)")
    base = cx.b.offset(cx.field("params"), start + offset)
    return [cx.b.load(access.type, cx.b.offset(base, access.size * j), align=access.size) for j in range(access.count)]


# -- registers as parameters -----------------------------------------------------------------------------------------
def take_registers(cx: Lowering) -> None:
    """At a device function's start: parameters declared as registers get their values."""
    for index, variable in enumerate(cx.function.params):
        if variable.space == "reg" and variable.name in cx.facts.shape:
            cx.registers.write(variable.name, _from_area(cx, Value(f"%p{index}", "ptr"), variable))


def _from_area(cx: Lowering, base: Value, variable: Variable) -> Value:
    if variable.type == "pred":
        return cx.b.cast("trunc", read_element(cx, base, 0, 4), "i1")
    value = read_element(cx, base, 0, max(1, variable.size))
    return retype(cx.b, value, variable.type)


def return_registers(cx: Lowering) -> None:
    """At a device function's return: results declared as registers are handed back for the lanes that return."""
    first = len(cx.function.params)
    for index, variable in enumerate(cx.function.returns):
        if variable.space == "reg":
            value = cx.vector(Register(variable.name), variable.type)
            predicate = variable.type == "pred"
            value = cx.b.resize(value, "i32") if predicate else retype(cx.b, value, f"b{bits(value.type)}")
            write_element(cx, Value(f"%p{first + index}", "ptr"), 0, bits(value.type) // 8, value)


# -- calls -----------------------------------------------------------------------------------------------------------
def signature(function: Function) -> str:
    """The parameters of a device function's LLVM form."""
    count = len(function.params) + len(function.returns)
    return ", ".join(["ptr %warp", "i32 %mask", "i32 %frame", *(f"ptr %p{i}" for i in range(count))])


def symbol(cx: Lowering, function: Function) -> str:
    return f"fn{cx.program.numbers[function.name]}"


def call_function(cx: Lowering, function: Function, mask: Value, areas: list[Value]) -> None:
    """Calls a function for the lanes of a mask, on the warp's own stack."""
    if not function.defined:
        raise cx.unsupported(f"the function `{function.name}`, which has no body in this module")
    cx.b.call("void", symbol(cx, function), cx.warp, mask, frame_below(cx), *areas)


def frame_below(cx: Lowering) -> Value:
    """Where the local variables of what the current function calls start."""
    size = constant("i32", cx.program.frames[cx.function.name][1])
    return size if cx.code.entry else cx.b.op("add", Value("%frame", "i32"), size)


def pointer_number(cx: Lowering, target: Operand) -> tuple[Value, Value]:
    """A function pointer in each lane, and the number of the function that it stands for."""
    b, pointers = cx.b, cx.vector(target, "b64")
    number = b.op("lshr", b.op("sub", pointers, constant(pointers.type, FUNCTION_BASE)), constant(pointers.type, 4))
    return pointers, number


def invalid_pointer(cx: Lowering, pointers: Value, lost: Value) -> None:
    """A fault for lanes whose pointer is no function."""
    b = cx.b
    with b.if_(b.compare("ne", lost, constant("i32", 0))):
        site = constant("i32", cx.program.site(cx))
        lane = b.call("i32", "llvm.cttz.i32", lost, constant("i1", False))
        address = b.extract(pointers, lane)
        kind = constant("i32", FAULT["invalid_instruction"])
        b.call("void", "gs_fault", cx.warp, site, kind, lost, address, constant("i32", 0))
