"""Calls of functions that may wait, by part of a warp: each group of lanes goes on a fiber of its own (groups.py).

Lanes that are away count as pending where the call returns to; those that came back are freed there, as behind a
barrier.
"""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.abi.execution_records import MAX_SPLIT_AREAS, SPLIT, WARP
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.calls import area, call_function, frame_below, invalid_pointer, pointer_number
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.program import Program
from gridstride.virtual.ptx.module import Arguments, Function, Instruction, Symbol


def group_entry(program: Program, function: Function) -> None:
    """Writes `@group<n>`, which runs a function for a group: what it takes stands in the group's SPLIT."""
    b, warp = program.ir.builder(), Value("%warp", "ptr")
    b.terminated = True
    b.emit("br label %start")
    b.start("start")
    call = b.get(warp, WARP, "split")
    count = len(function.params) + len(function.returns)
    areas = [b.get(call, SPLIT, "areas", n) for n in range(count)]
    number = program.numbers[function.name]
    b.call("void", f"fn{number}", warp, b.get(call, SPLIT, "mask"), b.get(call, SPLIT, "frame"), *areas)
    b.ret()
    program.ir.add(f"group{number}", f"void @group{number}(ptr %warp)", b)


def split_call(
    cx: Lowering, ins: Instruction, waiting_elsewhere: Callable[[], Value], away: Value, back: Value
) -> None:
    """Calls for each function that some lanes want. `waiting_elsewhere`: this activation's other lanes."""
    b, site = cx.b, constant("i32", cx.program.site(cx))
    b.put(cx.warp, WARP, "site", site)
    areas = _areas(cx, ins)
    remaining = b.alloca("i32")
    b.store(cx.current_mask(), remaining)
    for function, mask in _callee_masks(cx, ins, len(areas), remaining):
        with b.if_(b.compare("ne", mask, constant("i32", 0))):
            b.store(b.op("xor", b.load("i32", remaining), mask), remaining)
            waiting = b.op("or", b.load("i32", remaining), b.op("or", waiting_elsewhere(), b.load("i32", away)))
            never = function.name not in cx.program.waiting
            alone = constant("i1", True) if never else b.compare("eq", waiting, constant("i32", 0))
            with b.if_(alone):
                call_function(cx, function, mask, areas)
                live = b.op("and", mask, b.get(cx.warp, WARP, "live"))
                b.store(b.op("or", b.load("i32", back), live), back)
            if not never:
                with b.if_(b.op("xor", alone, constant("i1", True))):
                    _spawn(cx, function, mask, areas, site, away, back)


def _areas(cx: Lowering, ins: Instruction) -> list[Value]:
    returned, _, passed = ins.operands[:3]
    assert isinstance(returned, Arguments)
    assert isinstance(passed, Arguments)
    names = [item.name for item in (*passed.items, *returned.items) if isinstance(item, Symbol)]
    if len(names) > MAX_SPLIT_AREAS:
        raise cx.unsupported(f"a call with {len(names)} arguments of a function that waits")
    return [area(cx, name) for name in names]


def _callee_masks(cx: Lowering, ins: Instruction, count: int, remaining: Value) -> list[tuple[Function, Value]]:
    """The functions that lanes may want, with the lanes that do."""
    b, target = cx.b, ins.operands[1]
    if isinstance(target, Symbol):
        name = cx.program.module.aliases.get(target.name, target.name)
        return [(cx.program.module.functions[name], cx.current_mask())]
    pointers, number = pointer_number(cx, target)
    callees, unmatched = [], cx.current_mask()
    for function in cx.program.callable_with(count):
        wants = b.compare("eq", number, constant(number.type, cx.program.numbers[function.name]))
        mask = b.op("and", b.bitcast(wants, "i32"), unmatched)
        unmatched = b.op("xor", unmatched, mask)
        callees.append((function, mask))
    invalid_pointer(cx, pointers, unmatched)
    return callees


def _spawn(
    cx: Lowering, function: Function, mask: Value, areas: list[Value], site: Value, away: Value, back: Value
) -> None:
    b = cx.b
    b.store(b.op("or", b.load("i32", away), mask), away)
    group = b.call("ptr", "gs_spawn", cx.warp, mask, site)
    call = b.get(group, WARP, "split")
    b.put(call, SPLIT, "frame", frame_below(cx))
    for name, slot in (("away", away), ("back", back)):
        b.put(call, SPLIT, name, slot)
    number = cx.program.numbers[function.name]
    b.emit(f"store ptr @group{number}, ptr {b.field(call, SPLIT, 'entry').name}")
    for n, result_area in enumerate(areas):
        b.put(call, SPLIT, "areas", result_area, n)
