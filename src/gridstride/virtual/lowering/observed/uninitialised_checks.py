"""Where the observed build asks whether what is read was ever written, and notes what is written.

A load of something unset is no mistake yet: tiles at an edge read rows that nobody filled and drop what comes of them.
So the lanes that read such a value are marked (see taint), and what becomes of it decides.
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, element, vector_constant
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.memory_operands import ordered
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.addressing import vector_address
from gridstride.virtual.lowering.observed.shared_lanes import in_window, may_be_shared
from gridstride.virtual.lowering.observed.taint import Taint
from gridstride.virtual.lowering.observed.taint_lanes import matrix_words
from gridstride.virtual.ptx.isa import ISA, Meaning
from gridstride.virtual.ptx.module import Address, Register
from gridstride.virtual.ptx.operands import items

GLOBAL, SHARED, LOCAL = 0, 1, 2


def touch(cx: Lowering, site: int, access: Access, address: Address | Value, kind: str) -> None:
    """`kind`: load, store, atom or red. Plain loads of shared memory are looked at by the race detector."""
    if access.space == "shared":
        if kind == "store" or kind != "load" or ordered(cx.ins):
            _shared(cx, site, access, address, kind)
    elif access.space in ("global", "generic") and cx.ins.opcode != "cp":
        _global(cx, site, access, address, kind)


def _addresses(cx: Lowering, access: Access, address: Address | Value) -> Value:
    return address if isinstance(address, Value) else vector_address(cx, address, access.space)


def _global(cx: Lowering, site: int, access: Access, address: Address | Value, kind: str) -> None:
    b, generic = cx.b, access.space == "generic"
    asks = b.compare("ne", cx.field("unset"), constant("i64", 0))
    if generic:  # shared memory, it may be
        asks = b.op("or", asks, b.compare("ne", cx.field("observed"), constant("i32", 0)))
    with cx.conditional_code(), b.if_(asks):
        where = _addresses(cx, access, address)
        if generic:
            _near(cx, site, access, where, kind)
            return
        distance = b.op("sub", where, b.splat(cx.field("unset_low")))
        near = b.bitcast(b.compare("ult", distance, b.splat(cx.field("unset_span"))), "i32")
        with b.if_(b.compare("ne", near, constant("i32", 0))):
            _near(cx, site, access, where, kind)


def _near(cx: Lowering, site: int, access: Access, where: Value, kind: str) -> None:
    b = cx.b
    if kind == "load":
        _mark(cx, site, access, where, "gs_unset_load", GLOBAL)
        return
    size = constant("i32", access.bytes)
    if reads_too(cx, kind):
        bad = b.call("i32", "gs_unset_load", cx.warp, cx.active(), where, size)
        b.call("void", "gs_report_uninitialised", cx.warp, constant("i32", site), bad, constant("i32", GLOBAL), where)
    else:
        _mark(cx, site, access, where, "gs_unset_load", GLOBAL)
    b.call("void", "gs_unset_store", cx.warp, cx.active(), where, size)
    if kind == "store" and may_be_shared(cx, access.space) and cx.ins.opcode == "st":
        shared = in_window(cx, where)
        with shared.some(cx):
            _unmark(cx, access, shared.offsets, "gs_unset_shared_again", shared.mask)


def _shared(cx: Lowering, site: int, access: Access, address: Address | Value, kind: str) -> None:
    b = cx.b
    with cx.conditional_code(), b.if_(b.compare("ne", cx.field("observed"), constant("i32", 0))):
        where, size = _addresses(cx, access, address), constant("i32", access.bytes)
        if kind == "load":
            _mark(cx, site, access, where, "gs_unset_shared_load", SHARED)
        elif kind == "store" and not ordered(cx.ins):
            _unmark(cx, access, where, "gs_unset_shared_again")
        else:
            if reads_too(cx, kind):
                bad = b.call("i32", "gs_unset_shared_load", cx.warp, cx.active(), where, size)
                long = b.resize(where, "i64")
                b.call(
                    "void",
                    "gs_report_uninitialised",
                    cx.warp,
                    constant("i32", site),
                    bad,
                    constant("i32", SHARED),
                    long,
                )
            else:
                _mark(cx, site, access, where, "gs_unset_shared_load", SHARED)
            b.call("void", "gs_unset_shared_store", cx.warp, cx.active(), where, size)
            _unmark(cx, access, where, "gs_unset_shared_again")


def look(cx: Lowering, site: int, access: Access, where: Value, looks: Value) -> None:
    """After the race detector's check of a shared load: `looks` is not 0 where it met something unset."""
    with cx.b.if_(cx.b.compare("ne", looks, constant("i32", 0))):
        _mark(cx, site, access, where, "gs_unset_shared_load", SHARED)


def local(cx: Lowering, site: int, offsets: Value, access: Access, kind: str) -> None:
    """A lane's own memory."""
    b = cx.b
    with cx.conditional_code(), b.if_(b.compare("ne", cx.field("local_unset"), constant("i64", 0))):
        where = b.resize(offsets, "i64")
        if kind == "load":
            _mark(cx, site, access, where, "gs_unset_local_load", LOCAL)
        else:
            b.call("void", "gs_unset_local_store", cx.warp, cx.active(), where, constant("i32", access.bytes))
            _unmark(cx, access, where, "gs_unset_local_again")


def _mark(cx: Lowering, site: int, access: Access, where: Value, ask: str, space: int) -> None:
    """Each element on its own, so that what else a vector brings is not held against it."""
    if ISA[cx.ins.opcode].meaning is not Meaning.LOADED:
        return
    b, taint = cx.b, Taint.of(cx)
    for j, target in enumerate(items(cx.ins.operands[0])):
        if not isinstance(target, Register) or not taint.follows(target.name):
            continue
        if cx.ins.opcode == "ldmatrix":
            words = _words(cx, where, j)
            unset = b.call("i32", ask, cx.warp, constant("i32", -1), words, constant("i32", 4))
            bad = matrix_words(cx, unset)
            taint.loaded(cx, target.name, bad, site, b.resize(words, "i64"), space)
        else:
            address = b.op("add", where, constant(where.type, access.size * j)) if j else where
            bad = b.call("i32", ask, cx.warp, cx.active(), address, constant("i32", access.size))
            taint.loaded(cx, target.name, bad, site, b.resize(address, "i64"), space)


def _unmark(cx: Lowering, access: Access, where: Value, again: str, lanes: Value | None = None) -> None:
    """A value that means nothing makes its place unset again; `lanes`: all active ones where none are named."""
    if cx.ins.opcode not in ("st", "stmatrix"):
        return
    b, taint = cx.b, Taint.of(cx)
    for j, item in enumerate(items(cx.ins.operands[1])):
        mask = taint.mask(cx, item)
        if mask is None:
            continue
        if cx.ins.opcode == "stmatrix":
            b.call("void", again, cx.warp, matrix_words(cx, mask), _words(cx, where, j), constant("i32", 4))
        else:
            bad = b.op("and", mask, cx.active() if lanes is None else lanes)
            with b.if_(b.compare("ne", bad, constant("i32", 0))):
                address = b.op("add", where, constant(where.type, access.size * j)) if j else where
                b.call("void", again, cx.warp, bad, address, constant("i32", access.size))


def _words(cx: Lowering, rows: Value, matrix: int) -> Value:
    """Where ldmatrix and stmatrix have each lane's word of a matrix, whose rows lanes 8 · matrix and on address."""
    by_lane = cx.b.shuffle(rows, [8 * matrix + lane // 4 for lane in range(LANES)])
    return cx.b.op("add", by_lane, vector_constant(element(rows.type), [4 * (lane % 4) for lane in range(LANES)]))


def reads_too(cx: Lowering, kind: str) -> bool:
    """True for an atomic that needs what is there. A lock is made free by an exchange whatever it was."""
    return kind in ("atom", "red") and "exch" not in cx.ins.modifiers
