"""The ends of blocks: branches, returns, barriers, and who runs next.

Every block has a pending mask: the lanes that wait to run it. A branch adds lanes to the pending masks of its targets,
then control goes to the lowest pending block (uniformity.py says which can be pending where, so this is a short chain
of tests, and no test at all where a branch is uniform).
"""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.virtual.abi.layout import FAULT, LAUNCH, SPINNING, WARP
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.analysis.uniformity import bits_of, last_of, leaves, parts, waits
from gridstride.virtual.lowering.bounded_wait import patient
from gridstride.virtual.lowering.calls import call, return_registers
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.subwarp_calls import split_call
from gridstride.virtual.ptx.flow.cfg import ends_block
from gridstride.virtual.ptx.isa import ISA, Meaning
from gridstride.virtual.ptx.module import Immediate, Instruction, LabelRef, Operand, Register

_EVERY_LANE = Immediate("int", -1)

SPIN_BUDGET = 64
"""Rounds a group of lanes may spin in a loop before another group of its warp, and then another warp, gets a turn."""


MOST_CHOICES = 8
"""Blocks that may run next for which a block's end holds tests of its own; a function that has more shares them."""


class Flow:
    """Writes a function's blocks in order, with their pending masks."""

    def __init__(self, cx: Lowering, labels: dict[str, int]) -> None:
        self.cx, self.b, self.labels = cx, cx.b, labels
        self.facts, self.code = cx.facts, cx.code
        self.tangled = any(bits.bit_count() > MOST_CHOICES for bits in self.facts.frontier)
        if self.tangled:
            # Every block leads to every other through the shared tests: masks and registers stay in memory, for in
            # LLVM's form each of them would need a value per block there, and compiling would take minutes.
            self.facts.whole[:] = [False] * len(self.code.blocks)
            cx.keep_slots()
        self.pending = [cx.slot("i32") for _ in self.code.blocks]
        self.can_wait = 0
        for bits in self.facts.frontier:
            self.can_wait |= bits
        self.gates: dict[int, Value] = {
            self.code.successors[i][0]: cx.slot("i64")
            for i, block in enumerate(self.code.blocks)
            if parts(self.code, self.facts.frontier, i) and self.code.successors[i]
        }
        self.returns = {
            self.code.successors[i][0]
            for i, block in enumerate(self.code.blocks)
            if block and block[-1].opcode == "call" and waits(block[-1])
        }
        """Of those gates, the ones where calls return: whoever is pending there is away."""
        self.freed = {target: cx.slot("i32") for target in self.gates}
        """Lanes that a barrier let go and that have not run yet, when others came to be held for its next turn."""
        self.budget = cx.slot("i32") if self.code.spin_edges else None
        self.turn = cx.slot("i32") if self.code.spin_edges else Value("", "ptr")

    def write(self, mask: Value | None) -> None:
        """All blocks; `mask` holds the lanes that enter the function (None: all 32)."""
        b = self.b
        for slot in self.pending:
            b.store(constant("i32", 0), slot)
        for gate in self.gates.values():
            b.store(constant("i64", 0), gate)
        for freed in self.freed.values():
            b.store(constant("i32", 0), freed)
        if self.budget is not None:
            b.store(constant("i32", SPIN_BUDGET), self.budget)
            b.store(constant("i32", -1), self.turn)
        b.store(constant("i32", -1) if mask is None else mask, self.pending[0])
        b.jump("B0")
        for index in range(len(self.code.blocks)):
            self._block(index)
        if self.tangled:
            self._shared_tests()

    def _block(self, index: int) -> None:
        b, cx = self.b, self.cx
        b.terminated = True
        b.start(f"B{index}")
        mask = None
        if index in self.gates:
            mask = self._let_go(index)
        elif not self.facts.whole[index]:
            mask = b.load("i32", self.pending[index])
            if self.tangled or self.can_wait >> index & 1:
                b.store(constant("i32", 0), self.pending[index])
        cx.begin(index, mask)
        block = self.code.blocks[index]
        cx.program.observer.block(cx, index)
        for ins in block:
            if ins is block[-1] and (ends_block(ins) or waits(ins)):
                break
            if ins.opcode == "released":
                self._take_vote(ins)
            else:
                cx.lower(ins)
        self._end(index, last_of(block))

    def _live_after(self, index: int) -> set[str]:
        live: set[str] = set(self.facts.kept[index])
        for s in self.code.successors[index]:
            live |= self.code.live_in[s]
        return live

    def _end(self, index: int, last: Instruction | None) -> None:
        cx = self.cx
        if last is None or not (ends_block(last) or waits(last)):
            self._fall(index)
            return
        cx.ins = last
        if last.opcode == "bra":
            self._branch(index, last)
        elif last.opcode == "brx":
            self._indexed(index, last)
        elif leaves(last):
            self._leave(index, last)
        elif last.opcode == "call":
            self._held_call(index, last)
        else:
            self._barrier(index, last)

    def _fall(self, index: int) -> None:
        """A block without a branch goes on to the next, or, at the end of the text, returns."""
        if self.code.successors[index]:
            self.cx.flush(self._live_after(index))
            last = last_of(self.code.blocks[index])
            if last is not None and last.opcode == "call":
                self._after_call(index)
            else:
                self._uniform(index, self.code.successors[index])
            return
        self.b.call("void", "gs_exit", self.cx.warp, self.cx.current_mask())
        self._chain(sorted(bits_of(self.facts.frontier[index])), set(), last_is_sure=False)

    def _after_call(self, index: int) -> None:
        """Lanes may have ended in the function; what is left of the group goes on."""
        b, cx = self.b, self.cx
        (target,) = self.code.successors[index]
        here = b.op("and", cx.current_mask(), b.get(cx.warp, WARP, "live"))
        self._add(target, here, index)
        self._chain(sorted({*bits_of(self.facts.frontier[index]), target}), set(), last_is_sure=False)

    def _held_call(self, index: int, last: Instruction) -> None:
        """A call of a function that may wait: part of the warp goes to it on a fiber of its own."""
        cx = self.cx
        (target,) = self.code.successors[index]
        if target not in self.gates:  # all lanes of this activation call one function together
            cx.flush(self._live_after(index))
            call(cx, last)
            self._after_call(index)
            return
        cx.flush(self._live_after(index))
        split_call(cx, last, lambda: self._elsewhere(index, target), self.pending[target], self.freed[target])
        self._chain(sorted({*bits_of(self.facts.frontier[index]), target}), set(), last_is_sure=False)

    def _elsewhere(self, index: int, target: int) -> Value:
        """Lanes of this activation that wait to run other blocks, or the one that the call returns to."""
        b, others = self.b, self.b.load("i32", self.freed[target])
        for f in bits_of(self.facts.frontier[index]):
            slots = [self.freed[f]] if f in self.freed else []
            for slot in [*slots, self.pending[f]]:
                others = b.op("or", others, b.load("i32", slot))
        return others

    # -- branches -----------------------------------------------------------------------------------------------------
    def _branch(self, index: int, last: Instruction) -> None:
        cx, b = self.cx, self.b
        successors = self.code.successors[index]
        if last.guard is None or len(set(successors)) == 1:
            cx.flush(self._live_after(index))
            self._uniform(index, successors[:1])
            return
        cx.program.observer.guarded(cx)
        guard = cx.guard()
        assert guard is not None
        cx.flush(self._live_after(index))
        taken, other = successors
        if not guard.wide:
            yes, no = b.new_label("yes"), b.new_label("no")
            b.branch(guard, yes, no)
            for label, target in ((yes, taken), (no, other)):
                b.terminated = True
                b.start(label)
                self._uniform(index, (target,))
            return
        here = cx.current_mask()
        mask = b.op("and", here, cx.mask_of(guard))
        rest = b.op("xor", here, mask)
        cx.program.observer.branch(cx, mask, rest)
        self._add(taken, mask, index)
        self._add(other, rest, index)
        self._next(index, {taken, other})

    def _indexed(self, index: int, last: Instruction) -> None:
        cx, b = self.cx, self.b
        table = last.operands[1]
        assert isinstance(table, LabelRef)
        names = self.code.branch_targets[table.name]
        targets = [self.labels[n] for n in names]
        cx.program.observer.guarded(cx)
        which = cx.value(last.operands[0], "u32")
        cx.flush(self._live_after(index))
        # Lanes whose index is past the table's end take the last entry: the ISA leaves them undefined.
        limit = constant(which.type, len(targets) - 1)
        which = b.select(b.compare("ult", which, limit), which, limit)
        if not which.wide:
            labels = [b.new_label("case") for _ in targets]
            cases = " ".join(f"i32 {i}, label %{name}" for i, name in enumerate(labels))
            b.emit(f"switch i32 {which.name}, label %{labels[-1]} [{cases}]")
            for name, target in zip(labels, targets, strict=True):
                b.terminated = True
                b.start(name)
                self._uniform(index, (target,))
            return
        for target in dict.fromkeys(targets):
            # Where nobody can wait for the target already, its slot holds what the last round left there.
            if not self.facts.frontier[index] >> target & 1:
                b.store(constant("i32", 0), self.pending[target])
        for i, target in enumerate(targets):
            chosen = b.bitcast(b.compare("eq", which, constant(which.type, i)), "i32")
            self._join(target, b.op("and", cx.current_mask(), chosen))
        self._next(index, set(targets), certain=False)

    def _uniform(self, index: int, successors: Sequence[int]) -> None:
        """All lanes of the block go to one successor."""
        (target,) = successors
        self._add(target, self.cx.current_mask(), index)
        self._next(index, {target})

    def _add(self, target: int, mask: Value, index: int) -> None:
        """Makes lanes wait for `target`; joins those that may wait there already."""
        if self.facts.whole[target]:
            return
        if self.facts.frontier[index] >> target & 1:
            self._join(target, mask)
        else:
            self.b.store(mask, self.pending[target])

    def _join(self, target: int, mask: Value) -> None:
        old = self.b.load("i32", self.pending[target])
        self.b.store(self.b.op("or", old, mask), self.pending[target])

    # -- who runs next ------------------------------------------------------------------------------------------------
    def _next(self, index: int, chosen: set[int], *, certain: bool = True) -> None:
        """Goes to the lowest pending block; `chosen` got lanes just now. A loop's way back asks whether to stop."""
        back = [t for t in chosen if t <= index]
        if back:
            self._poll(index)
        if any((index, t) in self.code.spin_edges for t in chosen):
            self._rotate(index, chosen)
        candidates = sorted(set(bits_of(self.facts.frontier[index])) | chosen)
        sure = chosen if certain and len(chosen) == 1 else set()
        self._chain(candidates, sure, last_is_sure=certain and not self.gates.keys() & set(candidates))

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

    def _shared_tests(self) -> None:
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
        waiting = b.compare("ne", b.load("i32", self.pending[target]), constant("i32", 0))
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
            held = b.load("i32", self.pending[gated[0]])
            for c in gated[1:]:
                held = b.op("or", held, b.load("i32", self.pending[c]))
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
        left = b.op("sub", b.load("i32", self.budget), constant("i32", 1))
        b.store(left, self.budget)
        tired, on = b.new_label("tired"), b.new_label("on")
        b.branch(b.compare("slt", left, constant("i32", 0)), tired, on)
        b.start(tired)
        b.store(constant("i32", SPIN_BUDGET), self.budget)
        if self.code.bounded_waits.issuperset((index, t) for t in chosen if (index, t) in self.code.spin_edges):
            weary = b.new_label("weary")
            b.branch(patient(cx, SPIN_BUDGET + 1), on, weary)
            b.start(weary)
        b.put(cx.warp, WARP, "site", cx.program.site_of_loop(cx, index))
        b.call("void", "gs_yield", cx.warp, constant("i32", SPINNING))
        spinning = {t for t in chosen if (index, t) in self.code.spin_edges}
        others = sorted({*bits_of(self.facts.frontier[index]), *chosen} - spinning)
        if self.tangled and len(others) > MOST_CHOICES:
            b.jump("rotate")
            b.terminated = True
        else:
            self._turns(others, on)
        b.start(on)

    def _turns(self, others: Sequence[int], on: str) -> None:
        """Goes to the next ready block after the one that had the last turn, else to `on`.

        The lowest group gets control back at its next branch, so starting from it would never reach a third one. Those
        that could only wait for the spinning lanes themselves get no turn.
        """
        b = self.b
        last = b.load("i32", self.turn)
        able = [c for c in others if not self._awaits_the_warp(c)]
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
        made = [ins for block in self.code.blocks for ins in block if ins.operands and ins.operands[0] == mask]
        return [ins.opcode for ins in made] == ["mov"] and made[0].operands[1] == _EVERY_LANE

    # -- leaving ------------------------------------------------------------------------------------------------------
    def _leave(self, index: int, last: Instruction) -> None:
        cx, b = self.cx, self.b
        frontier = self.facts.frontier[index]
        if last.guard is not None:
            cx.program.observer.guarded(cx)
        gone = cx.active()
        if last.opcode == "trap":
            self._trap(gone)
        elif last.opcode == "ret" and not cx.code.entry:
            return_registers(cx)
        elif (last.opcode == "exit" or cx.code.entry) and (frontier or last.guard is not None or not cx.code.entry):
            b.call("void", "gs_exit", cx.warp, gone)
        if last.guard is None:
            self._chain(sorted(bits_of(frontier)), set(), last_is_sure=False)
            return
        guard = cx.guard()
        assert guard is not None
        cx.flush(self._live_after(index))
        (target,) = self.code.successors[index]
        rest = b.op("and", cx.current_mask(), b.op("xor", gone, constant("i32", -1)))
        self._join(target, rest) if frontier >> target & 1 else b.store(rest, self.pending[target])
        self._chain(sorted({*bits_of(frontier), target}), set(), last_is_sure=False)

    def _trap(self, lanes: Value) -> None:
        b, cx = self.b, self.cx
        any_lane = b.compare("ne", lanes, constant("i32", 0))
        with b.if_(any_lane):
            site = constant("i32", cx.program.site(cx))
            kind = constant("i32", FAULT["trap"])
            b.call("void", "gs_fault", cx.warp, site, kind, lanes, constant("i64", 0), constant("i32", 0))

    # -- barriers -----------------------------------------------------------------------------------------------------
    def _barrier(self, index: int, last: Instruction) -> None:
        """`bar.sync`, `bar.red`, `barrier.sync`: the block's lanes arrive, then wait."""
        cx, b = self.cx, self.b
        cluster = "cluster" in last.modifiers
        zero = constant("i32", 0)
        which, count, vote = (zero, zero, zero) if cluster else barrier_operands(cx, last)
        number = cx.program.site(cx)
        site = constant("i32", number)
        cx.program.observer.guarded(cx)
        cx.program.observer.barrier(cx, index, number, self.pending, self.gates)
        together = not self.facts.frontier[index]
        passed: Value | None = None
        if cluster:
            if not together:
                passed = b.call("i32", "gs_cluster_passed", cx.warp, cx.current_mask())
            phase = b.call("i64", "gs_cluster_token", cx.warp, site, cx.current_mask())
            if together:
                b.call("void", "gs_wait", cx.warp, phase)
        elif together and (which.name, count.name) == ("0", "0") and "vote" not in last.modifiers:
            b.call("void", "gs_sync", cx.warp, cx.current_mask(), site)
        else:
            phase = b.call("i64", "gs_arrive", cx.warp, which, count, cx.current_mask(), vote, site)
            if together:
                b.call("void", "gs_wait", cx.warp, phase)
        if together:
            cx.flush(self._live_after(index))
            self._uniform(index, self.code.successors[index])
            return
        cx.flush(self._live_after(index))
        (target,) = self.code.successors[index]
        self._hold(target, phase, passed)
        self._chain(sorted({*bits_of(self.facts.frontier[index]), target}), set(), last_is_sure=False)

    def _take_vote(self, ins: Instruction) -> None:
        """`released`: what a barrier's reduction gives, in the lanes that it just let go."""
        cx, b = self.cx, self.b
        cx.ins = ins
        result = b.call("i32", "gs_barrier_result", cx.warp, cx.scalar(ins.operands[1], "u32"))
        if "popc" not in ins.modifiers:
            # Votes count the lanes whose predicate is false for `and`, those where it is true for `or`.
            result = b.compare("eq" if "and" in ins.modifiers else "ne", result, constant("i32", 0))
        cx.set(ins.operands[0], result)

    def _hold(self, target: int, phase: Value, passed: Value | None) -> None:
        """Holds the block's lanes at a barrier; those it has let go meanwhile are not to wait again.

        `passed`: of the lanes, those whose turn at the cluster's barrier is over already.
        """
        b, zero = self.b, constant("i32", 0)
        opened, was = self._open(target), b.load("i32", self.pending[target])
        freed = b.op("or", b.load("i32", self.freed[target]), b.select(opened, was, zero))
        here = self.cx.current_mask()
        if passed is not None:
            here, freed = b.op("xor", here, passed), b.op("or", freed, passed)
            phase = b.select(b.compare("ne", here, zero), phase, b.load("i64", self.gates[target]))
        b.store(freed, self.freed[target])
        held = b.op("or", b.select(opened, zero, was), here)
        b.store(held, self.pending[target])
        b.store(phase, self.gates[target])

    def _let_go(self, index: int) -> Value:
        """The lanes that go on after a barrier: those let go before, else all that are held at the open gate."""
        b, zero = self.b, constant("i32", 0)
        if index in self.returns:
            back = b.load("i32", self.freed[index])
            b.store(zero, self.freed[index])
            return back
        freed, held = b.load("i32", self.freed[index]), b.load("i32", self.pending[index])
        earlier = b.compare("ne", freed, zero)
        b.store(zero, self.freed[index])
        b.store(b.select(earlier, held, zero), self.pending[index])
        return b.select(earlier, freed, held)

    def _open(self, target: int) -> Value:
        phase = self.b.load("i64", self.gates[target])
        return self.b.call("i1", "gs_gate_open", self.cx.warp, phase)


def barrier_operands(cx: Lowering, last: Instruction) -> tuple[Value, Value, Value]:
    """Barrier number, thread count (0: the whole block) and the i32 mask of votes of a bar/barrier instruction."""
    b = cx.b
    operands = list(last.operands)
    vote = constant("i32", 0)
    if "vote" in last.modifiers:
        predicate = cx.vector(operands.pop(), "pred")
        if "and" in last.modifiers:
            predicate = cx.negate(predicate)
        vote = b.op("and", b.bitcast(predicate, "i32"), cx.current_mask())
    which = _of_the_warp(cx, operands[0])
    count = _of_the_warp(cx, operands[1]) if len(operands) > 1 else constant("i32", 0)
    return which, count, vote


def _of_the_warp(cx: Lowering, operand: Operand) -> Value:
    """A number that the lanes at a barrier agree on, as `1 + threadIdx.x / 128` does; a fault where they do not."""
    if cx.uniform(operand):
        return cx.scalar(operand, "u32")
    b, zero = cx.b, constant("i32", 0)
    values, mask = cx.vector(operand, "u32"), cx.active()
    first = b.op("and", b.intrinsic("cttz", mask, constant("i1", False)), constant("i32", 31))
    value = b.extract(values, first)
    others = b.op("and", b.bitcast(b.compare("ne", values, b.splat(value)), "i32"), mask)
    with b.if_(b.compare("ne", others, zero)):
        kind, site = constant("i32", FAULT["invalid_instruction"]), constant("i32", cx.program.site(cx))
        b.call("void", "gs_fault", cx.warp, site, kind, others, constant("i64", 0), zero)
    return value


__all__ = ["WARP", "Flow", "barrier_operands", "wide"]
