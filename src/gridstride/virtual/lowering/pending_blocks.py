"""Who runs next: the lanes that wait for each block of a function, at barriers and in loops that wait for others.

Every block has a pending mask: the lanes that wait to run it. A branch adds lanes to the pending masks of its targets,
then control goes to the lowest pending block (uniformity.py says which can be pending where, so this is a short chain
of tests, and no test at all where a branch is uniform).
"""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.virtual.abi.execution_records import LAUNCH, SPINNING, WARP
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.analysis.control_flow import waits
from gridstride.virtual.lowering.analysis.lane_frontiers import bits_of, may_split_warp
from gridstride.virtual.lowering.bounded_wait import patient
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.isa import ISA, Meaning
from gridstride.virtual.ptx.module import Immediate, Operand, Register

_EVERY_LANE = Immediate("int", -1)

SPIN_BUDGET = 64
"""Rounds a group of lanes may spin in a loop before another group of its warp, and then another warp, gets a turn."""


MOST_CHOICES = 8
"""Blocks that may run next for which a block's end holds tests of its own; a function that has more shares them."""


class PendingBlocks:
    """The pending masks of one function, and the jumps that they decide."""

    def __init__(self, cx: Lowering) -> None:
        self.cx, self.b = cx, cx.b
        self.facts, self.code = cx.facts, cx.code
        self.tangled = any(bits.bit_count() > MOST_CHOICES for bits in self.facts.frontier)
        if self.tangled:
            # Every block leads to every other through the shared tests: masks and registers stay in memory, for in
            # LLVM's form each of them would need a value per block there, and compiling would take minutes.
            self.facts.full_warp[:] = [False] * len(self.code.blocks)
            cx.registers.keep_slots()
        self.slots = [cx.registers.slot("i32") for _ in self.code.blocks]
        self.can_wait = 0
        for bits in self.facts.frontier:
            self.can_wait |= bits
        self.gates: dict[int, Value] = {
            self.code.successors[i][0]: cx.registers.slot("i64")
            for i, block in enumerate(self.code.blocks)
            if may_split_warp(self.code, self.facts.frontier, i) and self.code.successors[i]
        }
        self.returns = {
            self.code.successors[i][0]
            for i, block in enumerate(self.code.blocks)
            if block and block[-1].opcode == "call" and waits(block[-1])
        }
        """Of those gates, the ones where calls return: whoever is pending there is away."""
        self.freed = {target: cx.registers.slot("i32") for target in self.gates}
        """Lanes that a barrier let go and that have not run yet, when others came to be held for its next turn."""
        self.budget = cx.registers.slot("i32") if self.code.spin_edges else None
        self.turn = cx.registers.slot("i32") if self.code.spin_edges else Value("", "ptr")

    def start(self, mask: Value | None) -> None:
        """At the function's start; `mask` holds the lanes that enter it (None: all 32)."""
        b = self.b
        for slot in self.slots:
            b.store(constant("i32", 0), slot)
        for gate in self.gates.values():
            b.store(constant("i64", 0), gate)
        for freed in self.freed.values():
            b.store(constant("i32", 0), freed)
        if self.budget is not None:
            b.store(constant("i32", SPIN_BUDGET), self.budget)
            b.store(constant("i32", -1), self.turn)
        b.store(constant("i32", -1) if mask is None else mask, self.slots[0])

    def take(self, index: int) -> Value | None:
        """The lanes that run the block now, who no longer wait for it; None where all 32 do."""
        if index in self.gates:
            return self._released_lanes(index)
        if self.facts.full_warp[index]:
            return None
        b = self.b
        mask = b.load("i32", self.slots[index])
        if self.tangled or self.can_wait >> index & 1:
            b.store(constant("i32", 0), self.slots[index])
        return mask

    def elsewhere(self, index: int, target: int) -> Value:
        """Lanes of this activation that wait to run other blocks, or the one that the call returns to."""
        b, waiting = self.b, self.b.load("i32", self.freed[target])
        for f in bits_of(self.facts.frontier[index]):
            slots = [self.freed[f]] if f in self.freed else []
            for slot in [*slots, self.slots[f]]:
                waiting = b.op("or", waiting, b.load("i32", slot))
        return waiting

    def uniform(self, index: int, successors: Sequence[int]) -> None:
        """All lanes of the block go to one successor."""
        (target,) = successors
        self.add(target, self.cx.current_mask(), index)
        self.next(index, {target})

    def add(self, target: int, mask: Value, index: int) -> None:
        """Makes lanes wait for `target`; joins those that may wait there already."""
        if not self.facts.full_warp[target]:
            self.write(target, mask, index)

    def write(self, target: int, mask: Value, index: int) -> None:
        """The same, of a target that has lanes of its own."""
        if self.facts.frontier[index] >> target & 1:
            self.join(target, mask)
        else:
            self.b.store(mask, self.slots[target])

    def join(self, target: int, mask: Value) -> None:
        old = self.b.load("i32", self.slots[target])
        self.b.store(self.b.op("or", old, mask), self.slots[target])

    def clear(self, index: int, targets: Sequence[int]) -> None:
        """Empties the slots of targets that nobody can wait for yet: they hold what the last round left there."""
        for target in dict.fromkeys(targets):
            if not self.facts.frontier[index] >> target & 1:
                self.b.store(constant("i32", 0), self.slots[target])

    # -- who runs next ------------------------------------------------------------------------------------------------
    def next(self, index: int, chosen: set[int], *, certain: bool = True) -> None:
        """Goes to the lowest pending block; `chosen` got lanes just now. A loop's way back asks whether to stop."""
        back = [t for t in chosen if t <= index]
        if back:
            self._poll(index)
        if any((index, t) in self.code.spin_edges for t in chosen):
            self._rotate(index, chosen)
        candidates = sorted(set(bits_of(self.facts.frontier[index])) | chosen)
        sure = chosen if certain and len(chosen) == 1 else set()
        self._chain(candidates, sure, last_is_sure=certain and not self.gates.keys() & set(candidates))

    def go_on(self, index: int, *targets: int) -> None:
        """Goes to the lowest pending block, of those that lanes may wait for already and `targets`."""
        self._chain(sorted({*bits_of(self.facts.frontier[index]), *targets}), set(), last_is_sure=False)

    def _chain(self, candidates: Sequence[int], sure: set[int], *, last_is_sure: bool) -> None:
        b = self.b
        if self.tangled and len(candidates) > MOST_CHOICES:
            b.jump(f"who_{candidates[0]}")
            return
        if candidates and candidates[0] in sure and candidates[0] not in self.gates:
            b.jump(f"B{candidates[0]}")
            return
        retry = b.new_label("who")
        b.start(retry)
        for position, c in enumerate(candidates):
            if c not in self.gates and (c in sure or (last_is_sure and position == len(candidates) - 1)):
                b.jump(f"B{c}")
                return
            skip = b.new_label("skip")
            b.branch(self._ready(c), f"B{c}", skip)
            b.start(skip)
        self._nobody([c for c in candidates if c in self.gates], retry)

    def shared_tests(self) -> None:
        """One test after the other for all blocks; a block's end enters where its lowest candidate stands."""
        b = self.b
        for c in range(len(self.code.blocks)):
            b.terminated = c == 0
            b.start(f"who_{c}")
            skip = b.new_label("skip")
            b.branch(self._ready(c), f"B{c}", skip)
            b.start(skip)
        self._nobody(sorted(self.gates), "who_0")
        if self.budget is not None:
            b.start("rotate")
            self._turns(range(len(self.code.blocks)), "who_0")

    def _ready(self, target: int) -> Value:
        """An i1: lanes wait for the block and no barrier holds them."""
        b = self.b
        waiting = b.compare("ne", b.load("i32", self.slots[target]), constant("i32", 0))
        if target not in self.gates:
            return waiting
        freed = b.compare("ne", b.load("i32", self.freed[target]), constant("i32", 0))
        if target in self.returns:
            return freed
        return b.op("or", freed, b.op("and", waiting, self._open(target)))

    def _nobody(self, gated: Sequence[int], retry: str) -> None:
        """No block can run: wait where lanes are held at a barrier, else the function is over."""
        b = self.b
        if gated:
            held = b.load("i32", self.slots[gated[0]])
            for c in gated[1:]:
                held = b.op("or", held, b.load("i32", self.slots[c]))
            wait = b.new_label("wait")
            over = b.new_label("over")
            b.branch(b.compare("ne", held, constant("i32", 0)), wait, over)
            b.start(wait)
            b.call("void", "gs_wait_any", self.cx.warp)
            b.jump(retry)
            b.start(over)
        b.ret()

    def _poll(self, index: int) -> None:
        """Leaves the kernel when the launch was stopped: time limit, fault elsewhere, Ctrl-C."""
        b, cx = self.b, self.cx
        abort = b.load("i32", b.offset(cx.field("launch"), LAUNCH.offset["abort"]), volatile=True)
        stop = b.compare("ne", abort, constant("i32", 0))
        stopped, go = b.new_label("stopped"), b.new_label("go")
        b.branch(stop, stopped, go)
        b.start(stopped)
        site = cx.program.site_of_loop(cx, index)
        b.call("void", "gs_stop", cx.warp, constant("i32", site))
        b.jump(go)
        b.start(go)

    def _rotate(self, index: int, chosen: set[int]) -> None:
        """A spinning group gives way, after its budget, to other groups and warps: one may hold what it waits for."""
        b, cx = self.b, self.cx
        assert self.budget is not None
        budget = b.op("sub", b.load("i32", self.budget), constant("i32", 1))
        b.store(budget, self.budget)
        tired, on = b.new_label("tired"), b.new_label("on")
        b.branch(b.compare("slt", budget, constant("i32", 0)), tired, on)
        b.start(tired)
        b.store(constant("i32", SPIN_BUDGET), self.budget)
        if self.code.bounded_waits.issuperset((index, t) for t in chosen if (index, t) in self.code.spin_edges):
            weary = b.new_label("weary")
            b.branch(patient(cx, SPIN_BUDGET + 1), on, weary)
            b.start(weary)
        b.put(cx.warp, WARP, "site", cx.program.site_of_loop(cx, index))
        b.call("void", "gs_yield", cx.warp, constant("i32", SPINNING))
        spinning = {t for t in chosen if (index, t) in self.code.spin_edges}
        candidates = sorted({*bits_of(self.facts.frontier[index]), *chosen} - spinning)
        if self.tangled and len(candidates) > MOST_CHOICES:
            b.jump("rotate")
            b.terminated = True
        else:
            self._turns(candidates, on)
        b.start(on)

    def _turns(self, candidates: Sequence[int], on: str) -> None:
        """Goes to the next ready block after the one that had the last turn, else to `on`.

        The lowest group gets control back at its next branch, so starting from it would never reach a third one. Those
        that could only wait for the spinning lanes themselves get no turn.
        """
        b = self.b
        last = b.load("i32", self.turn)
        able = [c for c in candidates if not self._awaits_the_warp(c)]
        for floor in (last, constant("i32", -1)):
            for c in able:
                ready = b.op("and", self._ready(c), b.compare("slt", floor, constant("i32", c)))
                go, skip = b.new_label("go"), b.new_label("skip")
                b.branch(ready, go, skip)
                b.start(go)
                b.store(constant("i32", c), self.turn)
                b.jump(f"B{c}")
                b.start(skip)
        b.jump(on)

    def _awaits_the_warp(self, index: int) -> bool:
        """Whether a block names all lanes of the warp before it does anything that others see.

        `__syncwarp()`, votes and shuffles with the full mask go on with every lane or not at all.
        """
        for ins in self.code.blocks[index]:
            if "sync" in ins.modifiers and ins.operands and self._is_every_lane(ins.operands[-1]):
                return True
            if ISA[ins.opcode].meaning in (Meaning.USED, Meaning.ENDS) or ins.opcode in ("atom", "red"):
                return False
        return False

    def _is_every_lane(self, mask: Operand) -> bool:
        if not isinstance(mask, Register):
            return mask == _EVERY_LANE
        writers = [ins for block in self.code.blocks for ins in block if ins.operands and ins.operands[0] == mask]
        return [ins.opcode for ins in writers] == ["mov"] and writers[0].operands[1] == _EVERY_LANE

    # -- barriers -----------------------------------------------------------------------------------------------------
    def hold(self, target: int, phase: Value, passed: Value | None) -> None:
        """Holds the block's lanes at a barrier; those it has let go meanwhile are not to wait again.

        `passed`: of the lanes, those whose turn at the cluster's barrier is over already.
        """
        b, zero = self.b, constant("i32", 0)
        opened, was = self._open(target), b.load("i32", self.slots[target])
        freed = b.op("or", b.load("i32", self.freed[target]), b.select(opened, was, zero))
        lanes = self.cx.current_mask()
        if passed is not None:
            lanes, freed = b.op("xor", lanes, passed), b.op("or", freed, passed)
            phase = b.select(b.compare("ne", lanes, zero), phase, b.load("i64", self.gates[target]))
        b.store(freed, self.freed[target])
        held = b.op("or", b.select(opened, zero, was), lanes)
        b.store(held, self.slots[target])
        b.store(phase, self.gates[target])

    def _released_lanes(self, index: int) -> Value:
        """The lanes that go on after a barrier: those let go before, else all that are held at the open gate."""
        b, zero = self.b, constant("i32", 0)
        if index in self.returns:
            back = b.load("i32", self.freed[index])
            b.store(zero, self.freed[index])
            return back
        freed, held = b.load("i32", self.freed[index]), b.load("i32", self.slots[index])
        earlier = b.compare("ne", freed, zero)
        b.store(zero, self.freed[index])
        b.store(b.select(earlier, held, zero), self.slots[index])
        return b.select(earlier, freed, held)

    def _open(self, target: int) -> Value:
        phase = self.b.load("i64", self.gates[target])
        return self.b.call("i1", "gs_gate_open", self.cx.warp, phase)
