"""The grammar of single instructions up to sm_90a, as ptxas 13.0 holds to it: modifiers, types and operands.

The lines below a row of the instruction set (isa.py) are `modifiers : operands`. A modifier is a word or `a/b/c` (one
of them), in brackets where it may be missing; a word in capitals stands for a class. Their order does not matter but
among types. Operands:

    T T1 T2 u32 …   a register or constant of the last, first, second type, or of the type named
    =               only a register: a destination (`_` may stand for it where the sign is `=_`)
    +               the register may be wider (and need not have the type's sign)
    *n              a vector of n; `*` of any length
    |p  |p?         beside a predicate destination, which may be missing where `?` stands
    []  [t]         an address; one with coordinates (of a tensor)
    #  #a-b  #a/b   an integer constant; in a range, `#a-b+s` in steps; out of a list
    m               whatever mov takes: also special registers and names, and vectors that make up the type
    v               a 32-bit integer register, with a selector or not, or a constant
    x               anything
    ?               at the end of an operand: it and what follows may be missing

Opcodes without a line (call, branches, matrices, textures), and bulk copies but for their groups, are checked where
they are lowered; what has one is right when it gets there, and nothing of it is checked again.
"""

from __future__ import annotations

CLASSES: dict[str, str] = {
    "INT": "u16/u32/u64/s16/s32/s64",
    "WIDE": "u32/s32/u64/s64",
    "WORD": "u32/s32",
    "BITS": "b16/b32/b64/pred",
    "ROUND": "rn/rz/rm/rp",
    "SCALAR": "b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64",
    "MEMORY": "b8/b16/b32/b64/u8/u16/u32/u64/s8/s16/s32/s64/f32/f64",
    "SHORT": "b8/b16/b32/u8/u16/u32/s8/s16/s32/f32",
    "NARROW": "u8/s8/u16/s16/u32/s32/u64/s64",
    "ORDER": "eq/ne/lt/le/gt/ge",
    "UNORDERED": "equ/neu/ltu/leu/gtu/geu/num/nan",
    "SCOPE": "cta/cluster/gpu/sys",
    "WHOLE": "rni/rzi/rmi/rpi",
    "LOGIC": "and/or/xor",
    "HALVES": "f16/f16x2/bf16/bf16x2",
    "EVICT": "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate",
    "SHARED": "shared/shared::cta/shared::cluster",
    "OWN": "shared/shared::cta",
    "ANY": "global/const/local/param/param::entry/param::func/shared/shared::cta/shared::cluster",
    "SEEN": "global/const/local/shared/shared::cta/shared::cluster",
    "VISIBLE": "global/shared/shared::cta/shared::cluster",
    "WRITABLE": "global/local/param/param::func/shared/shared::cta/shared::cluster",
    "SEM": "relaxed/acquire/release/acq_rel",
    "KEEP": "L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged",
    "PREFETCH": "L2::64B/L2::128B/L2::256B",
}
