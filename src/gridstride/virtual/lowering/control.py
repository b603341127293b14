"""The ends of blocks: branches, calls, returns and barriers; pending_blocks.py has who runs next."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import WARP
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.analysis.control_flow import ends_lanes, last_of, waits
from gridstride.virtual.lowering.barrier_operands import barrier_operands
from gridstride.virtual.lowering.calls import return_registers
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instruction_lowering import lower_instruction
from gridstride.virtual.lowering.pending_blocks import PendingBlocks
from gridstride.virtual.lowering.subwarp_calls import split_call
from gridstride.virtual.ptx.flow.cfg import ends_block
from gridstride.virtual.ptx.module import Instruction, LabelRef


class Flow:
    """Writes a function's blocks in order, with their pending masks."""

    def __init__(self, cx: Lowering, labels: dict[str, int]) -> None:
        self.cx, self.b, self.labels = cx, cx.b, labels
        self.facts, self.code = cx.facts, cx.code
        self.pending = PendingBlocks(cx)

    def write(self, mask: Value | None) -> None:
        """All blocks; `mask` holds the lanes that enter the function (None: all 32)."""
        b = self.b
        self.pending.start(mask)
        b.jump("B0")
        for index in range(len(self.code.blocks)):
            self._block(index)
        if self.pending.tangled:
            self.pending.shared_tests()

    def _block(self, index: int) -> None:
        b, cx = self.b, self.cx
        b.terminated = True
        b.start(f"B{index}")
        cx.begin(index, self.pending.take(index))
        block = self.code.blocks[index]
        cx.program.observer.block(cx, index)
        for ins in block:
            if ins is block[-1] and (ends_block(ins) or waits(ins)):
                break
            if ins.opcode == "released":
                self._take_vote(ins)
            else:
                lower_instruction(cx, ins)
        self._end(index, last_of(block))

    def _live_after(self, index: int) -> set[str]:
        live: set[str] = set(self.facts.kept_registers[index])
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
        elif ends_lanes(last):
            self._leave(index, last)
        elif last.opcode == "call":
            self._held_call(index, last)
        else:
            self._barrier(index, last)

    def _fall(self, index: int) -> None:
        """A block without a branch goes on to the next, or, at the end of the text, returns."""
        if self.code.successors[index]:
            self.cx.registers.flush(self._live_after(index))
            last = last_of(self.code.blocks[index])
            if last is not None and last.opcode == "call":
                self._after_call(index)
            else:
                self.pending.uniform(index, self.code.successors[index])
            return
        self.b.call("void", "gs_exit", self.cx.warp, self.cx.current_mask())
        self.pending.go_on(index)

    def _after_call(self, index: int) -> None:
        """Lanes may have ended in the function; what is left of the group goes on."""
        b, cx = self.b, self.cx
        (target,) = self.code.successors[index]
        live_lanes = b.op("and", cx.current_mask(), b.get(cx.warp, WARP, "live"))
        self.pending.add(target, live_lanes, index)
        self.pending.go_on(index, target)

    def _held_call(self, index: int, last: Instruction) -> None:
        """A call of a function that may wait: part of the warp goes to it on a fiber of its own."""
        cx = self.cx
        (target,) = self.code.successors[index]
        if target not in self.pending.gates:  # all lanes of this activation call one function together
            cx.registers.flush(self._live_after(index))
            cx.program.emitters["call"](cx, last)
            self._after_call(index)
            return
        cx.registers.flush(self._live_after(index))
        split_call(
            cx,
            last,
            lambda: self.pending.elsewhere(index, target),
            self.pending.slots[target],
            self.pending.freed[target],
        )
        self.pending.go_on(index, target)

    # -- branches -----------------------------------------------------------------------------------------------------
    def _branch(self, index: int, last: Instruction) -> None:
        cx, b = self.cx, self.b
        successors = self.code.successors[index]
        if last.guard is None or len(set(successors)) == 1:
            cx.registers.flush(self._live_after(index))
            self.pending.uniform(index, successors[:1])
            return
        cx.program.observer.guarded(cx)
        guard = cx.guard()
        assert guard is not None
        cx.registers.flush(self._live_after(index))
        jump, fall_through = successors
        if not guard.wide:
            yes, no = b.new_label("yes"), b.new_label("no")
            b.branch(guard, yes, no)
            for label, target in ((yes, jump), (no, fall_through)):
                b.terminated = True
                b.start(label)
                self.pending.uniform(index, (target,))
            return
        active_lanes = cx.current_mask()
        mask = b.op("and", active_lanes, cx.mask_of(guard))
        remaining = b.op("xor", active_lanes, mask)
        cx.program.observer.branch(cx, mask, remaining)
        self.pending.add(jump, mask, index)
        self.pending.add(fall_through, remaining, index)
        self.pending.next(index, {jump, fall_through})

    def _indexed(self, index: int, last: Instruction) -> None:
        cx, b = self.cx, self.b
        table = last.operands[1]
        assert isinstance(table, LabelRef)
        names = self.code.branch_targets[table.name]
        targets = [self.labels[n] for n in names]
        cx.program.observer.guarded(cx)
        which = cx.value(last.operands[0], "u32")
        cx.registers.flush(self._live_after(index))
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
                self.pending.uniform(index, (target,))
            return
        self.pending.clear(index, targets)
        for i, target in enumerate(targets):
            chosen = b.bitcast(b.compare("eq", which, constant(which.type, i)), "i32")
            self.pending.join(target, b.op("and", cx.current_mask(), chosen))
        self.pending.next(index, set(targets), certain=False)

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
            self.pending.go_on(index)
            return
        guard = cx.guard()
        assert guard is not None
        cx.registers.flush(self._live_after(index))
        (target,) = self.code.successors[index]
        remaining = b.op("and", cx.current_mask(), b.op("xor", gone, constant("i32", -1)))
        self.pending.write(target, remaining, index)
        self.pending.go_on(index, target)

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
        cx.program.observer.barrier(cx, index, number, self.pending.slots, self.pending.gates)
        converged = not self.facts.frontier[index]
        passed: Value | None = None
        if cluster:
            if not converged:
                passed = b.call("i32", "gs_cluster_passed", cx.warp, cx.current_mask())
            phase = b.call("i64", "gs_cluster_token", cx.warp, site, cx.current_mask())
            if converged:
                b.call("void", "gs_wait", cx.warp, phase)
        elif converged and (which.name, count.name) == ("0", "0") and "vote" not in last.modifiers:
            b.call("void", "gs_sync", cx.warp, cx.current_mask(), site)
        else:
            phase = b.call("i64", "gs_arrive", cx.warp, which, count, cx.current_mask(), vote, site)
            if converged:
                b.call("void", "gs_wait", cx.warp, phase)
        if converged:
            cx.registers.flush(self._live_after(index))
            self.pending.uniform(index, self.code.successors[index])
            return
        cx.registers.flush(self._live_after(index))
        (target,) = self.code.successors[index]
        self.pending.hold(target, phase, passed)
        self.pending.go_on(index, target)

    def _take_vote(self, ins: Instruction) -> None:
        """`released`: what a barrier's reduction gives, in the lanes that it just let go."""
        cx, b = self.cx, self.b
        cx.ins = ins
        result = b.call("i32", "gs_barrier_result", cx.warp, cx.scalar(ins.operands[1], "u32"))
        if "popc" not in ins.modifiers:
            # Votes count the lanes whose predicate is false for `and`, those where it is true for `or`.
            result = b.compare("eq" if "and" in ins.modifiers else "ne", result, constant("i32", 0))
        cx.set(ins.operands[0], result)
