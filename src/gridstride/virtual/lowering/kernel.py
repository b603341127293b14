"""A PTX kernel as LLVM IR: prepares each function's control flow, analyses it, writes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gridstride.virtual.lowering.analysis import Code, analyse, waits
from gridstride.virtual.lowering.calls import signature, take_registers
from gridstride.virtual.lowering.control import Flow
from gridstride.virtual.lowering.families import FAMILIES
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.ir import Value, constant
from gridstride.virtual.lowering.memory import ordered
from gridstride.virtual.lowering.program import Blind, Lowered, Observer, Program
from gridstride.virtual.lowering.transfer import BlockShape
from gridstride.virtual.machine.layout import FAULT, WARP
from gridstride.virtual.ptx import cfg, liveness
from gridstride.virtual.ptx.module import Function, Guard, Instruction, Label, LabelRef, Module, Statement, Symbol
from gridstride.virtual.ptx.operands import reads, writes


def lower_kernel(module: Module, name: str, shape: BlockShape, observer: Observer | None = None) -> Lowered:
    """LLVM IR of the kernel `name` for blocks of the given shape.

    Raises UnsupportedInstruction with the PTX line and the source line for what the virtual GPU does not have.
    """
    program = Program(module, module.functions[name], FAMILIES, observer or Blind())
    spinners = _spinners(program)
    flags = [_write(program, function, shape, spinners) for function in program.functions if function.defined]
    return Lowered(
        ir=program.ir.text(),
        sites=program.sites,
        symbols=program.symbols,
        static_shared=program.static_shared,
        dynamic_shared=program.dynamic_shared,
        local_size=program.local_size,
        waits=any(w for w, _ in flags),
        spins=any(s for _, s in flags),
        recursive=program.recursive,
    )


def prepare(
    function: Function, kernel_params: frozenset[str], spinners: frozenset[str] = frozenset()
) -> tuple[Code, dict[str, int]]:
    """A function's blocks in execution order, and the block each label stands at; `spinners`: functions that spin."""
    function = replace(function, body=tuple(_normal(function.body)))
    graph = cfg.build(function)
    live = liveness.analyse(graph)
    position = graph.position
    blocks = [list(graph.blocks[i].instructions) for i in graph.order]
    successors = [tuple(position[s] for s in graph.blocks[i].successors) for i in graph.order]
    spin_edges = set()
    for loop in graph.loops:
        if any(_spins(ins, spinners) for m in loop.members for ins in graph.blocks[m].instructions):
            spin_edges |= {(position[a], position[z]) for a, z in loop.back_edges}
    code = Code(
        blocks=blocks,
        successors=successors,
        live_in=[set(live.registers(live.live_in[i])) for i in graph.order],
        registers=function.registers,
        spin_edges=spin_edges,
        reads=reads,
        writes=writes,
        uniform_params=kernel_params if function.kind == "entry" else frozenset(),
        entry=function.kind == "entry",
    )
    labels = {label: position[b.index] for b in graph.blocks for label in b.labels}
    return code, labels


def _spins(ins: Instruction, spinners: frozenset[str]) -> bool:
    """True for what a thread does while it waits for another one."""
    if ins.opcode in ("atom", "nanosleep", "mbarrier"):
        return True
    if ins.opcode == "call":
        target = ins.operands[1]
        return target.name in spinners if isinstance(target, Symbol) else bool(spinners)
    return ins.opcode == "ld" and ordered(ins) and "local" not in ins.modifiers


def _spinners(program: Program) -> frozenset[str]:
    """The functions that do such things themselves or call one that does: a loop around their call may wait."""
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(f.name for f in program.functions if any(_spins(i, found) for i in f.instructions))
        if more == found:
            return found
        found = more


def _normal(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Guarded calls and barriers become branches around them, and a barrier ends its block."""
    number = 0
    for s in body:
        if isinstance(s, Label) or not (waits(s) or s.opcode == "call"):
            yield s
            continue
        number += 1
        after = f"%after{number}"
        if s.guard is not None:
            away = Guard(s.guard.register, not s.guard.negated)
            yield Instruction("bra", (), (LabelRef(after),), away, s.ptx_line, s.loc)
        if not waits(s):
            yield replace(s, guard=None)
        else:
            red = "red" in s.modifiers
            yield replace(s, guard=None, opcode="bar", operands=s.operands[red:], modifiers=_voting(s.modifiers))
            # Lanes held at the barrier wait in a block of their own: lanes that went around it must not be held too.
            held = f"%held{number}"
            yield Label(held)
            if red:  # the result is there only when the lanes are let go
                yield replace(s, guard=None, opcode="released", operands=s.operands[:2])
            yield Instruction("bra", (), (LabelRef(after),), None, s.ptx_line, s.loc)
        if s.guard is not None or waits(s):
            yield Label(after)


def _voting(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    """A reduction whose result another instruction writes."""
    return tuple("vote" if m == "red" else m for m in modifiers)


def _write(
    program: Program, function: Function, shape: BlockShape, spinners: frozenset[str]
) -> tuple[bool, bool]:
    """Adds one function to the program; returns (waits at barriers, spins)."""
    params = frozenset(p.name for p in function.params) if function.kind == "entry" else frozenset()
    code, labels = prepare(function, params, spinners)
    facts = analyse(code, shape)
    cx = Lowering(program, function, code, facts, shape)
    b = cx.b
    b.terminated = True
    b.emit("br label %start")
    b.start("start")
    flow = Flow(cx, labels)
    if code.entry:
        flow.write(None if shape.full else cx.field("mask"))
        program.ir.add("kernel", "void @kernel(ptr %warp)", b)
    else:
        _check_stack(cx)
        cx.begin(0, None)
        take_registers(cx)
        cx.flush(set(function.registers))
        flow.write(Value("%mask", "i32"))
        program.ir.add(
            f"fn{program.numbers[function.name]}", f"void @fn{program.numbers[function.name]}({signature(function)})", b
        )
    return any(block and waits(block[-1]) for block in code.blocks), bool(code.spin_edges) or _may_sync(code)


def _may_sync(code: Code) -> bool:
    return any(ins.opcode == "call" for block in code.blocks for ins in block)


def _check_stack(cx: Lowering) -> None:
    """A call that leaves no room for its own frame is a finding, not a crash."""
    b = cx.b
    here = b.call("ptr", "llvm.stacksave.p0")
    now = b.define("i64", f"ptrtoint ptr {here.name} to i64")
    deep = b.compare("ult", now, b.get(cx.warp, WARP, "stack_limit"))
    frames = cx.program.frames[cx.function.name][1]
    if frames:
        end = b.op("add", Value("%frame", "i32"), constant("i32", frames))
        deep = b.op("or", deep, b.compare("ugt", end, constant("i32", cx.program.local_size)))
    with b.if_(deep):
        site = len(cx.program.sites)
        first = next(iter(cx.code.blocks[0]), None) or next(i for block in cx.code.blocks for i in block)
        cx.ins = first
        site = cx.program.site(cx)
        kind = constant("i32", FAULT["stack_overflow"])
        b.call(
            "void",
            "gs_fault",
            cx.warp,
            constant("i32", site),
            kind,
            Value("%mask", "i32"),
            constant("i64", 0),
            constant("i32", 0),
        )
