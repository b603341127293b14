"""A function's text in the form that the generator takes, and what its instructions may do to their threads.

Guarded calls and barriers become branches around them; barriers and calls that may not return end their block. Shuffles
by a constant name it, where NVRTC has put it into a register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gridstride.virtual.lowering.analysis.control_flow import HELD, waits
from gridstride.virtual.lowering.analysis.memory_operands import ordered
from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.module import (
    Arguments,
    Function,
    Guard,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Register,
    Statement,
    Symbol,
)
from gridstride.virtual.ptx.operands import writes


@dataclass(frozen=True, slots=True)
class SyncEffects:
    """Functions by name: a loop around a call of `spin` may wait for another thread; those of `exit` may end theirs;
    those of `wait` may hold their lanes back, at a barrier or in a loop.
    """

    spin: frozenset[str] = frozenset()
    exit: frozenset[str] = frozenset()
    wait: frozenset[str] = frozenset()

    @staticmethod
    def of(functions: Sequence[Function]) -> SyncEffects:
        return SyncEffects(_closure(functions, spins), _closure(functions, exits))


Habit = Callable[[Instruction, frozenset[str]], bool]


def _closure(functions: Sequence[Function], habit: Habit) -> frozenset[str]:
    """The functions that have the habit themselves or call one that does."""
    closure: frozenset[str] = frozenset()
    while True:
        more = frozenset(f.name for f in functions if any(habit(i, closure) for i in f.instructions))
        if more == closure:
            return closure
        closure = more


def _calls(ins: Instruction, functions: frozenset[str]) -> bool:
    """True for a call of one of the functions, or through a pointer where there are any."""
    if ins.opcode != "call":
        return False
    target = ins.operands[1]
    return target.name in functions if isinstance(target, Symbol) else bool(functions)


def spins(ins: Instruction, spinners: frozenset[str]) -> bool:
    """True for what a thread does while it waits for another one."""
    if ISA[ins.opcode].polls or _calls(ins, spinners):
        return True
    return ins.opcode == "ld" and ordered(ins) and "local" not in ins.modifiers


def exits(ins: Instruction, exiters: frozenset[str]) -> bool:
    """True for what may end a thread inside a device function."""
    return ins.opcode == "exit" or _calls(ins, exiters)


def normal(function: Function, effects: SyncEffects) -> Function:
    """The function with the body described above; every way out of a device function is a `ret`."""
    body = function.body
    if function.kind == "func" and not (isinstance(body[-1], Instruction) and body[-1].opcode == "ret"):
        body = (*body, Instruction("ret", (), (), None, function.line, None))
    results = tuple(Register(v.name) for v in function.returns if v.space == "reg")
    constants = _constants(body)
    pieces = [_statement(_by_constants(s, constants), f"%{n}", results, effects) for n, s in enumerate(body)]
    statements = tuple(s for piece in pieces for s in piece)
    if any(isinstance(s, Instruction) and spins(s, effects.spin) for s in statements):
        statements = tuple(_split_at_syncwarp(statements))
    return replace(function, body=statements)


def _split_at_syncwarp(body: Sequence[Statement]) -> Iterator[Statement]:
    """A __syncwarp() begins a block of its own, where lanes wait while others of their warp still poll."""
    for number, s in enumerate(body):
        if isinstance(s, Instruction) and s.opcode in ("bar", "barrier") and "warp" in s.modifiers:
            yield Label(f"%meeting{number}")
        yield s


def _constants(body: Sequence[Statement]) -> dict[str, Immediate]:
    """The registers that are written once, with an integer."""
    constants: dict[str, Immediate | None] = {}
    for s in body:
        if not isinstance(s, Instruction):
            continue
        for name in writes(s):
            constants[name] = _integer(s) if name not in constants else None
    return {name: value for name, value in constants.items() if value is not None}


def _integer(s: Instruction) -> Immediate | None:
    value = s.operands[1] if s.opcode == "mov" and s.guard is None else None
    return value if isinstance(value, Immediate) and value.kind == "int" else None


def _by_constants(s: Statement, constants: Mapping[str, Immediate]) -> Statement:
    """A shuffle whose lane and clamp are the constants that their registers hold."""
    if not isinstance(s, Instruction) or s.opcode != "shfl":
        return s
    lane_and_clamp = (constants.get(o.name, o) if isinstance(o, Register) else o for o in s.operands[2:4])
    return replace(s, operands=(*s.operands[:2], *lane_and_clamp, *s.operands[4:]))


def _statement(s: Statement, key: str, results: tuple[Register, ...], effects: SyncEffects) -> Iterator[Statement]:
    if isinstance(s, Instruction) and (waits(s) or s.opcode == "call"):
        yield from _guarded(s, key, effects)
    elif isinstance(s, Instruction) and s.opcode == "ret":
        yield replace(s, operands=results)  # so that they count as read there
    else:
        yield s


def _guarded(s: Instruction, key: str, effects: SyncEffects) -> Iterator[Statement]:
    end_label, alone = f"%after{key}", replace(s, guard=None)
    if s.guard is not None:
        skip_guard = Guard(s.guard.register, not s.guard.negated)
        yield Instruction("bra", (), (LabelRef(end_label),), skip_guard, s.ptx_line, s.loc)
    held = _calls(s, effects.wait) and by_symbols(s)
    if held:
        yield from _held(alone, key, end_label)
    elif waits(s):
        yield from _barrier(alone, key, end_label)
    else:
        yield alone
    if s.guard is not None or held or waits(s) or exits(s, effects.exit):
        yield Label(end_label)


def _barrier(s: Instruction, key: str, end_label: str) -> Iterator[Statement]:
    if "cluster" in s.modifiers:
        yield replace(s, opcode="bar")
        yield Label(f"%held{key}")
        yield Instruction("bra", (), (LabelRef(end_label),), None, s.ptx_line, s.loc)
        return
    red = "red" in s.modifiers
    voting = tuple("vote" if m == "red" else m for m in s.modifiers if m != "aligned")
    if s.opcode == "bar" or "aligned" in s.modifiers:
        voting = (*voting, "aligned")
    yield replace(s, opcode="bar", operands=s.operands[red:], modifiers=voting)
    # Lanes held at the barrier wait in a block of their own: lanes that went around it must not be held too.
    yield Label(f"%held{key}")
    if red:  # the result is there only when the lanes are let go
        yield replace(s, opcode="released", operands=s.operands[:2])
    yield Instruction("bra", (), (LabelRef(end_label),), None, s.ptx_line, s.loc)


def _held(s: Instruction, key: str, end_label: str) -> Iterator[Statement]:
    """A call of a function that may wait: lanes that come back stand in a block of their own, as after a barrier."""
    yield replace(s, modifiers=(*s.modifiers, HELD))
    yield Label(f"%held{key}")
    yield Instruction("bra", (), (LabelRef(end_label),), None, s.ptx_line, s.loc)


def by_symbols(call: Instruction) -> bool:
    """True where all arguments and results of a call are .param variables."""
    lists = [o for o in call.operands if isinstance(o, Arguments)]
    return all(isinstance(item, Symbol) for arguments in lists for item in arguments.items)
