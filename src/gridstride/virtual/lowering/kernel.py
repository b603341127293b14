"""A PTX kernel as LLVM IR: prepares each function's control flow, analyses it, writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gridstride.virtual.abi.execution_records import LAUNCH, WARP
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.analysis.bounded_waits import gives_up
from gridstride.virtual.lowering.analysis.control_flow import Code, waits
from gridstride.virtual.lowering.analysis.inline import inline_waiting, waiting_functions
from gridstride.virtual.lowering.analysis.latches import with_latches
from gridstride.virtual.lowering.analysis.normalise import SyncEffects, normal, spins
from gridstride.virtual.lowering.analysis.polls import polls_of
from gridstride.virtual.lowering.analysis.settled_reads import settled_reads
from gridstride.virtual.lowering.analysis.uniformity import analyse
from gridstride.virtual.lowering.call_graph import calls_itself
from gridstride.virtual.lowering.calls import signature, take_registers
from gridstride.virtual.lowering.control import Flow
from gridstride.virtual.lowering.dispatch import EMITTERS
from gridstride.virtual.lowering.frame_layout import RECURSIVE_STACK, machine_frame
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.calls.device_runtime import keep_errors
from gridstride.virtual.lowering.observer import Observer
from gridstride.virtual.lowering.program import Lowered, Program
from gridstride.virtual.lowering.subwarp_calls import group_entry
from gridstride.virtual.ptx.flow import cfg, liveness
from gridstride.virtual.ptx.module import Function, Instruction, PtxModule
from gridstride.virtual.ptx.operands import reads, writes


def lower_kernel(
    module: PtxModule, name: str, shape: BlockShape, observer: Observer | None = None, stack: int = RECURSIVE_STACK
) -> Lowered:
    """LLVM IR of the kernel `name` for blocks of the given shape. `stack`: bytes for arrays of recursive calls.

    Raises UnsupportedInstruction with the PTX line and the source line for what the virtual GPU does not have.
    """
    module = inline_waiting(module)
    program = Program(module, module.functions[name], EMITTERS, observer or Observer(), stack)
    effects = SyncEffects.of(program.functions)
    effects = replace(effects, wait=waiting_functions(program.functions, effects))
    program.waiting = effects.wait
    flags = [_write(program, function, shape, effects) for function in program.functions if function.defined]
    text = program.ir.text()
    return Lowered(
        ir=text,
        lines=text.count("\n") + program.ir.lines_inlined,
        sites=program.sites,
        symbols=program.symbols,
        static_shared=program.static_shared,
        dynamic_shared=program.dynamic_shared,
        local_size=program.local_size,
        waits=any(w for w, _ in flags),
        spins=any(s for _, s in flags),
        recursive=program.recursive,
        stack=machine_frame(program.entry) + min(len(program.functions) - 1, 4) * program.callee_frame,
        clusters=program.clusters,
        launches=program.launches,
        calls=frozenset(program.ir.signatures) - program.ir.defined,
        splits=bool(program.waiting),
        frames={
            name: machine_frame(program.entry) if name == "kernel" else program.callee_frame
            for name in program.ir.defined - program.ir.internal
        },
    )


def prepare(function: Function, kernel_params: frozenset[str], effects: SyncEffects) -> tuple[Code, dict[str, int]]:
    """A function's blocks in execution order, and the block each label stands at."""
    function = normal(function, effects)
    read, written = _cached(reads), _cached(writes)
    graph = cfg.build(function)
    latched = with_latches(function, graph)
    if latched is not function:
        function, graph = latched, cfg.build(latched)
    live = liveness.analyse(graph, reads=read, writes=written)
    position = graph.position
    blocks = [list(graph.blocks[i].instructions) for i in graph.order]
    successors = [tuple(position[s] for s in graph.blocks[i].successors) for i in graph.order]
    spin_edges, bounded, polls = set(), set(), set()
    for loop in graph.loops:
        inside = [ins for m in loop.members for ins in graph.blocks[m].instructions]
        if _waits(inside, effects) or _idle(inside, live.registers(live.live_in[loop.header])):
            edges = {(position[a], position[z]) for a, z in loop.back_edges}
            spin_edges |= edges
            polls |= {id(ins) for ins in polls_of(graph, loop)}
            if gives_up(graph, loop, live.registers(live.live_in[loop.header]), effects.spin):
                bounded |= edges
    code = Code(
        blocks=blocks,
        successors=successors,
        live_in=[set(live.registers(live.live_in[i])) for i in graph.order],
        registers=function.registers,
        spin_edges=spin_edges,
        bounded_waits=bounded,
        polls=polls,
        reads=read,
        writes=written,
        uniform_params=kernel_params if function.kind == "entry" else frozenset(),
        entry=function.kind == "entry",
        register_params=frozenset(v.name for v in function.params if v.space == "reg"),
        branch_targets=function.branch_targets,
    )
    code.settled = settled_reads(code)
    labels = {label: position[b.index] for b in graph.blocks for label in b.labels}
    return code, labels


def _waits(loop: list[Instruction], effects: SyncEffects) -> bool:
    """True for a loop that decides by what other threads leave in memory; one that only adds to it counts its rounds.

    A fence says that plain loads may be what is waited for.
    """
    polls = [ins for ins in loop if spins(ins, effects.spin)]
    if not polls:
        return False
    if any(ins.opcode not in ("atom", "red") for ins in polls):
        return True
    theirs = {name for ins in polls for name in writes(ins)}
    while more := {r for ins in loop if theirs & {*reads(ins)} for r in writes(ins)} - theirs:
        theirs |= more
    return any(ins.guard is not None and ins.guard.register.name in theirs for ins in loop)


def _idle(loop: list[Instruction], live: tuple[str, ...]) -> bool:
    """True for a loop that hands nothing on to its next round: if it goes round twice, it waits for another thread."""
    opcodes = {ins.opcode for ins in loop}
    return "ld" in opcodes and "st" not in opcodes and not {r for ins in loop for r in writes(ins)} & set(live)


def _cached(of: Callable[[Instruction], tuple[str, ...]]) -> Callable[[Instruction], tuple[str, ...]]:
    """The same function, which works an instruction out once: the analysis asks for each many times."""
    results: dict[int, tuple[str, ...]] = {}
    alive: list[Instruction] = []  # so that an id stays theirs

    def cached(ins: Instruction) -> tuple[str, ...]:
        result = results.get(id(ins))
        if result is None:
            result = results[id(ins)] = of(ins)
            alive.append(ins)
        return result

    return cached


def _write(program: Program, function: Function, shape: BlockShape, effects: SyncEffects) -> tuple[bool, bool]:
    """Adds one function to the program; returns (waits at barriers, spins)."""
    params = frozenset(p.name for p in function.params) if function.kind == "entry" else frozenset()
    code, labels = prepare(function, params, effects)
    facts = analyse(code, shape)
    cx = Lowering(program, function, code, facts, shape)
    b = cx.b
    b.terminated = True
    b.emit("br label %start")
    b.start("start")
    flow = Flow(cx, labels)
    if code.entry:
        if program.launches:
            keep_errors(cx)
        flow.write(None if shape.full else cx.field("mask"))
        program.ir.add("kernel", "void @kernel(ptr %warp)", b)
    else:
        _check_stack(cx)
        cx.begin(0, None)
        take_registers(cx)
        cx.registers.flush(set(function.registers))
        flow.write(Value("%mask", "i32"))
        program.ir.add(
            f"fn{program.numbers[function.name]}", f"void @fn{program.numbers[function.name]}({signature(function)})", b
        )
        if function.name in effects.wait:
            group_entry(program, function)
    holds = any(waits(ins) or ins.opcode == "wgmma" for block in code.blocks for ins in block)
    return holds, bool(code.spin_edges) or _may_sync(code)


def _may_sync(code: Code) -> bool:
    return any(ins.opcode == "call" for block in code.blocks for ins in block)


def _outgrows_limit(cx: Lowering, end: Value) -> Value | None:
    """Whether the local arrays of calls that are under way are more than the device's stack: None for never. Where
    calls are not recursive the driver knows how much they take, and makes room. The observed build says how much that
    is, and goes on.
    """
    program = cx.program
    if not calls_itself(program.module, cx.function):
        return None
    b, own = cx.b, program.frames[program.entry.name][1]
    used = b.resize(b.op("sub", end, constant("i32", own)), "i64")
    too_much = b.compare("ugt", used, b.get(b.get(cx.warp, WARP, "launch"), LAUNCH, "stack"))
    if not program.observer.observes:
        return too_much
    with b.if_(too_much):
        cx.ins = next(iter(cx.code.blocks[0]), None) or next(i for block in cx.code.blocks for i in block)
        lane = b.call("i32", "llvm.cttz.i32", Value("%mask", "i32"), constant("i1", False))
        site, kind = constant("i32", program.site(cx)), constant("i32", FAULT["stack_overflow"])
        b.call("void", "gs_report", cx.warp, kind, site, lane, site, constant("i32", 0), used)
    return None


def _check_stack(cx: Lowering) -> None:
    """A call that leaves no room for its own frame is a finding, not a crash."""
    b = cx.b
    stack_pointer = b.call("ptr", "llvm.stacksave.p0")
    now = b.define("i64", f"ptrtoint ptr {stack_pointer.name} to i64")
    # The frame of whatever this function calls must fit below it too.
    limit = b.op("add", b.get(cx.warp, WARP, "stack_limit"), constant("i64", cx.program.callee_frame))
    deep = b.compare("ult", now, limit)
    frames = cx.program.frames[cx.function.name][1]
    if frames:
        end = b.op("add", Value("%frame", "i32"), constant("i32", frames))
        too_much = _outgrows_limit(cx, end)
        deep = b.op("or", deep, b.compare("ugt", end, constant("i32", cx.program.local_size)))
        deep = deep if too_much is None else b.op("or", deep, too_much)
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
