"""Which functions a kernel reaches: by direct calls, by addresses it takes, and by those that variables hold."""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.virtual.ptx.module import Function, PtxModule, Symbol

DEVICE_RUNTIME = "__cudaCDP2"
"""How the names of the device runtime's functions start: a kernel that reaches one may launch others."""


def callees(module: PtxModule, function: Function) -> Iterator[Function]:
    """Functions that a function calls, or whose address it takes (it may call those indirectly)."""
    named = [o.name for ins in function.instructions for o in ins.operands if type(o) is Symbol]
    for name in dict.fromkeys(named):
        target = module.functions.get(module.aliases.get(name, name))
        if target is not None and target.kind == "func":  # a kernel is named to be launched
            yield target


def _held_by_variables(module: PtxModule) -> Iterator[Function]:
    """Functions whose address a variable holds: virtual function tables."""
    for variable in module.variables.values():
        for item in variable.initializer or ():
            if isinstance(item, Symbol):
                target = module.functions.get(module.aliases.get(item.name, item.name))
                if target is not None and target.kind == "func":
                    yield target


def calls_indirectly(function: Function) -> bool:
    return any(ins.opcode == "call" and not isinstance(ins.operands[1], Symbol) for ins in function.instructions)


def reachable(module: PtxModule, entry: Function) -> Iterator[Function]:
    visited: dict[str, Function] = {}
    work = [entry]
    while work:
        function = work.pop()
        if function.name in visited:
            continue
        visited[function.name] = function
        work.extend(callees(module, function))
        if calls_indirectly(function):
            work.extend(_held_by_variables(module))
    return iter(visited.values())


def calls_itself(module: PtxModule, function: Function) -> bool:
    """Whether a function's direct calls come back to it."""
    visited: set[str] = set()
    work = list(callees(module, function))
    while work:
        callee = work.pop()
        if callee.name == function.name:
            return True
        if callee.name not in visited:
            visited.add(callee.name)
            work.extend(callees(module, callee))
    return False
