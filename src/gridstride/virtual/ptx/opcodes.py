"""Every opcode of the PTX ISA with how many operands it can have: what an instruction is checked against when parsed.

Whether an opcode can be executed is another matter, settled when it is lowered. `call` has a grammar of its own.
"""

from __future__ import annotations

_BY_ARITY: dict[tuple[int, int], str] = {
    (0, 0): "brkpt exit griddepcontrol membar ret trap",
    (0, 2): "fence",
    (0, 4): "barrier",
    (0, 8): "cp",
    (0, 12): "tcgen05 wgmma",
    (1, 1): "activemask bra nanosleep pmevent prefetch prefetchu setmaxnreg stackrestore stacksave",
    (1, 4): "bar createpolicy mbarrier",
    (2, 2): (
        "abs applypriority bfind brev brx clusterlaunchcontrol clz cnot cos cvta discard elect ex2 getctarank isspacep "
        "istypep ldmatrix ldu lg2 mov movmatrix neg not popc rcp rsqrt sin sqrt stmatrix suld suq sured sust tanh testp"
    ),
    (2, 3): "alloca ld st txq vote",
    (2, 4): "cvt red tensormap tex tld4 wmma",
    (2, 5): "multimem",
    (3, 3): "add addc and bmsk copysign div mapa match mul mul24 or redux rem shl shr sub subc szext xor",
    (3, 4): (
        "max min set setp vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmax vmax2 vmax4 "
        "vmin vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4"
    ),
    (3, 5): "atom",
    (4, 4): "bfe dp2a dp4a fma fns mad mad24 madc prmt sad selp shf slct vmad",
    (4, 5): "shfl",
    (4, 12): "mma",
    (5, 5): "bfi",
    (5, 6): "lop3",
}

ARITY: dict[str, tuple[int, int]] = {
    opcode: arity for arity, opcodes in _BY_ARITY.items() for opcode in opcodes.split()
}
