"""Into which shared array a register points, where it can be into one alone.

Shared arrays of a block lie side by side, so an index past the end of one is still an address of the block's. Which
array was meant says the arithmetic: an address starts as an array's name and is moved by numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gridstride.virtual.lowering.analysis.control_flow import Code
from gridstride.virtual.ptx.module import Address, Immediate, Instruction, Operand, Register, Special, Symbol

NUMBER, UNKNOWN = "", "?"
"""What points nowhere by itself, such as an index or what was loaded; and what may point into several arrays."""


def pointed_to(code: Code, arrays: Collection[str]) -> Mapping[str, str]:
    """For each register its array, NUMBER or UNKNOWN; a register counts with all that is ever written to it."""
    found = dict.fromkeys(code.register_params, NUMBER)
    instructions = [ins for block in code.blocks for ins in block]
    changed = True
    while changed:
        changed = False
        for ins in instructions:
            given = _result(ins, found, arrays, code)
            for name in code.writes(ins):
                now = found.get(name)
                then = given if now is None or given is None else now if now == given else UNKNOWN
                if then is not None and then != now:
                    found[name] = then
                    changed = True
    return found


def array_of(operand: Operand, known: Mapping[str, str], arrays: Collection[str]) -> str:
    """The array that an address is in; "" where it may be in any."""
    base = operand.base if isinstance(operand, Address) else operand
    if isinstance(base, Symbol):
        return base.name if base.name in arrays else ""
    found = known.get(base.name, UNKNOWN) if isinstance(base, Register) else UNKNOWN
    return "" if found in (NUMBER, UNKNOWN) else found


def _result(ins: Instruction, known: Mapping[str, str], arrays: Collection[str], code: Code) -> str | None:
    """What an instruction's result points to; None while one of its operands has not been met."""
    if ins.opcode in ("ld", "ldu", "atom", "call", "tex", "suld"):
        return NUMBER
    given = [_value(operand, known, arrays) for operand in ins.operands[1:]]
    match ins.opcode:
        case "mov" | "cvta" | "cvt" if len(given) == 1:
            return given[0]
        case "add" | "sub" | "or":
            return _moved(given[0], given[1], back=ins.opcode == "sub")
        case "mad" if len(given) == 3:
            return _moved(_number(given[0], given[1]), given[2], back=False)
        case "selp":
            first, second = given[:2]
            return first if first == second else UNKNOWN if None not in (first, second) else first or second
    return _number(*(known.get(name) for name in code.reads(ins)))


def _value(operand: Operand, known: Mapping[str, str], arrays: Collection[str]) -> str | None:
    match operand:
        case Register(name):
            return known.get(name)
        case Symbol(name) | Address(Symbol(name)):
            return name if name in arrays else NUMBER
        case Immediate() | Special():
            return NUMBER
    return UNKNOWN


def _number(*given: str | None) -> str | None:
    """The result of arithmetic that keeps no address."""
    if any(each not in (None, NUMBER) for each in given):
        return UNKNOWN
    return None if None in given else NUMBER


def _moved(a: str | None, b: str | None, *, back: bool) -> str | None:
    """A sum, or the difference where `back`: an array and a number are in that array."""
    if a is None or b is None:
        return None
    if b == NUMBER:
        return a
    return b if a == NUMBER and not back else UNKNOWN
