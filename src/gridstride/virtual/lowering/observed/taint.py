"""Values that mean nothing, followed through registers in the observed build until they matter.

A shuffle may read a lane that is not there, and a load memory that nothing has written; code may read a register that
its path never wrote. All are harmless where the value is dropped, as by the upper lanes of a reduction or at the edge
of a tile. So each register that can hold such a value has a mask of the lanes where it does. What an instruction makes
of it is said in isa.py. A store to global memory, an atomic or an address makes a finding of it, and so does a
branch, but for what a shuffle gave: lanes whose sums nobody wants take branches too.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.analysis.memory_operands import space_of
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.addressing import vector_address
from gridstride.virtual.lowering.observed import taint_lanes
from gridstride.virtual.lowering.observed.shared_lanes import in_window, may_be_shared
from gridstride.virtual.lowering.observed.taint_lanes import all_of
from gridstride.virtual.ptx.isa import ISA, Meaning
from gridstride.virtual.ptx.module import Address, DestinationPair, Instruction, Operand, Register, Vector
from gridstride.virtual.ptx.operands import destination, items, registers_of

MOST_FOLLOWED = 1000
"""Registers of a function up to which what it loads is followed: beyond, compiling would take minutes. Unrolled kernels
that have more are checked for reads by atomics and copies only, beside shuffles.
"""

CARRY = "%cc"
"""The carry flag, followed like a register: no register of a PTX text has this name."""

SHUFFLED, NEVER = 4, 3
"""Where a value comes from, beside the numbers of spaces: a lane that is not there, a register that nothing wrote."""


class Taint:
    """The masks of one function."""

    def __init__(self, cx: Lowering) -> None:
        self.unwritten = _unwritten(cx)
        self._slots: dict[str, Value] = {}
        self._registers = self._reached(cx)
        self._origins: tuple[Value, ...] = ()

    @staticmethod
    def of(cx: Lowering) -> Taint:
        """The function's own, made when its first instruction is written."""
        taint = cx.program.scratch_of(cx).taint
        if taint is None:
            taint = cx.program.scratch_of(cx).taint = Taint(cx)
        assert isinstance(taint, Taint)
        return taint

    def _reached(self, cx: Lowering) -> set[str]:
        """Registers that such a value may come to; of large functions fewer and fewer ways are followed."""
        code = [ins for block in cx.code.blocks for ins in block]
        sources = {name for ins in code for name in _loaded_registers(ins)} | self.unwritten
        for passing in (_PASSING, _PASSING - {Meaning.PRODUCT}):
            names = _closure(cx, code, set(sources), passing)
            if len(names) <= MOST_FOLLOWED:
                return names
        shuffled = {name for ins in code if ins.opcode == "shfl" for name in _shuffled(ins)}
        return _closure(cx, code, shuffled | self.unwritten, _PASSING - {Meaning.PRODUCT})

    def follows(self, name: str) -> bool:
        """False for a register that always counts as meaning something."""
        return name in self._registers

    # -- masks --------------------------------------------------------------------------------------------------------
    def _slot(self, cx: Lowering, name: str) -> Value:
        if name not in self._slots:
            slot = self._slots[name] = cx.registers.slot("i32")
            cx.b.entry.append(f"  store i32 {-1 if name in self.unwritten else 0}, ptr {slot.name}")
        return self._slots[name]

    def _origin(self, cx: Lowering) -> tuple[Value, ...]:
        """Where the last such value came from: site, lane, space (or SHUFFLED), address."""
        if not self._origins:
            self._origins = (*(cx.registers.slot("i32") for _ in range(3)), cx.registers.slot("i64"))
            for slot, first in zip(self._origins, (-1, 0, NEVER, 0), strict=True):
                cx.b.entry.append(f"  store {'i64' if slot is self._origins[3] else 'i32'} {first}, ptr {slot.name}")
        return self._origins

    def _came(self, cx: Lowering, site: int, *where: Value) -> None:
        values = (constant("i32", site), *where)
        for value, slot in zip(values, self._origin(cx), strict=True):
            cx.b.store(value, slot)

    def mask(self, cx: Lowering, operand: Operand) -> Value | None:
        """The lanes in which an operand means nothing; None where it always means something."""
        return self._mask(cx, set(registers_of(operand)))

    def _mask_bits(self, cx: Lowering, operand: Operand) -> Value:
        """The same, 0 where it always means something."""
        mask = self.mask(cx, operand)
        return constant("i32", 0) if mask is None else mask

    def _mask(self, cx: Lowering, names: set[str]) -> Value | None:
        """Lanes where any of the registers means nothing; None where none can."""
        total: Value | None = None
        for name in sorted(names & self._registers):
            own = cx.b.load("i32", self._slot(cx, name))
            total = own if total is None else cx.b.op("or", total, own)
        return total

    def _set(self, cx: Lowering, name: str, mask: Value) -> None:
        b, slot = cx.b, self._slot(cx, name)
        if cx.mask is None and cx.ins.guard is None:
            b.store(mask, slot)
            return
        active = cx.active()
        unchanged = b.op("and", b.load("i32", slot), b.op("xor", active, constant("i32", -1)))
        b.store(b.op("or", unchanged, b.op("and", mask, active)), slot)

    # -- instructions -------------------------------------------------------------------------------------------------
    def before(self, cx: Lowering, ins: Instruction) -> None:
        """Passes masks on, and reports where what means nothing is stored or decides where to store."""
        if not self._registers:
            return
        meaning = ISA[ins.opcode].meaning
        if meaning in (Meaning.USED, Meaning.LOADED) or ins.opcode == "wmma":
            self._use(cx, ins)
        if ins.opcode == "shfl":
            return  # `shuffled` does it
        written = [name for name in _written(cx, ins) if name in self._registers]
        if not written:
            return
        guard = None if ins.guard is None else self.mask(cx, ins.guard.register)
        masks = self._passed(cx, ins, meaning, written)
        for name, mask in zip(written, masks, strict=True):
            self._set(cx, name, constant("i32", 0) if mask is None else mask)
            if guard is not None:  # who knows whether it was written
                slot = self._slot(cx, name)
                cx.b.store(cx.b.op("or", cx.b.load("i32", slot), cx.b.op("and", guard, cx.current_mask())), slot)

    def _passed(self, cx: Lowering, ins: Instruction, meaning: Meaning, written: list[str]) -> list[Value | None]:
        """A mask for each register that is written."""
        match meaning:
            case Meaning.OPERANDS:
                mask = self._mask(cx, _sources(ins))
            case Meaning.DECIDED:
                mask = self._unless_decided(cx, ins)
            case Meaning.LANES:
                rule = taint_lanes.transposed if ins.opcode == "movmatrix" else taint_lanes.group
                mask = rule(cx, ins, lambda operand: self.mask(cx, operand))
            case Meaning.PRODUCT if "load" not in ins.modifiers:
                column_masks = taint_lanes.product(cx, ins, lambda operand: self.mask(cx, operand))
                masks = dict(zip(cx.code.writes(ins), column_masks, strict=True))
                return [masks[name] for name in written]
            case _:
                mask = None
        return [mask] * len(written)

    def _unless_decided(self, cx: Lowering, ins: Instruction) -> Value | None:
        if ins.opcode in ("xor", "sub") and ins.operands[1] == ins.operands[2]:
            return None  # 0, whatever the operand was
        if ins.opcode == "mov" and isinstance(ins.operands[1], Vector):
            # As of memory, what is there in part counts as there: a struct's padding is packed, too.
            return all_of(cx, [self.mask(cx, item) for item in ins.operands[1].items])
        if ins.opcode in ("and", "or") and ins.types == ("pred",):
            pair = [(self.mask(cx, o), self._bits(cx, o)) for o in ins.operands[1:3]]
            return self._decided(cx, pair, all_of=ins.opcode == "and")
        if ins.opcode == "setp" and len(ins.operands) == 4 and {"and", "or"} & set(ins.modifiers):
            compared = self._mask(cx, {name for o in ins.operands[1:3] for name in registers_of(o)})
            third = (self.mask(cx, ins.operands[3]), self._bits(cx, ins.operands[3]))
            return self._decided(cx, [(compared, None), third], all_of="and" in ins.modifiers)
        if ins.opcode != "selp":
            return self._mask(cx, _sources(ins))
        b = cx.b
        chosen, other, decides = (self._mask_bits(cx, o) for o in ins.operands[1:4])
        p = b.bitcast(cx.vector(ins.operands[3], "pred"), "i32")
        picked = b.op("or", b.op("and", chosen, p), b.op("and", other, b.op("xor", p, constant("i32", -1))))
        return b.op("or", picked, decides)

    def _bits(self, cx: Lowering, operand: Operand) -> Value:
        return cx.b.bitcast(cx.vector(operand, "pred"), "i32")

    def _decided(
        self, cx: Lowering, pair: Sequence[tuple[Value | None, Value | None]], *, all_of: bool
    ) -> Value | None:
        """Of `and` and `or`: a side that means something may decide alone, so that the other does not matter."""
        b = cx.b
        if all(mask is None for mask, _ in pair):
            return None
        ones, zero = constant("i32", -1), constant("i32", 0)
        (m, x), (n, y) = [(zero if mask is None else mask, value) for mask, value in pair]
        total = b.op("or", m, n)
        for mask, value in ((m, x), (n, y)):
            if value is not None:
                means = b.op("xor", mask, ones)
                decides = b.op("and", means, b.op("xor", value, ones) if all_of else value)
                total = b.op("and", total, b.op("xor", decides, ones))
        return total

    def _use(self, cx: Lowering, ins: Instruction) -> None:
        spaces = {m.partition("::")[0] for m in ins.modifiers}
        if "param" in spaces:
            return
        written = destination(ins)
        operands = [o for o in ins.operands if o is not written]
        masks = [self.mask(cx, o) for o in operands if not isinstance(o, Register | Vector)]
        values = [o for o in operands if isinstance(o, Register | Vector)]
        if ins.opcode in ("st", "stmatrix") and not {"shared", "local"} & spaces:
            masks.append(_elsewhere(cx, self._stored(cx, ins.operands[1])))
        elif ins.opcode == "wmma":
            if "store" in ins.modifiers:
                masks.append(taint_lanes.entire(cx, [self.mask(cx, item) for item in items(ins.operands[1])]))
            if "mma" not in ins.modifiers:
                masks += [self.mask(cx, o) for o in ins.operands[2:]]
        elif ins.opcode not in ("st", "stmatrix", "ld", "ldu", "ldmatrix"):
            masks += [self.mask(cx, o) for o in values]
        for mask in masks:
            if mask is not None:
                self._matters(cx, mask)
        if ins.guard is not None and ins.opcode not in ("ld", "ldu", "ldmatrix"):
            decides = self.mask(cx, ins.guard.register)
            if decides is not None:
                self._matters(cx, decides, branch=True)

    def _stored(self, cx: Lowering, value: Operand) -> Value | None:
        """Lanes that store nothing but such values: a part of a vector may be a struct's padding."""
        total: Value | None = None
        for item in items(value):
            own = self.mask(cx, item)
            if own is None:
                return None
            total = own if total is None else cx.b.op("and", total, own)
        return total

    def _matters(self, cx: Lowering, mask: Value, *, branch: bool = False) -> None:
        b = cx.b
        bad = b.op("and", mask, cx.active() if not branch else cx.current_mask())
        with b.if_(b.compare("ne", bad, constant("i32", 0))):
            origin = [b.load(t, slot) for t, slot in zip(("i32", "i32", "i32", "i64"), self._origin(cx), strict=True)]
            site, kind = constant("i32", cx.program.site(cx)), constant("i32", int(branch))
            b.call("void", "gs_report_meaningless", cx.warp, site, bad, kind, *origin)

    def branch(self, cx: Lowering) -> None:
        """A branch, return or barrier whose guard or index means nothing."""
        operands = () if cx.ins.opcode == "ret" else cx.ins.operands  # of a function, these are its results
        guard = () if cx.ins.guard is None else (cx.ins.guard.register,)
        mask = self._mask(cx, {name for o in (*guard, *operands) for name in registers_of(o)})
        if mask is not None:
            self._matters(cx, mask, branch=True)

    def loaded(self, cx: Lowering, name: str, bad: Value, site: int, where: Value, space: int) -> None:
        """Lanes `bad` of a load got what nothing has written."""
        b, slot = cx.b, self._slot(cx, name)
        with b.if_(b.compare("ne", bad, constant("i32", 0))):
            lane = b.call("i32", "llvm.cttz.i32", bad, constant("i1", True))
            self._came(cx, site, lane, constant("i32", space), b.extract(where, lane))
            b.store(b.op("or", b.load("i32", slot), bad), slot)

    def shuffled(self, cx: Lowering, sources: Value, members: Value) -> None:
        """A shuffle: `sources` is the lane that each lane reads."""
        b, ins = cx.b, cx.ins
        active = cx.active()
        present = b.op("and", b.splat(active), b.splat(members))
        bit = b.op("lshr", present, sources)
        nobody = b.compare("eq", b.op("and", bit, _one()), constant(wide("i32"), 0))
        absent = b.op("and", b.bitcast(nobody, "i32"), active)
        if not (cx.always() and members.name == "-1"):
            with b.if_(b.compare("ne", absent, constant("i32", 0))):
                first = b.call("i32", "llvm.cttz.i32", absent, constant("i1", True))
                source = b.resize(b.extract(sources, first), "i64")
                self._came(cx, cx.program.site(cx), first, constant("i32", SHUFFLED), source)
        mask = self.mask(cx, ins.operands[1])
        if mask is not None:
            moved = b.op("and", b.op("lshr", b.splat(mask), sources), _one())
            absent = b.op("or", absent, b.bitcast(b.compare("ne", moved, constant(wide("i32"), 0)), "i32"))
        for name in _shuffled(ins):
            self._set(cx, name, absent)


def _one() -> Value:
    return constant(wide("i32"), 1)


_PASSING = {Meaning.OPERANDS, Meaning.DECIDED, Meaning.LANES, Meaning.PRODUCT}


def _closure(cx: Lowering, code: list[Instruction], names: set[str], passing: set[Meaning]) -> set[str]:
    """`found`, and what follows from it by instructions that pass it on."""
    follows: dict[str, set[str]] = {}
    for ins in code:
        if ISA[ins.opcode].meaning in passing and (written := _written(cx, ins)):
            # A guard decides, too, and sums may be added to: `reads` has both.
            for name in {*_sources(ins), *cx.code.reads(ins)}:
                follows.setdefault(name, set()).update(written)
    work = list(names)
    while work:
        more = follows.get(work.pop(), set()) - names
        names |= more
        work += more
    return names


def _elsewhere(cx: Lowering, mask: Value | None) -> Value | None:
    """Without the lanes whose generic store is to shared memory: there the place takes over that it means nothing."""
    if mask is None or cx.ins.opcode != "st" or not may_be_shared(cx, space_of(cx.ins)):
        return mask
    address = cx.ins.operands[0]
    assert isinstance(address, Address)
    shared = in_window(cx, vector_address(cx, address, "generic"))
    return cx.b.op("and", mask, cx.b.op("xor", shared.mask, constant("i32", -1)))


def _unwritten(cx: Lowering) -> set[str]:
    """Registers of a kernel that a path reads without having written them."""
    return set(cx.code.live_in[0]) if cx.code.entry else set()


def _loaded_registers(ins: Instruction) -> tuple[str, ...]:
    """Registers that get such values at first hand."""
    if ins.opcode == "shfl":
        return _shuffled(ins)
    spaces = {m.partition("::")[0] for m in ins.modifiers}
    if ISA[ins.opcode].meaning is not Meaning.LOADED or spaces & {"param", "const"}:
        return ()
    if ins.opcode == "atom" and "exch" not in ins.modifiers:
        return ()  # memory that nothing has written is a finding there
    return tuple(registers_of(ins.operands[0]))


def _shuffled(ins: Instruction) -> tuple[str, ...]:
    target = ins.operands[0]
    target = target.destination if isinstance(target, DestinationPair) else target
    return (target.name,) if isinstance(target, Register) else ()


def _sources(ins: Instruction) -> set[str]:
    carry = {CARRY} if ins.opcode in ("addc", "subc", "madc") else set()
    return carry | {name for operand in ins.operands[1:] for name in registers_of(operand)}


def _written(cx: Lowering, ins: Instruction) -> tuple[str, ...]:
    return (*cx.code.writes(ins), CARRY) if "cc" in ins.modifiers else cx.code.writes(ins)
