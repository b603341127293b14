"""The grammar of single instructions up to sm_90a, as ptxas 13.0 holds to it: modifiers, types and operands.

The lines below a row of the instruction set (isa.py) are `modifiers : operands`. A modifier is a word or `a/b/c` (one
of them), in brackets where it may be missing; a word in capitals stands for a class. Their order does not matter but
among types, and of row and col. Operands:

    T T1 T2 u32 …   a register or constant of the last, first, second type, or of the type named
    =               only a register: a destination (`_` may stand for it where the sign is `=_`)
    +               the register may be wider (and need not have the type's sign)
    *n              a vector of n; `*` of as many as v2, v4, v8 or x1, x2, x4 say; `*n/4` and `*d-2` of as many as
                    that is of n in the shape m64n8k16, of d in the dimensions 3d
    |p  |p?         beside a predicate destination, which may be missing where `?` stands
    []  [t]         an address; that of a tensor map, with one coordinate for each dimension
    [h] [o]         a texture or surface object; with the coordinates of its shape, which padding may follow
    #  #a-b  #a/b   an integer constant; in a range, `#a-b+s` in steps; out of a list
    m               whatever mov takes: also special registers and names, and vectors that make up the type
    v               a 32-bit integer register, with a selector or not, or a constant
    x               anything
    ?               at the end of an operand: it and what follows may be missing

Where lines differ in their operands alone, an instruction may have those of either. Opcodes without a line (calls and
branches) are checked where they are lowered; what has one is right when it gets there, and nothing of it is checked
again. A line says what PTX has, and the lowering what of it the virtual GPU lacks.
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
    "FP8": "e4m3/e5m2",
    "TILE16": "m16n16k16/m32n8k16/m8n32k16",
    "SPARSE": "sp/sp::ordered_metadata",
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
    "HINT": "L2::cache_hint",
    "COUNTED": "mbarrier::complete_tx::bytes",
    "RANK": "1d/2d/3d/4d/5d",
    "IMAGE": "3d/4d/5d",
    "REDUCTION": "add/min/max/inc/dec/and/or/xor",
    "TEXTURE": "1d/2d/3d/a1d/a2d/cube/acube",
    "SURFACE": "1d/2d/3d/a1d/a2d",
    "TEXEL": "u32/s32/f16/f32",
    **{f"N8xK{k}": "/".join(f"m64n{n}k{k}" for n in range(8, 257, 8)) for k in (8, 16, 32, 64)},
    **{f"N16xK{k}": "/".join(f"m64n{n}k{k}" for n in (8, 24, *range(16, 257, 16))) for k in (32, 64, 256)},
}
