"""Device functions that may wait become part of their callers, where they are called from few places.

A warp runs as one fiber: while some of its lanes are inside a function, the others cannot go on in the caller. With a
lock that stays a function they would have to: the lane that got the lock returns first, and only it can give it back.
The same holds for a barrier in a function that only part of a warp has called. Functions that cannot be copied, since
they are recursive or called through pointers, send such groups of lanes to fibers of their own (subwarp_calls.py),
which costs more when it happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from gridstride.virtual.lowering.analysis.control_flow import waits
from gridstride.virtual.lowering.analysis.normalise import SyncEffects, by_symbols, spins
from gridstride.virtual.ptx.flow import cfg
from gridstride.virtual.ptx.module import (
    Arguments,
    Function,
    Guard,
    Instruction,
    Label,
    LabelRef,
    PtxModule,
    Register,
    Statement,
    Symbol,
)

MOST_STATEMENTS = 20_000
"""A caller that would get longer keeps its calls."""
MOST_COPIES = 4
"""A function that is called from more places of one caller stays a function, and lanes that wait in it go on fibers of
their own: the time to compile grows with the square of the loops that wait.
"""
_MOVABLE = ("local", "param", "shared")


def inline_waiting(module: PtxModule) -> PtxModule:
    """The module with calls of waiting functions replaced by their bodies, where they are direct and not recursive."""
    if all(f.kind == "entry" for f in module.functions.values()):
        return module
    inliner = _Inliner(module)
    if not inliner.waiting:
        return module
    return replace(module, functions={name: inliner.expand(f) for name, f in module.functions.items()})


class _Inliner:
    def __init__(self, module: PtxModule) -> None:
        self.module = module
        effects = SyncEffects.of(list(module.functions.values()))
        candidates = {n: f for n, f in module.functions.items() if f.kind == "func" and f.defined and _movable(f)}
        self.waiting = {n for n, f in candidates.items() if _waits(f, effects)}
        while more := {n for n, f in candidates.items() if n not in self.waiting and self.waiting & set(_called(f))}:
            self.waiting |= more
        self.waiting = {n for n in self.waiting if not self._recursive(n)}
        self._done: dict[str, Function] = {}
        self._copies = 0

    def _recursive(self, name: str) -> bool:
        visited: set[str] = set()
        work = list(_called(self.module.functions[name]))
        while work:
            at = work.pop()
            if at == name:
                return True
            if at not in visited and at in self.module.functions:
                visited.add(at)
                work.extend(_called(self.module.functions[at]))
        return False

    def expand(self, function: Function) -> Function:
        """The function without calls of waiting ones."""
        if function.name not in self._done:
            self._done[function.name] = self._expand(function)
        return self._done[function.name]

    def _expand(self, function: Function) -> Function:
        caller = _Caller(function)
        calls = Counter(_called(function))
        for statement in function.body:
            target = _target(statement)
            expands = target in self.waiting and calls[target] <= MOST_COPIES
            if expands and isinstance(statement, Instruction) and by_symbols(statement):
                callee = self.expand(self.module.functions[target])
                self._copies += 1
                if not caller.clashes(callee) and len(caller.body) + len(callee.body) < MOST_STATEMENTS:
                    caller.take(callee, statement, f"@{self._copies}")
                    continue
            caller.body.append(statement)
        return caller.function() if caller.changed else function


class _Caller:
    """A function while bodies are copied into it."""

    def __init__(self, function: Function) -> None:
        self.old, self.changed = function, False
        self.body: list[Statement] = []
        self.registers, self.variables = dict(function.registers), dict(function.variables)
        self.tables: dict[str, Any] = {
            name: dict(getattr(function, name)) for name in ("branch_targets", "call_targets", "prototypes")
        }

    def function(self) -> Function:
        return replace(
            self.old, body=tuple(self.body), registers=self.registers, variables=self.variables, **self.tables
        )

    def clashes(self, callee: Function) -> bool:
        """True where both have a shared variable of one name: it must stay one, or stay two."""
        shared = {n: v for n, v in callee.variables.items() if v.space == "shared"}
        return any(self.variables.get(n, v) is not v for n, v in shared.items())

    def take(self, callee: Function, call: Instruction, suffix: str) -> None:
        """Copies a body to where its call stood; everything the callee names gets the suffix."""
        self.changed = True
        names = _Names(callee, call, suffix)
        for name, variable in callee.variables.items():
            key = name if variable.space == "shared" else name + suffix
            self.variables[key] = variable if key == name else replace(variable, name=key)
        self.registers.update({name + suffix: type_ for name, type_ in callee.registers.items()})
        for table, entries in self.tables.items():
            entries.update({label + suffix: names.labels(to) for label, to in getattr(callee, table).items()})
        end = f"%return{suffix}"
        if call.guard is not None:
            skip_guard = Guard(call.guard.register, not call.guard.negated)
            self.body.append(Instruction("bra", (), (LabelRef(end),), skip_guard, call.ptx_line, call.loc))
        self.body += [names.statement(s, end) for s in callee.body]
        self.body.append(Label(end))


@dataclass(slots=True)
class _Names:
    """What the callee's names become."""

    callee: Function
    call: Instruction
    suffix: str

    def labels(self, target: Any) -> Any:
        """The entry of a branch table; call tables name functions, which stay."""
        local = {s.name for s in self.callee.body if isinstance(s, Label)}
        return tuple(t + self.suffix if t in local else t for t in target) if isinstance(target, tuple) else target

    def statement(self, s: Statement, end: str) -> Statement:
        if isinstance(s, Label):
            return Label(s.name + self.suffix)
        guard = s.guard and Guard(Register(s.guard.register.name + self.suffix), s.guard.negated)
        if s.opcode == "ret":
            return replace(s, opcode="bra", modifiers=(), operands=(LabelRef(end),), guard=guard)
        return replace(s, guard=guard, operands=tuple(self.operand(o) for o in s.operands))

    def operand(self, operand: Any) -> Any:
        """The operand with every name in it changed."""
        if isinstance(operand, Register | LabelRef):
            return replace(operand, name=operand.name + self.suffix)
        if isinstance(operand, Symbol):
            return replace(operand, name=self._symbol(operand.name))
        if isinstance(operand, tuple):
            return tuple(self.operand(o) for o in operand)
        if hasattr(operand, "__dataclass_fields__"):
            return replace(operand, **{f.name: self.operand(getattr(operand, f.name)) for f in fields(operand)})
        return operand

    def _symbol(self, name: str) -> str:
        returned, _, passed = self.call.operands[:3]
        assert isinstance(returned, Arguments)
        assert isinstance(passed, Arguments)
        own = [v.name for v in (*self.callee.params, *self.callee.returns)]
        operands = [*passed.items, *returned.items]
        if name in own:
            argument = operands[own.index(name)]
            assert isinstance(argument, Symbol)
            return argument.name
        variable = self.callee.variables.get(name)
        return name if variable is None or variable.space == "shared" else name + self.suffix


def _waits(function: Function, effects: SyncEffects) -> bool:
    if any(waits(ins) for ins in function.instructions):
        return True
    graph = cfg.build(function)
    members = {m for loop in graph.loops for m in loop.members}
    return any(spins(ins, effects.spin) for m in members for ins in graph.blocks[m].instructions)


def waiting_functions(functions: Sequence[Function], effects: SyncEffects) -> frozenset[str]:
    """Those among the functions of a kernel that stayed functions and may wait, themselves or in what they call."""
    devices = [f for f in functions if f.kind == "func" and f.defined]
    waiting = {f.name for f in devices if _waits(f, effects)}
    while more := {f.name for f in devices if f.name not in waiting and _reaches(f, waiting)}:
        waiting |= more
    return frozenset(waiting)


def _reaches(function: Function, reached: set[str]) -> bool:
    calls = [s.operands[1] for s in function.instructions if s.opcode == "call"]
    return any(t.name in reached if isinstance(t, Symbol) else bool(reached) for t in calls)


def _movable(function: Function) -> bool:
    by_memory = all(v.space == "param" for v in (*function.params, *function.returns))
    return by_memory and all(v.space in _MOVABLE for v in function.variables.values())


def _target(s: Statement) -> str:
    """The function that a direct call names, else an empty string."""
    if isinstance(s, Instruction) and s.opcode == "call" and isinstance(s.operands[1], Symbol):
        return s.operands[1].name
    return ""


def _called(function: Function) -> Iterator[str]:
    return filter(None, map(_target, function.body))
