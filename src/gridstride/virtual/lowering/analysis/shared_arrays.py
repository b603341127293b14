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
    pointees = dict.fromkeys(code.register_params, NUMBER)
    instructions = [ins for block in code.blocks for ins in block]
    changed = True
    while changed:
        changed = False
        for ins in instructions:
            result = _result(ins, pointees, arrays, code)
            for name in code.writes(ins):
                now = pointees.get(name)
                merged = result if now is None or result is None else now if now == result else UNKNOWN
                if merged is not None and merged != now:
                    pointees[name] = merged
                    changed = True
    return pointees


def array_of(operand: Operand, pointees: Mapping[str, str], arrays: Collection[str]) -> str:
    """The array that an address is in; "" where it may be in any."""
    base = operand.base if isinstance(operand, Address) else operand
    if isinstance(base, Symbol):
        return base.name if base.name in arrays else ""
    array = pointees.get(base.name, UNKNOWN) if isinstance(base, Register) else UNKNOWN
    return "" if array in (NUMBER, UNKNOWN) else array


def _result(ins: Instruction, pointees: Mapping[str, str], arrays: Collection[str], code: Code) -> str | None:
    """What an instruction's result points to; None while one of its operands has not been met."""
    if ins.opcode in ("ld", "ldu", "atom", "call", "tex", "suld"):
        return NUMBER
    values = [_value(operand, pointees, arrays) for operand in ins.operands[1:]]
    match ins.opcode:
        case "mov" | "cvta" | "cvt" if len(values) == 1:
            return values[0]
        case "add" | "sub" | "or":
            return _moved(values[0], values[1], back=ins.opcode == "sub")
        case "mad" if len(values) == 3:
            return _moved(_number(values[0], values[1]), values[2], back=False)
        case "selp":
            first, second = values[:2]
            return first if first == second else UNKNOWN if None not in (first, second) else first or second
    return _number(*(pointees.get(name) for name in code.reads(ins)))


def _value(operand: Operand, pointees: Mapping[str, str], arrays: Collection[str]) -> str | None:
    match operand:
        case Register(name):
            return pointees.get(name)
        case Symbol(name) | Address(Symbol(name)):
            return name if name in arrays else NUMBER
        case Immediate() | Special():
            return NUMBER
    return UNKNOWN


def _number(*operand_arrays: str | None) -> str | None:
    """The result of arithmetic that keeps no address."""
    if any(array not in (None, NUMBER) for array in operand_arrays):
        return UNKNOWN
    return None if None in operand_arrays else NUMBER


def _moved(a: str | None, b: str | None, *, back: bool) -> str | None:
    """A sum, or the difference where `back`: an array and a number are in that array."""
    if a is None or b is None:
        return None
    if b == NUMBER:
        return a
    return b if a == NUMBER and not back else UNKNOWN
