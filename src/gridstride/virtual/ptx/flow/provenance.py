"""Which kernel parameter an address is made from, as far as the text says: `x + 4 * i` is made from `x`."""

from __future__ import annotations

from gridstride.virtual.ptx.isa import ISA, Class
from gridstride.virtual.ptx.module import Address, Function, Immediate, Instruction, Register, Symbol
from gridstride.virtual.ptx.operands import registers_of, writes

MOST_STEPS = 200

_POINTERS = {"mov": slice(1, None), "cvta": slice(1, 2), "add": slice(1, None), "sub": slice(1, 2),
             "mad": slice(3, 4), "selp": slice(1, 3)}  # fmt: skip
"""The operands that may hold the pointer, by opcode."""
_NO_POINTERS = frozenset((
    *"addc subc sad abs neg min max dp4a dp2a popc clz bfind brev fns bfe bfi szext bmsk and or xor not cnot".split(),
    *"lop3 shl shr shf prmt slct setp set testp copysign vadd vsub vabsdiff vmin vmax vshl vshr vmad vset".split(),
    *"vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4".split(),
    *"isspacep istypep mapa getctarank mad24 fma movmatrix".split(),
))  # fmt: skip
"""What computes with indices, bits and floats: an address that comes out of one is not followed."""
_COMPUTING = (Class.ARITHMETIC, Class.MULTIPLY_ADD, Class.MOVE)
"""Classes with opcodes that pass a pointer on; of no other class is a result an operand plus something."""
if unmatched := {name for name, row in ISA.items() if row.kind in _COMPUTING} ^ {*_POINTERS, *_NO_POINTERS}:
    raise ImportError(f"provenance.py must say which operands hold a pointer: see {', '.join(sorted(unmatched))}")


def parameter_of(function: Function, ptx_line: int) -> str | None:
    """The name of the one parameter of 8 bytes that the address of a line's access comes from; None where none or
    several do, or where the address was read from memory on the way.
    """
    access = next((i for i in function.instructions if i.ptx_line == ptx_line), None)
    if access is None or function.kind != "entry":
        return None
    writers: dict[str, list[Instruction]] = {}
    for ins in function.instructions:
        for register in writes(ins):
            writers.setdefault(register, []).append(ins)
    wide = {p.name for p in function.params if p.size == 8}
    parameters: set[str] = set()
    work = [r for o in access.operands if isinstance(o, Address) for r in registers_of(o)][:1]
    seen = set(work)
    while work and len(seen) < MOST_STEPS:
        for ins in writers.get(work.pop(), ()):
            name = _loaded(ins)
            parameters |= {name} & wide if name else set()
            sources = ins.operands[_POINTERS[ins.opcode]] if ins.opcode in _POINTERS else ()
            if ins.opcode in ("mov", "selp") and any(isinstance(o, Immediate) for o in sources):
                return None  # a null pointer, or an address made up
            more = [o.name for o in sources if isinstance(o, Register)]
            work += [r for r in more if r not in seen]
            seen.update(more)
    return parameters.pop() if len(parameters) == 1 else None


def _loaded(ins: Instruction) -> str | None:
    """The parameter that an instruction loads."""
    if ins.opcode != "ld" or "param" not in ins.modifiers or len(ins.operands) != 2:
        return None
    where = ins.operands[1]
    return where.base.name if isinstance(where, Address) and isinstance(where.base, Symbol) else None
