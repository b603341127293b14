"""call: of device functions and builtins, direct by name or through a pointer."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Value, bits, constant, wide
from gridstride.virtual.lowering.calls import (
    ROW,
    area,
    call_function,
    invalid_pointer,
    pointer_number,
    read_element,
    rows_of,
)
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.calls.builtins import BUILTINS, SIZES
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
)


def call(cx: Lowering, ins: Instruction) -> None:
    """call, call.uni: direct by name, or through a function pointer."""
    returned, target, passed = ins.operands[:3]
    assert isinstance(returned, Arguments)
    assert isinstance(passed, Arguments)
    _check(cx, ins, returned, target, passed)
    areas = [_argument(cx, o) for o in passed.items]
    results = [_result_area(cx, o) for o in returned.items]
    if isinstance(target, Symbol):
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
            value = read_element(cx, base, 0, size)
            cx.set(operand, cx.b.cast("trunc", value, "i1") if type_ == "pred" else value)


def _argument(cx: Lowering, operand: Operand) -> Value:
    if isinstance(operand, Symbol):
        return area(cx, operand.name)
    base = cx.b.alloca(f"[{4 * ROW} x i8]", align=64)
    if isinstance(operand, Register):
        type_ = cx.code.registers[operand.name]
        _store_all_lanes(cx, base, cx.vector(operand, type_))
    elif isinstance(operand, Immediate):
        _store_all_lanes(cx, base, cx.vector(operand, "b64"))
    return base


def _result_area(cx: Lowering, operand: Operand) -> Value:
    if isinstance(operand, Symbol):
        return area(cx, operand.name)
    if not isinstance(operand, Register | Sink):
        raise cx.unsupported("a call whose result goes to no register")
    return cx.b.alloca(f"[{4 * ROW} x i8]", align=64)


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
            if rows_of(size) < rows_of(variable.size):
                raise cx.unsupported(f"{what} {number} of {size} bytes where the function has {variable.size}")


def _size(cx: Lowering, item: Operand) -> int:
    """Bytes of the area that an argument or result gets."""
    if isinstance(item, Symbol):
        own = {v.name: v for v in (*cx.function.params, *cx.function.returns)}
        variable = own.get(item.name) or cx.function.variables.get(item.name)
        return variable.size if variable is not None else 0
    return 4 * 4


def _store_all_lanes(cx: Lowering, base: Value, value: Value) -> None:
    b = cx.b
    if value.type == wide("i1"):
        value = b.resize(value, "i32")
    value = retype(cx.b, value, f"b{bits(value.type)}")
    for w in range(rows_of(bits(value.type) // 8)):
        part = b.op("lshr", value, constant(value.type, 32 * w)) if w else value
        b.store(b.resize(part, "i32"), b.offset(base, w * ROW), align=4)


def _indirect(cx: Lowering, target: Operand, areas: list[Value], prototype: Prototype | None) -> None:
    """Calls each function that some lane wants, with those lanes; a pointer to nothing is a fault."""
    b = cx.b
    pointers, number = pointer_number(cx, target)
    remaining = b.alloca("i32")
    b.store(cx.active(), remaining)
    for function in cx.program.callable_with(len(areas)):
        if not _alike(function, prototype):
            continue
        wants = b.compare("eq", number, constant(number.type, cx.program.numbers[function.name]))
        mask = b.op("and", b.bitcast(wants, "i32"), b.load("i32", remaining))
        with b.if_(b.compare("ne", mask, constant("i32", 0))):
            call_function(cx, function, mask, areas)
        b.store(b.op("xor", b.load("i32", remaining), mask), remaining)
    invalid_pointer(cx, pointers, b.load("i32", remaining))


def _alike(function: Function, prototype: Prototype | None) -> bool:
    """Whether a function takes and gives no more than the prototype says."""
    if prototype is None:
        return True
    pairs = ((function.params, prototype.params), (function.returns, prototype.returns))
    return all(
        len(own) == len(callee) and all(rows_of(v.size) <= rows_of(w.size) for v, w in zip(own, callee, strict=True))
        for own, callee in pairs
    )
