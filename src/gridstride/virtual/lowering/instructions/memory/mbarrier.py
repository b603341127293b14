"""mbarrier: objects in shared memory that count arrivals and bytes, and the waits for their phases."""

from __future__ import annotations

from gridstride.virtual.abi.mbarriers import (
    BLOCK_ORDER,
    CLUSTER_ORDER,
    COUNT_MASK,
    GIVES_UP,
    MAY_FAIL,
    MAY_WAIT,
    MAY_YIELD,
)
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.analysis import memory_operands
from gridstride.virtual.lowering.analysis.bounded_waits import CLOCKS
from gridstride.virtual.lowering.bounded_wait import in_bounded_wait, innermost_wait
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import addressing
from gridstride.virtual.lowering.instructions.memory.copy_operands import columns, site
from gridstride.virtual.ptx.isa import ISA, Class, Meaning
from gridstride.virtual.ptx.module import Address, Instruction, Operand, Special
from gridstride.virtual.ptx.operands import address


def mbarrier(cx: Lowering, ins: Instruction) -> None:
    """All forms."""
    form = ins.modifiers[0]
    if form == "pending_count":
        _pending_count(cx, ins)
        return
    at = int(not isinstance(ins.operands[0], Address))
    operands = ins.operands[at + 1 :]
    space = memory_operands.space_of(ins)
    where = addressing.vector_address(cx, address(ins, at), space)
    kind = constant("i32", addressing.number_of(ins, space))
    if form == "init":
        _init(cx, where, kind, operands)
    elif form == "inval":
        cx.b.call("void", "gs_mbarrier_inval", cx.warp, site(cx), cx.active(), *columns(cx, where), kind)
    elif form in ("test_wait", "try_wait"):
        _wait(cx, ins, where, kind, operands[0])
    else:
        _arrive(cx, ins, where, kind, operands)


def order_of(ins: Instruction) -> Value:
    """What an arrival or a wait orders, as the runtime takes it. The scope is .cta where none is said, but published
    kernels let blocks of a cluster wait for one another so, and do not spell it out: only one that is written counts.
    """
    if "relaxed" in ins.modifiers:
        return constant("i32", 0)
    return constant("i32", BLOCK_ORDER if "cta" in ins.modifiers else BLOCK_ORDER | CLUSTER_ORDER)


def _init(cx: Lowering, where: Value, kind: Value, operands: tuple[Operand, ...]) -> None:
    addresses, counts = columns(cx, where, cx.vector(operands[0], "u32"))
    cx.b.call("void", "gs_mbarrier_init", cx.warp, site(cx), cx.active(), addresses, kind, counts)


def _arrive(cx: Lowering, ins: Instruction, where: Value, kind: Value, operands: tuple[Operand, ...]) -> None:
    """arrive, arrive_drop, expect_tx, complete_tx: arrivals, bytes to come, and arrivals that later phases drop."""
    b, form = cx.b, ins.modifiers[0]
    operand = b.resize(cx.vector(operands[0], "u32"), "i64") if operands else constant(wide("i64"), 1)
    zero, one = constant(wide("i64"), 0), constant(wide("i64"), 1)
    counts_bytes = {"expect_tx", "complete_tx"} & set(ins.modifiers)
    arrives = form in ("arrive", "arrive_drop")
    arrivals = (one if counts_bytes else operand) if arrives else zero
    bytes_ = operand if counts_bytes else zero
    if form == "complete_tx":
        bytes_ = b.op("sub", zero, bytes_)
    dropped = arrivals if form == "arrive_drop" else zero
    addresses, *values, states = columns(cx, where, arrivals, bytes_, dropped, zero)
    b.call(
        "void", "gs_mbarrier_arrive", cx.warp, site(cx), cx.active(), addresses, kind, *values, states, order_of(ins)
    )
    if not isinstance(ins.operands[0], Address):
        cx.set(ins.operands[0], b.load(wide("i64"), states))


def _wait(cx: Lowering, ins: Instruction, where: Value, kind: Value, which: Operand) -> None:
    """test_wait and try_wait, for the phase of a state or of a parity."""
    b = cx.b
    if "parity" in ins.modifiers:
        parity = cx.vector(which, "b32")
        phase = b.op("and", parity, constant(parity.type, 1))
    else:
        state = cx.vector(which, "b64")
        phase = b.op("lshr", state, constant(state.type, 63))
    bounded = in_bounded_wait(cx)
    flags = GIVES_UP if bounded else MAY_WAIT if _only_polls(cx) else 0
    if ins.modifiers[0] == "try_wait" and cx.code.spin_edges:
        flags |= MAY_YIELD
    if ins.modifiers[0] == "try_wait":
        flags |= MAY_FAIL
    addresses, phases = columns(cx, where, phase)
    mask = cx.active()
    more = constant("i32", flags), order_of(ins)
    over = b.call("i32", "gs_mbarrier_test", cx.warp, site(cx), mask, addresses, kind, phases, *more)
    uniform = cx.uniform(ins.operands[0])
    cx.set(ins.operands[0], b.compare("ne", over, constant("i32", 0)) if uniform else b.bitcast(over, wide("i1")))


def _only_polls(cx: Lowering) -> bool:
    """True in a loop that does nothing but ask for one phase, so that its warp may as well be held until that ends."""
    wait = innermost_wait(cx)
    if wait is None:
        return False
    start, end = wait
    body = [ins for block in cx.code.blocks[start : end + 1] for ins in block]
    side_effects = [ins for ins in body if not _only_writes_registers(ins)]
    timed = any(isinstance(o, Special) and o.name.startswith(CLOCKS) for ins in body for o in ins.operands)
    return len(side_effects) == 1 and side_effects[0] is cx.ins and not timed


def _only_writes_registers(ins: Instruction) -> bool:
    row = ISA[ins.opcode]
    plain = row.meaning in (Meaning.OPERANDS, Meaning.DECIDED) and row.kind is not Class.WARP
    return plain or row.kind is Class.BRANCH or ins.opcode == "nanosleep"


def _pending_count(cx: Lowering, ins: Instruction) -> None:
    (state,) = cx.sources("b64")
    missing = cx.b.op("lshr", state, constant(state.type, 20))
    cx.set(ins.operands[0], cx.b.op("and", missing, constant(missing.type, COUNT_MASK)))
