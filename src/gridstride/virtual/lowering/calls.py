"""Calls of device functions: arguments in areas of 32 lanes a word, direct, indirect and recursive.

An area holds a .param variable as rows of four bytes, one row for each word, one column for each lane; a function
gets a pointer to the area of each of its parameters and results.
"""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.grid_launches import FUNCTION_BASE
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, bits, constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.value_types import llvm_type, retype
from gridstride.virtual.ptx.module import (
    Arguments,
    Function,
    Immediate,
    Instruction,
    LabelRef,
    Operand,
    Prototype,
    Register,
    Sink,
    Symbol,
    Variable,
)

ROW = 4 * LANES


def _rows(size: int) -> int:
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
        areas[name] = cx.b.alloca(f"[{_rows(cx.function.variables[name].size) * ROW} x i8]", align=64)
    return areas[name]


def read_area(cx: Lowering, name: str, offset: int, access: Access) -> list[Value]:
    """The elements at a byte offset of an area, a vector each."""
    base = area(cx, name)
    _inside(cx, name, offset, access)
    return [_read(cx, base, offset + access.size * j, access.size) for j in range(access.count)]


def _inside(cx: Lowering, name: str, offset: int, access: Access) -> None:
    """Refuses an access past the ends of a .param variable, or across its words."""
    own = {v.name: v for v in (*cx.function.params, *cx.function.returns)}
    size = (own.get(name) or cx.function.variables[name]).size
    if offset < 0 or offset + access.bytes > size or offset % min(access.size, 4):
        raise cx.unsupported(f"{access.bytes} bytes at {offset} of `{name}`, which has {size},")


def _read(cx: Lowering, base: Value, offset: int, size: int) -> Value:
    b = cx.b
    words = [b.load(wide("i32"), b.offset(base, (offset // 4 + w) * ROW), align=4) for w in range(_rows(size))]
    if size <= 4:
        shifted = b.op("lshr", words[0], constant(wide("i32"), 8 * (offset % 4))) if offset % 4 else words[0]
        return b.resize(shifted, f"i{8 * size}")
    value = b.resize(words[0], f"i{8 * size}")
    for w, word in enumerate(words[1:], 1):
        long = b.resize(word, f"i{8 * size}")
        value = b.op("or", value, b.op("shl", long, constant(long.type, 32 * w)))
    return value


def write_area(cx: Lowering, name: str, offset: int, access: Access, values: list[Value]) -> None:
    """Stores elements; lanes that do not execute keep what they had (another group may have put its result there)."""
    base = area(cx, name)
    _inside(cx, name, offset, access)
    for j, value in enumerate(values):
        _write(cx, base, offset + access.size * j, access.size, value)


def _write(cx: Lowering, base: Value, offset: int, size: int, value: Value) -> None:
    b = cx.b
    for w in range(_rows(size)):
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


# -- registers as parameters -----------------------------------------------------------------------------------------
def take_registers(cx: Lowering) -> None:
    """At a device function's start: parameters declared as registers get their values."""
    for index, variable in enumerate(cx.function.params):
        if variable.space == "reg" and variable.name in cx.facts.shape:
            cx.registers.write(variable.name, _from_area(cx, Value(f"%p{index}", "ptr"), variable))


def _from_area(cx: Lowering, base: Value, variable: Variable) -> Value:
    if variable.type == "pred":
        return cx.b.cast("trunc", _read(cx, base, 0, 4), "i1")
    value = _read(cx, base, 0, max(1, variable.size))
    return retype(cx.b, value, variable.type)


def return_registers(cx: Lowering) -> None:
    """At a device function's return: results declared as registers are handed back for the lanes that return."""
    first = len(cx.function.params)
    for index, variable in enumerate(cx.function.returns):
        if variable.space == "reg":
            value = cx.vector(Register(variable.name), variable.type)
            predicate = variable.type == "pred"
            value = cx.b.resize(value, "i32") if predicate else retype(cx.b, value, f"b{bits(value.type)}")
            _write(cx, Value(f"%p{first + index}", "ptr"), 0, bits(value.type) // 8, value)


def _store_whole(cx: Lowering, base: Value, value: Value) -> None:
    b = cx.b
    if value.type == wide("i1"):
        value = b.resize(value, "i32")
    value = retype(cx.b, value, f"b{bits(value.type)}")
    for w in range(_rows(bits(value.type) // 8)):
        part = b.op("lshr", value, constant(value.type, 32 * w)) if w else value
        b.store(b.resize(part, "i32"), b.offset(base, w * ROW), align=4)


def _check(cx: Lowering, ins: Instruction, returned: Arguments, target: Operand, passed: Arguments) -> None:
    """Refuses a call whose arguments and results are not those of the function or prototype it names."""
    callee: Function | Prototype | None = None
    if isinstance(target, Symbol):
        name = cx.program.module.aliases.get(target.name, target.name)
        callee = cx.program.module.functions.get(name)
    elif len(ins.operands) > 3 and isinstance(ins.operands[3], LabelRef):
        callee = cx.function.prototypes.get(ins.operands[3].name)
    if callee is None:
        return
    for what, items, parameters in (
        ("argument", passed.items, callee.params),
        ("result", returned.items, callee.returns),
    ):
        if len(items) != len(parameters):
            raise cx.unsupported(f"a call with {len(items)} {what}s of a function that has {len(parameters)}")
        for number, (item, variable) in enumerate(zip(items, parameters, strict=True), 1):
            size = _size(cx, item)
            if _rows(size) < _rows(variable.size):
                raise cx.unsupported(f"{what} {number} of {size} bytes where the function has {variable.size}")


def _size(cx: Lowering, item: Operand) -> int:
    """Bytes of the area that an argument or result gets."""
    if isinstance(item, Symbol):
        own = {v.name: v for v in (*cx.function.params, *cx.function.returns)}
        variable = own.get(item.name) or cx.function.variables.get(item.name)
        return variable.size if variable is not None else 0
    return 4 * 4


# -- calls -----------------------------------------------------------------------------------------------------------
def call(cx: Lowering, ins: Instruction) -> None:
    """call, call.uni: direct by name, or through a function pointer."""
    returned, target, passed = ins.operands[:3]
    assert isinstance(returned, Arguments)
    assert isinstance(passed, Arguments)
    _check(cx, ins, returned, target, passed)
    areas = [_argument(cx, o) for o in passed.items]
    results = [_result_area(cx, o) for o in returned.items]
    if isinstance(target, Symbol):
        from gridstride.virtual.lowering.instructions.calls.builtins import BUILTINS, SIZES

        name = cx.program.module.aliases.get(target.name, target.name)
        builtin = BUILTINS.get(name)
        if builtin is not None:
            declared = tuple(v.size for v in cx.program.module.functions[name].params)
            if declared != SIZES.get(name, declared):
                raise cx.unsupported(f"`{name}` with parameters of {declared} bytes")
            builtin(cx, areas, results)
        else:
            call_function(cx, cx.program.module.functions[name], cx.active(), areas + results)
    else:
        prototype = cx.function.prototypes.get(getattr(ins.operands[-1], "name", ""))
        _indirect(cx, target, areas + results, prototype)
    for operand, base in zip(returned.items, results, strict=True):
        if isinstance(operand, Register):
            type_ = cx.code.registers[operand.name]
            size = 4 if type_ == "pred" else max(1, bits(llvm_type(type_)) // 8)
            value = _read(cx, base, 0, size)
            cx.set(operand, cx.b.cast("trunc", value, "i1") if type_ == "pred" else value)


def _argument(cx: Lowering, operand: Operand) -> Value:
    if isinstance(operand, Symbol):
        return area(cx, operand.name)
    base = cx.b.alloca(f"[{4 * ROW} x i8]", align=64)
    if isinstance(operand, Register):
        type_ = cx.code.registers[operand.name]
        _store_whole(cx, base, cx.vector(operand, type_))
    elif isinstance(operand, Immediate):
        _store_whole(cx, base, cx.vector(operand, "b64"))
    return base


def _result_area(cx: Lowering, operand: Operand) -> Value:
    if isinstance(operand, Symbol):
        return area(cx, operand.name)
    if not isinstance(operand, Register | Sink):
        raise cx.unsupported("a call whose result goes to no register")
    return cx.b.alloca(f"[{4 * ROW} x i8]", align=64)


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


def _alike(function: Function, prototype: Prototype | None) -> bool:
    """Whether a function takes and gives no more than the prototype says."""
    if prototype is None:
        return True
    pairs = ((function.params, prototype.params), (function.returns, prototype.returns))
    return all(
        len(own) == len(callee) and all(_rows(v.size) <= _rows(w.size) for v, w in zip(own, callee, strict=True))
        for own, callee in pairs
    )


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


def _indirect(cx: Lowering, target: Operand, areas: list[Value], prototype: Prototype | None) -> None:
    """Calls each function that some lane wants, with those lanes; a pointer to nothing is a fault."""
    b = cx.b
    pointers, number = pointer_number(cx, target)
    left = b.alloca("i32")
    b.store(cx.active(), left)
    for function in cx.program.callable_with(len(areas)):
        if not _alike(function, prototype):
            continue
        wants = b.compare("eq", number, constant(number.type, cx.program.numbers[function.name]))
        mask = b.op("and", b.bitcast(wants, "i32"), b.load("i32", left))
        with b.if_(b.compare("ne", mask, constant("i32", 0))):
            call_function(cx, function, mask, areas)
        b.store(b.op("xor", b.load("i32", left), mask), left)
    invalid_pointer(cx, pointers, b.load("i32", left))
