"""A second opinion on what a PTX kernel does: an interpreter that runs one thread at a time in plain Python.

It knows integers, predicates, branches, barriers, global and shared memory, and shares nothing with the lowering: no
warps, no masks, no machine code. Threads of a block are generators that yield at barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gridstride.virtual.ptx.module import (
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Negated,
    Operand,
    PtxModule,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

Dim3 = tuple[int, int, int]
WIDTH = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16}
WIDTH |= {f"{kind}{n}": n for kind in "bus" for n in (32, 64)}
MOST_STEPS = 1_000_000


class Wrong(Exception):
    """The kernel does what it must not, or what the interpreter does not know."""


@dataclass(slots=True)
class Memory:
    """Buffers by the address at which the virtual GPU holds them."""

    buffers: dict[int, bytearray] = field(default_factory=dict)

    def find(self, address: int, size: int) -> tuple[bytearray, int]:
        if address % size:
            raise Wrong(f"{size} bytes at {address:#x} are not aligned")
        for start, data in self.buffers.items():
            if start <= address and address + size <= start + len(data):
                return data, address - start
        raise Wrong(f"{size} bytes at {address:#x} are in no buffer")


@dataclass(slots=True)
class Block:
    """What the threads of a block share."""

    ctaid: Dim3
    shared: Memory


@dataclass(slots=True)
class Thread:
    """One thread's registers and place."""

    block: Block
    number: int
    tid: Dim3
    registers: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Arrival:
    """A thread at a barrier; `count` 0 means the whole block. `take` receives what bar.red gives back."""

    barrier: int
    count: int
    vote: bool = False
    take: Callable[[int, int], None] | None = None


Read = Callable[[Thread], int]
Act = Callable[[Thread], Any]
EXIT = "exit"


def signed(value: int, width: int) -> int:
    """Two's complement."""
    return value - (1 << width) if value >> (width - 1) & 1 else value


def run(module: PtxModule, name: str, grid: Dim3, block: Dim3, parameters: Sequence[int], memory: Memory) -> None:
    """Executes a kernel on `memory`; parameters are integers."""
    Interpreter(module, module.functions[name], grid, block, parameters, memory).run()


class Interpreter:
    """A kernel turned into one Python function per instruction, and the launch that runs them."""

    def __init__(
        self, module: PtxModule, function: Function, grid: Dim3, block: Dim3, parameters: Sequence[int], memory: Memory
    ) -> None:
        self.function, self.grid, self.block, self.memory = function, grid, block, memory
        self.parameters = {v.name: p for v, p in zip(function.params, parameters, strict=True)}
        self.offsets: dict[str, int] = {}
        self.shared_size = 0
        for variables in (module.variables, function.variables):
            for key, variable in variables.items():
                if variable.space == "shared":
                    self.offsets[key] = -(-self.shared_size // 16) * 16
                    self.shared_size = self.offsets[key] + variable.size
        instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        for statement in function.body:
            if isinstance(statement, Label):
                self.labels[statement.name] = len(instructions)
            else:
                instructions.append(statement)
        self.code = [(self._guard(ins), self._action(ins)) for ins in instructions]

    # -- the launch ---------------------------------------------------------------------------------------------------
    def run(self) -> None:
        """Every block, one after the other."""
        for z in range(self.grid[2]):
            for y in range(self.grid[1]):
                for x in range(self.grid[0]):
                    self._block((x, y, z))

    def _block(self, ctaid: Dim3) -> None:
        shared = Block(ctaid, Memory({0: bytearray(max(1, self.shared_size))}))
        x, y, z = self.block
        threads = [Thread(shared, n, (n % x, n // x % y, n // (x * y))) for n in range(x * y * z)]
        running = {t.number: self._thread(t) for t in threads}
        waiting: dict[int, Arrival] = {}
        ready = list(running)
        while ready:
            for number in ready:
                arrival = next(running[number], None)
                if arrival is None:
                    del running[number]
                else:
                    waiting[number] = arrival
            ready = sorted(_released(waiting, len(running)))
        if running:
            raise Wrong(f"deadlock: {len(running)} threads wait for ever")

    def _thread(self, t: Thread) -> Generator[Arrival, None, None]:
        at = steps = 0
        while at < len(self.code):
            guard, action = self.code[at]
            at += 1
            steps += 1
            if guard is not None and not guard(t):
                continue
            what = action(t)
            if isinstance(what, int):
                at = what
            elif isinstance(what, Arrival):
                yield what
            elif what is EXIT:
                return
            if steps > MOST_STEPS:
                raise Wrong("endless loop")

    # -- operands -----------------------------------------------------------------------------------------------------
    def _guard(self, ins: Instruction) -> Read | None:
        if ins.guard is None:
            return None
        name, negated = ins.guard.register.name, ins.guard.negated
        return lambda t: t.registers.get(name, 0) ^ negated

    def read(self, operand: Operand, width: int) -> Read:
        """How to read an operand as an unsigned integer of `width` bits."""
        mask = (1 << width) - 1
        match operand:
            case Register(name):
                return lambda t: t.registers.get(name, 0) & mask
            case Negated(Register(name)):
                return lambda t: t.registers.get(name, 0) ^ 1
            case Immediate("int", bits):
                return lambda t: bits & mask
            case Symbol(name, offset) if name in self.offsets:
                return lambda t: self.offsets[name] + offset
            case Special(name, component):
                return self._special(name, "xyz".index(component or "x"))
        raise Wrong(f"operand {operand}")

    def _special(self, name: str, axis: int) -> Read:
        grid, block = self.grid, self.block
        specials: Mapping[str, Read] = {
            "tid": lambda t: t.tid[axis],
            "ntid": lambda t: block[axis],
            "ctaid": lambda t: t.block.ctaid[axis],
            "nctaid": lambda t: grid[axis],
            "laneid": lambda t: t.number % 32,
            "warpid": lambda t: t.number // 32,
        }
        return specials[name]

    def write(self, operand: Operand) -> Callable[[Thread, int], None]:
        """How to write a destination register; what is too wide is cut."""
        if isinstance(operand, Sink):
            return lambda t, value: None
        assert isinstance(operand, Register), operand
        name, mask = operand.name, (1 << WIDTH[self.function.registers[operand.name]]) - 1

        def put(t: Thread, value: int) -> None:
            t.registers[name] = value & mask

        return put

    # -- instructions -------------------------------------------------------------------------------------------------
    def _action(self, ins: Instruction) -> Act:
        special = getattr(self, f"_do_{ins.opcode}", None)
        return special(ins) if special else self._arithmetic(ins)  # type: ignore[no-any-return]

    def _arithmetic(self, ins: Instruction) -> Act:
        rule = RULES.get(ins.opcode)
        if rule is None:
            raise Wrong(f"opcode {ins.name}")
        type_ = ins.types[-1]
        width = WIDTH[type_]
        wide = "wide" in ins.modifiers
        widths = [width] * (len(ins.operands) - 1)
        if ins.opcode in ("shl", "shr"):
            widths[1] = 32
        if ins.opcode == "mad" and wide:
            widths[2] = 2 * width
        if ins.opcode == "selp":
            widths[2] = 1
        reads = [self.read(o, w) for o, w in zip(ins.operands[1:], widths, strict=True)]
        put, compute = self.write(ins.operands[0]), rule(ins.modifiers, type_, width)
        return lambda t: put(t, compute(*[r(t) for r in reads]))

    def _do_setp(self, ins: Instruction) -> Act:
        type_ = ins.types[-1]
        width = WIDTH[type_]
        compare = COMPARISONS[ins.modifiers[0]]
        as_signed = type_[0] == "s"
        a, b = self.read(ins.operands[1], width), self.read(ins.operands[2], width)
        more = self.read(ins.operands[3], 1) if len(ins.operands) > 3 else None
        join = BOOLEAN[ins.modifiers[1]] if more else None
        put = self.write(ins.operands[0])

        def act(t: Thread) -> None:
            x, y = a(t), b(t)
            value = int(compare(signed(x, width), signed(y, width)) if as_signed else compare(x, y))
            put(t, join(value, more(t)) if join and more else value)

        return act

    def _do_cvt(self, ins: Instruction) -> Act:
        to, source = ins.types
        a, put = self.read(ins.operands[1], WIDTH[source]), self.write(ins.operands[0])
        if source[0] == "s":
            return lambda t: put(t, signed(a(t), WIDTH[source]) & (1 << WIDTH[to]) - 1)
        return lambda t: put(t, a(t) & (1 << WIDTH[to]) - 1)

    def _do_bra(self, ins: Instruction) -> Act:
        assert isinstance(ins.operands[0], LabelRef)
        target = self.labels[ins.operands[0].name]
        return lambda t: target

    def _do_brx(self, ins: Instruction) -> Act:
        assert isinstance(ins.operands[1], LabelRef)
        targets = [self.labels[x] for x in self.function.branch_targets[ins.operands[1].name]]
        which = self.read(ins.operands[0], 32)
        return lambda t: targets[which(t)]

    def _do_ret(self, ins: Instruction) -> Act:
        return lambda t: EXIT

    _do_exit = _do_ret

    def _do_bar(self, ins: Instruction) -> Act:
        operands = list(ins.operands)
        put = vote = None
        if "red" in ins.modifiers:
            put = self.write(operands.pop(0))
            vote = self.read(operands.pop(), 1)
        which = self.read(operands[0], 32)
        count = self.read(operands[1], 32) if len(operands) > 1 else None

        def act(t: Thread) -> Arrival:
            arrival = Arrival(which(t), count(t) if count else 0)
            if put and vote:
                arrival.vote = bool(vote(t))
                arrival.take = lambda yes, all_: put(t, _reduced(ins.modifiers, yes, all_))
            return arrival

        return act

    # -- memory -------------------------------------------------------------------------------------------------------
    def _place(self, ins: Instruction, operand: Operand) -> Callable[[Thread, int], tuple[bytearray, int]]:
        assert isinstance(operand, Address)
        shared = "shared" in ins.modifiers
        width = 32 if shared else 64
        base, offset, memory = self.read(operand.base, width), operand.offset, self.memory

        def find(t: Thread, size: int) -> tuple[bytearray, int]:
            address = (base(t) + offset) & (1 << width) - 1
            return (t.block.shared if shared else memory).find(address, size)

        return find

    def _do_ld(self, ins: Instruction) -> Act:
        address, type_ = ins.operands[1], ins.types[-1]
        if "param" in ins.modifiers:
            assert isinstance(address, Address)
            assert isinstance(address.base, Symbol)
            put_one, value = self.write(ins.operands[0]), self.parameters[address.base.name]
            return lambda t: put_one(t, value)
        place, size = self._place(ins, address), WIDTH[type_] // 8
        puts = [self.write(o) for o in _items(ins.operands[0])]
        sign = type_[0] == "s"

        def act(t: Thread) -> None:
            data, at = place(t, size * len(puts))
            for i, put in enumerate(puts):
                put(t, int.from_bytes(data[at + size * i : at + size * (i + 1)], "little", signed=sign))

        return act

    def _do_st(self, ins: Instruction) -> Act:
        place, size = self._place(ins, ins.operands[0]), WIDTH[ins.types[-1]] // 8
        values = [self.read(o, 8 * size) for o in _items(ins.operands[1])]

        def act(t: Thread) -> None:
            data, at = place(t, size * len(values))
            data[at : at + size * len(values)] = b"".join(v(t).to_bytes(size, "little") for v in values)

        return act

    def _do_red(self, ins: Instruction) -> Act:
        type_ = ins.types[-1]
        width = WIDTH[type_]
        place, value = self._place(ins, ins.operands[0]), self.read(ins.operands[1], width)
        compute = RULES[next(m for m in ins.modifiers if m in RULES)]((), type_, width)

        def act(t: Thread) -> None:
            data, at = place(t, width // 8)
            new = compute(int.from_bytes(data[at : at + width // 8], "little"), value(t)) & (1 << width) - 1
            data[at : at + width // 8] = new.to_bytes(width // 8, "little")

        return act


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def _released(waiting: dict[int, Arrival], alive: int) -> Iterator[int]:
    """Threads whose barrier is complete; they wait no longer."""
    for barrier in {a.barrier for a in waiting.values()}:
        here = {n: a for n, a in waiting.items() if a.barrier == barrier}
        needed = max(a.count for a in here.values()) or alive
        if len(here) >= needed:
            votes = [a.vote for a in here.values()]
            for number, arrival in here.items():
                del waiting[number]
                if arrival.take:
                    arrival.take(sum(votes), len(votes))
                yield number


def _reduced(modifiers: Sequence[str], yes: int, everyone: int) -> int:
    if "popc" in modifiers:
        return yes
    return int(yes == everyone) if "and" in modifiers else int(yes > 0)


# -- arithmetic -------------------------------------------------------------------------------------------------------
Rule = Callable[[Sequence[str], str, int], Callable[..., int]]


def _product(modifiers: Sequence[str], type_: str, width: int) -> Callable[..., int]:
    def compute(a: int, b: int, c: int = 0) -> int:
        if type_[0] == "s":
            a, b = signed(a, width), signed(b, width)
        return (a * b >> width if "hi" in modifiers else a * b) + c

    return compute


def _shift_right(modifiers: Sequence[str], type_: str, width: int) -> Callable[..., int]:
    return lambda a, b: (signed(a, width) if type_[0] == "s" else a) >> min(b, width)


def _extreme(pick: Callable[..., int]) -> Rule:
    def rule(modifiers: Sequence[str], type_: str, width: int) -> Callable[..., int]:
        if type_[0] == "s":
            return lambda a, b: pick(signed(a, width), signed(b, width))
        return pick

    return rule


def _plain(compute: Callable[..., int]) -> Rule:
    return lambda modifiers, type_, width: compute


RULES: Mapping[str, Rule] = {
    "add": _plain(lambda a, b: a + b),
    "sub": _plain(lambda a, b: a - b),
    "mul": _product,
    "mad": _product,
    "and": _plain(lambda a, b: a & b),
    "or": _plain(lambda a, b: a | b),
    "xor": _plain(lambda a, b: a ^ b),
    "not": _plain(lambda a: ~a),
    "neg": _plain(lambda a: -a),
    "mov": _plain(lambda a: a),
    "selp": _plain(lambda a, b, p: a if p else b),
    "popc": _plain(lambda a: a.bit_count()),
    "shl": lambda modifiers, type_, width: lambda a, b: a << min(b, width),
    "shr": _shift_right,
    "min": _extreme(min),
    "max": _extreme(max),
}

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    **dict.fromkeys(("lt", "lo"), lambda a, b: a < b),
    **dict.fromkeys(("le", "ls"), lambda a, b: a <= b),
    **dict.fromkeys(("gt", "hi"), lambda a, b: a > b),
    **dict.fromkeys(("ge", "hs"), lambda a, b: a >= b),
}
BOOLEAN: Mapping[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
