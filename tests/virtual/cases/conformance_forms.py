"""The instructions that conformance programs are made of: texts with slots for operands, by family.

A slot is `{kind}` for a source and `{kind=}` for a destination. Kinds: p (pred), h r d (16-, 32-, 64-bit integers),
f g (f32, f64), x y (f16, bf16), u v (f16x2, bf16x2); `{ri}` and the like may be a literal too. `{k}` is a thread of the
block, `{c}` the third operand of shfl, `{lut}` a byte, `{cell}` the offset of a word that no other statement uses.
%t0… (b32), %w0… (b64), %k0… (b16), %s0… (f32), %z0… (f64) and %q0… (pred) are scratch.

No form lets the bits of a NaN reach anything but another float: they differ between GPUs by right. What ptxas 13.0
miscompiles is left out: 16-bit shifts by a literal, of which it reads 16 bits, and guards of `UNGUARDED` opcodes, which
it writes as two instructions and guards one of (an inactive lane's register of `set.f32` changes).
"""

from __future__ import annotations

from itertools import product

KINDS = {
    "pred": "p", "b16": "h", "u16": "h", "s16": "h", "b32": "r", "u32": "r", "s32": "r", "b64": "d", "u64": "d",
    "s64": "d", "f32": "f", "f64": "g", "f16": "x", "bf16": "y", "f16x2": "u", "bf16x2": "v", "u8": "h", "s8": "h",
}  # fmt: skip
"""The kind of register that holds each type."""

_NUMBERS = ("u16", "s16", "u32", "s32", "u64", "s64")
_WIDE = ("u32", "s32", "u64", "s64")
_ROUNDINGS = ("rn", "rz", "rm", "rp")
_HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_PAIRS = ("f16x2", "bf16x2")


def _form(name: str, to: str, *of: str, literals: bool = True) -> str:
    """`name d, a, b…` by types; the last integer or float32/64 source may be a literal."""
    slots = [f"{{{KINDS[t]}}}" for t in of]
    if literals and len(of) > 1 and KINDS[of[-1]] in "hrdfg":
        slots[-1] = slots[-1].replace("}", "i}")
    return f"{name} " + ", ".join([f"{{{KINDS[to]}=}}", *slots])


def _same(names: str, types: tuple[str, ...], sources: int) -> list[str]:
    return [_form(f"{name}.{t}", t, *[t] * sources) for name, t in product(names.split(), types)]


def _integers() -> list[str]:
    wider = {"16": "32", "32": "64"}
    return [
        *_same("add sub mul.lo mul.hi min max", _NUMBERS, 2),
        *_same("mad.lo mad.hi sad", _NUMBERS, 3),
        *_same("abs neg", ("s16", "s32", "s64"), 1),
        *_same("add.sat sub.sat", ("s32",), 2),
        *_same("mad.hi.sat", ("s32",), 3),
        *_same("mul24.lo mul24.hi", ("u32", "s32"), 2),
        *_same("mad24.lo mad24.hi", ("u32", "s32"), 3),
        *(_form(f"mul.wide.{t}", t[0] + wider[t[1:]], t, t) for t in _NUMBERS[:4]),
        *(_form(f"mad.wide.{t}", t[0] + wider[t[1:]], t, t, t[0] + wider[t[1:]]) for t in _NUMBERS[:4]),
        *(_form(f"dp4a.{a}.{b}", "b32", a, b, "b32") for a, b in product(("u32", "s32"), repeat=2)),
        *(_form(f"dp2a.{h}.{a}.{b}", "b32", a, b, "b32") for h, a, b in product(("lo", "hi"), *[("u32", "s32")] * 2)),
    ]


def _divisions() -> list[str]:
    """Division by 0 has no result that PTX names: 5 is divided by instead."""
    scratch = {"16": "%k0", "32": "%t0", "64": "%w0"}
    found = []
    for op, t in product(("div", "rem"), _NUMBERS):
        size, kind = t[1:], KINDS[t]
        s = scratch[size]
        found.append(
            f"mov.b{size} {s}, {{{kind}}}; setp.eq.s{size} %q0, {s}, 0; selp.b{size} {s}, 5, {s}, %q0; "
            f"{op}.{t} {{{kind}=}}, {{{kind}}}, {s}"
        )
    return found


def _bits() -> list[str]:
    words = ("b32", "b64")
    return [
        *_same("and or xor", ("b16", *words, "pred"), 2),
        *_same("not", ("b16", *words, "pred"), 1),
        *_same("cnot", ("b16", *words), 1),
        *(_form(f"shl.{t}", t, t, "u32", literals="16" not in t) for t in ("b16", *words)),
        *(_form(f"shr.{t}", t, t, "u32", literals="16" not in t) for t in ("b16", *words, *_NUMBERS)),
        *(_form(f"shf.{way}.{mode}.b32", "b32", "b32", "b32", "u32") for way, mode in product("lr", ("clamp", "wrap"))),
        *(_form(f"{name}.{t}", "u32", t) for name, t in product(("popc", "clz"), words)),
        *(_form(f"bfind{how}.{t}", "u32", t) for how, t in product(("", ".shiftamt"), _WIDE)),
        *_same("brev", words, 1),
        *(_form(f"bfe.{t}", t, t, "u32", "u32", literals=False) for t in _WIDE),
        *(_form(f"bfi.{t}", t, t, t, "u32", "u32", literals=False) for t in words),
        *(f"bfe.{t} {{{KINDS[t]}=}}, {{{KINDS[t]}}}, {{r}}, {{lut}}" for t in _WIDE),
        *(f"bfi.{t} {{{KINDS[t]}=}}, {{{KINDS[t]}}}, {{{KINDS[t]}}}, {{r}}, {{lut}}" for t in words),
        *(_form(f"bmsk.{mode}.b32", "b32", "u32", "u32") for mode in ("clamp", "wrap")),
        *(_form(f"szext.{mode}.{t}", t, t, "u32") for mode, t in product(("clamp", "wrap"), ("u32", "s32"))),
        *(_form(f"prmt.b32{mode}", *["b32"] * 4) for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")),
        "lop3.b32 {r=}, {r}, {r}, {r}, {lut}",
        "lop3.b32 {r=}, {r}, {r}, {ri}, {lut}",
        "fns.b32 {r=}, {r}, {k}, {ri}",
    ]  # fmt: skip


def _carries() -> list[str]:
    found = []
    for t, op in product(("u32", "s32", "u64", "s64"), ("add", "sub")):
        a, d = f"{{{KINDS[t]}}}", f"{{{KINDS[t]}=}}"
        found += [
            f"{op}.cc.{t} {d}, {a}, {a}; {op}c.{t} {d}, {a}, {a}",
            f"{op}.cc.{t} {d}, {a}, {a}; {op}c.cc.{t} {d}, {a}, {a}; {op}c.{t} {d}, {a}, 0",
        ]
    found += [
        "mad.lo.cc.u32 {r=}, {r}, {r}, {r}; madc.hi.u32 {r=}, {r}, {r}, 0",
        "mad.lo.cc.u32 {r=}, {r}, {r}, {r}; madc.lo.cc.u32 {r=}, {r}, {r}, {r}; madc.hi.u32 {r=}, {r}, {r}, {r}",
        "mad.hi.cc.s32 {r=}, {r}, {r}, {r}; addc.u32 {r=}, {r}, 0",
        "mad.lo.cc.u64 {d=}, {d}, {d}, {d}; madc.hi.u64 {d=}, {d}, {d}, 0",
    ]
    return found


def _video() -> list[str]:
    names = ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
    return [
        *(f"{n}{s}.{t}.{t}.{t}{m} {{r=}}, {{r}}, {{r}}, {{r}}"
          for n, s, t, m in product((*names, "vavrg"), "24", ("u32", "s32"), ("", ".sat"))),
        *(f"{n}.s32.{a}.{b}.sat {{r=}}, {{r}}.b1, {{r}}.h1" for n, a, b in product(names, *[("u32", "s32")] * 2)),
        *(f"vset{s}.u32.s32.{c} {{r=}}, {{r}}, {{r}}, {{r}}" for s, c in product("24", ("lt", "ne", "ge"))),
        *(f"{n}.u32.u32.u32.{m} {{r=}}, {{r}}, {{r}}" for n, m in product(("vshl", "vshr"), ("clamp", "wrap"))),
    ]  # fmt: skip


def _singles() -> list[str]:
    found = []
    for rounding, ftz, sat in product(_ROUNDINGS, ("", ".ftz"), ("", ".sat")):
        found += _same(" ".join(f"{op}.{rounding}{ftz}{sat}" for op in ("add", "sub", "mul")), ("f32",), 2)
        found += _same(f"fma.{rounding}{ftz}{sat}", ("f32",), 3)
    for rounding in _ROUNDINGS:
        found += _same(" ".join(f"{op}.{rounding}" for op in ("add", "sub", "mul", "div")), ("f64",), 2)
        found += _same(f"fma.{rounding}", ("f64",), 3) + _same(f"rcp.{rounding} sqrt.{rounding}", ("f64",), 1)
        for ftz in ("", ".ftz"):
            found += _same(f"div.{rounding}{ftz}", ("f32",), 2)
            found += _same(f"rcp.{rounding}{ftz} sqrt.{rounding}{ftz}", ("f32",), 1)
    return found


def _signs() -> list[str]:
    """min, max, abs, neg, copysign and testp; what gives its sign away is made a number first."""
    number = "mov.f32 {0}, {{f}}; testp.notanumber.f32 %q0, {0}; selp.f32 {0}, 0f3F800000, {0}, %q0; "
    double = "mov.f64 {0}, {{g}}; testp.notanumber.f64 %q0, {0}; selp.f64 {0}, 0d3FF0000000000000, {0}, %q0; "
    classes = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    return [
        *_same("min max min.ftz max.ftz min.NaN max.NaN min.ftz.NaN", ("f32",), 2),
        *_same("min max", ("f64",), 2),
        *_same("abs neg abs.ftz neg.ftz", ("f32",), 1),
        *_same("abs neg", ("f64",), 1),
        number.format("%s0") + "copysign.f32 {f=}, %s0, {f}",
        double.format("%z0") + "copysign.f64 {g=}, %z0, {g}",
        number.format("%s0") + number.format("%s1") + "min.xorsign.abs.f32 {f=}, %s0, %s1",
        number.format("%s0") + number.format("%s1") + "max.xorsign.abs.f32 {f=}, %s0, %s1",
        number.format("%s0") + "mov.b32 {r=}, %s0",
        double.format("%z0") + "mov.b64 {d=}, %z0",
        *(_form(f"testp.{c}.{t}", "pred", t) for c, t in product(classes, ("f32", "f64"))),
    ]  # fmt: skip


def _halves() -> list[str]:
    found = []
    for m in ("", ".ftz", ".sat", ".ftz.sat"):
        found += _same(f"add.rn{m} sub.rn{m} mul.rn{m}", ("f16", "f16x2"), 2)
        found += _same(f"fma.rn{m}", ("f16", "f16x2"), 3)
    found += _same("add.rn sub.rn mul.rn", ("bf16", "bf16x2"), 2)
    found += _same("fma.rn fma.rn.relu", _HALVES, 3) + _same("fma.rn.ftz.relu", ("f16", "f16x2"), 3)
    found += _same("min max min.NaN max.NaN", _HALVES, 2)
    found += _same("min.ftz max.ftz min.ftz.NaN max.ftz.NaN", ("f16", "f16x2"), 2)
    found += _same("neg abs", _HALVES, 1) + _same("neg.ftz abs.ftz", ("f16", "f16x2"), 1)
    for pair, half in (("u", "x"), ("v", "y")):
        found.append(f"mov.b32 {{{pair}=}}, {{{{{half}}}, {{{half}}}}}")
        found.append(f"mov.b32 {{{{{half}=}}, {{{half}=}}}}, {{{pair}}}")
    return found


def _holds(to: str, of: str) -> bool:
    """True where one integer type has all values of another: nothing saturates, and .sat is refused."""
    wider, wide = int(to[1:]) - int(of[1:]), to[0] == of[0]
    return wider >= 0 if wide else wider > 0 and of[0] == "u"


def _conversions() -> list[str]:
    integers, small = ("u8", "s8", *_NUMBERS), ("u8", "s8", "u16", "s16")
    whole = ("rni", "rzi", "rmi", "rpi")
    found = [_form(f"cvt.{to}.{of}", to, of) for to, of in product(integers, integers)]
    found += [_form(f"cvt.sat.{to}.{of}", to, of) for to, of in product(integers, integers) if not _holds(to, of)]
    found += [f"cvt{s}.{to}.{of} {{r=}}, {{r}}" for s, to, of in product(("", ".sat"), small, ("u32", "s32"))]
    found += [f"cvt.{to}.{of} {{r=}}, {{r}}" for to, of in product(small, small)]
    for r, t in product(_ROUNDINGS, integers):
        found += [_form(f"cvt.{r}{s}.{to}.{t}", to, t) for to, s in product(("f32", "f64", "f16"), ("", ".sat"))]
        if t[1:] != "8":
            found.append(_form(f"cvt.{r}.bf16.{t}", "bf16", t))
    for r, t in product(whole, integers):
        found += [_form(f"cvt.{r}.{t}.{of}", t, of) for of in ("f64", "f16", "f32")]
        if t[1:] != "8":
            found.append(_form(f"cvt.{r}.{t}.bf16", t, "bf16"))
        found.append(_form(f"cvt.{r}.ftz.{t}.f32", t, "f32"))
    return found + _float_conversions(whole) + _packed_conversions()


def _float_conversions(whole: tuple[str, ...]) -> list[str]:
    found = []
    for r, s in product(whole, ("", ".sat")):
        found += [_form(f"cvt.{r}{s}.{t}.{t}", t, t) for t in ("f32", "f64", "f16")]
        found.append(_form(f"cvt.{r}.ftz{s}.f32.f32", "f32", "f32"))
    found += [_form(f"cvt{m}.f32.f32", "f32", "f32") for m in (".ftz", ".sat", ".ftz.sat")]
    found += [_form("cvt.sat.f64.f64", "f64", "f64"), _form("cvt.sat.f16.f16", "f16", "f16")]
    for r, f, s in product(_ROUNDINGS, ("", ".ftz"), ("", ".sat")):
        found.append(_form(f"cvt.{r}{f}{s}.f32.f64", "f32", "f64"))
        found.append(_form(f"cvt.{r}{f}{s}.f16.f32", "f16", "f32"))
        if not f:
            found.append(_form(f"cvt.{r}{s}.f16.f64", "f16", "f64"))
    for r, of in product(_ROUNDINGS, ("f32", "f64", "f16")):
        found.append(_form(f"cvt.{r}.bf16.{of}", "bf16", of))
    for r in _ROUNDINGS:
        found.append(_form(f"cvt.{r}.f16.bf16", "f16", "bf16"))
    for f, s in product(("", ".ftz"), ("", ".sat")):
        found.append(_form(f"cvt{f}{s}.f64.f32", "f64", "f32"))
        found.append(_form(f"cvt{f}{s}.f32.f16", "f32", "f16"))
    found += [_form(f"cvt{s}.f64.f16", "f64", "f16") for s in ("", ".sat")]
    found += [_form(f"cvt.{t}.bf16", t, "bf16") for t in ("f32", "f64")]
    return found


def _packed_conversions() -> list[str]:
    found = []
    for r, relu, to in product(("rn", "rz"), ("", ".relu"), ("f16", "bf16")):
        found.append(_form(f"cvt.{r}{relu}.{to}.f32", to, "f32"))
        found.append(_form(f"cvt.{r}{relu}.{to}x2.f32", f"{to}x2", "f32", "f32", literals=False))
    for format_, relu in product(("e4m3x2", "e5m2x2"), ("", ".relu")):
        found.append(f"cvt.rn.satfinite{relu}.{format_}.f32 {{h=}}, {{f}}, {{f}}")
        found.append(f"cvt.rn.satfinite{relu}.{format_}.f16x2 {{h=}}, {{u}}")
        found.append(f"cvt.rn{relu}.f16x2.{format_} {{u=}}, {{h}}")
    found.append("cvt.rna.tf32.f32 %t0, {f}; mov.b32 {f=}, %t0")
    found += [f"cvt.pack.sat.{t}.s32 {{r=}}, {{r}}, {{ri}}" for t in ("u16", "s16")]
    found += [f"cvt.pack.sat.{t}.s32.b32 {{r=}}, {{r}}, {{ri}}, {{r}}" for t in ("u8", "s8", "u4", "s4", "u2", "s2")]
    return found


def _comparisons() -> list[str]:
    found = []
    signed, unsigned = ("eq", "ne", "lt", "le", "gt", "ge"), ("lo", "ls", "hi", "hs")
    floats = (*signed, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    compared = [(c, t) for c, t in product(signed, _NUMBERS)] + [(c, t) for c, t in product(unsigned, ("u32", "u64"))]
    compared += [(c, t) for c, t in product(floats, ("f32", "f64", "f16", "bf16"))]
    compared += [(f"{c}.ftz", t) for c, t in product(floats, ("f32", "f16"))]
    for c, t in compared:
        found.append(_form(f"setp.{c}.{t}", "pred", t, t))
        if "bf16" not in t:
            found.append(_form(f"set.{c}.u32.{t}", "u32", t, t))
        if t[0] != "b" and t[1:] not in ("16",):
            found.append(_form(f"set.{c}.f32.{t}", "f32", t, t))
    for c, t in product(("lt", "geu", "ne"), ("s32", "f32", "f64", "u64")):
        c = c if t[0] == "f" else c[:2]
        a = f"{{{KINDS[t]}}}"
        found += [f"setp.{c}.{op}.{t} {{p=}}|{{p=}}, {a}, {a}, {{p}}" for op in ("and", "or", "xor")]
    for c, t in product(("eq", "lt", "leu", "nan"), _PAIRS):
        found.append(f"setp.{c}.{t} {{p=}}|{{p=}}, {{{KINDS[t]}}}, {{{KINDS[t]}}}")
        found.append(_form(f"set.{c}.{t}.{t}", t, t, t))
    found += [_form(f"selp.{t}", t, t, t, "pred") for t in ("b16", "b32", "b64", "f32", "f64")]
    found += [
        _form(f"slct.{t}.{c}", t, t, t, c, literals=False)
        for t, c in product(("b32", "b64", "f32", "f64"), ("s32", "f32"))
    ]
    return found  # fmt: skip


def _atomics() -> list[str]:
    """Each thread on a word of its own, in global or shared memory: old and new value."""
    found = []
    where = (("global", "%own"), ("shared", "%mine"))
    operations = [(op, t) for op, t in product(("add", "min", "max"), _WIDE) if (op, t) != ("add", "s64")]
    operations += [(op, t) for op, t in product(("and", "or", "xor", "exch"), ("b32", "b64"))]
    operations += [("inc", "u32"), ("dec", "u32"), ("cas", "b32"), ("cas", "b64"), ("add", "f32"), ("add", "f64")]
    for (space, at), (op, t) in product(where, operations):
        k, size = KINDS[t], t[1:]
        more = f", {{{k}}}" if op == "cas" else ""
        found.append(
            f"st.{space}.b{size} [{at}], {{{k}}}; atom.{space}.{op}.{t} {{{k}=}}, [{at}], {{{k}}}{more}; "
            f"ld.{space}.{t[0].replace('s', 'u')}{size} {{{k}=}}, [{at}]"
        )
    for (space, at), t in product(where, _PAIRS):
        k = KINDS[t]
        found.append(
            f"st.{space}.b32 [{at}], {{{k}}}; atom.{space}.add.noftz.{t} {{{k}=}}, [{at}], {{{k}}}; "
            f"ld.{space}.b32 {{{k}=}}, [{at}]"
        )
    return found


def _warps() -> list[str]:
    """What the 32 lanes of a warp do together; the member mask is all of them, or those whose predicate holds."""
    found = []
    for mode in ("up", "down", "bfly", "idx"):
        found.append(f"shfl.sync.{mode}.b32 {{r=}}|{{p=}}, {{r}}, {{ri}}, {{c}}, -1")
        found.append(f"mov.b32 %t0, {{f}}; shfl.sync.{mode}.b32 %t0, %t0, {{ri}}, {{c}}, -1; mov.b32 {{f=}}, %t0")
        found.append(f"shfl.sync.{mode}.b32 {{r=}}|{{p=}}, {{r}}, {{k}}, {{c}}, -1")
    split = "mov.pred %q0, {p}; vote.sync.ballot.b32 %t0, %q0, -1; "
    for mask, guard in (("-1", ""), ("%t0", "@%q0 ")):
        before = split if guard else ""
        found += [before + f"{guard}vote.sync.{m}.pred {{p=}}, {{p}}, {mask}" for m in ("all", "any", "uni")]
        found.append(before + f"{guard}vote.sync.ballot.b32 {{r=}}, {{p}}, {mask}")
        found += [
            before + f"{guard}redux.sync.{op}.{t} {{r=}}, {{r}}, {mask}"
            for op, t in product(("add", "min", "max"), ("u32", "s32"))
        ]
        found += [before + f"{guard}redux.sync.{op}.b32 {{r=}}, {{r}}, {mask}" for op in ("and", "or", "xor")]
        found.append(before + f"{guard}match.any.sync.b32 {{r=}}, {{r}}, {mask}")
        found.append(before + f"{guard}match.all.sync.b32 {{r=}}|{{p=}}, {{r}}, {mask}")
        found.append(before + f"{guard}match.any.sync.b64 {{r=}}, {{d}}, {mask}")
        found.append(before + f"{guard}match.all.sync.b64 {{r=}}|{{p=}}, {{d}}, {mask}")
        few = "and.b32 %t1, {r}, 3; "
        found.append(before + few + f"{guard}match.any.sync.b32 {{r=}}, %t1, {mask}")
    found += ["bar.warp.sync -1; activemask.b32 {r=}", "mov.u32 {r=}, %lanemask_lt", "mov.u32 {r=}, %laneid"]
    return found  # fmt: skip


def _blocks() -> list[str]:
    """What all threads of the block do together: exchange through shared memory, counting barriers, common words."""
    found = ["bar.red.popc.u32 {r=}, 0, {p}"]
    found += [f"bar.red.{op}.pred {{p=}}, 0, {{p}}" for op in ("and", "or")]
    for t, k in (("b16", "h"), ("b32", "r"), ("b64", "d"), ("f32", "f"), ("f64", "g"), ("b32", "u")):
        found.append(
            f"st.shared.{t} [%mine], {{{k}}}; bar.sync 0; add.s32 %t0, %tid8, {{k8}}; and.b32 %t0, %t0, 511; "
            f"add.s32 %t0, %t0, %pool; ld.shared.{t} {{{k}=}}, [%t0]; bar.sync 0"
        )
    operations = [(op, t) for op, t in product(("add", "min", "max"), _WIDE) if (op, t) != ("add", "s64")]
    operations += [(op, t) for op, t in product(("and", "or", "xor"), ("b32", "b64"))]
    for (op, t), (space, base), guard in product(
        operations, (("global", "%cells"), ("shared", "%common")), ("", "@{p} ")
    ):
        at = f"[{base}+{{cell}}]"
        found.append(
            f"{guard}red.{space}.{op}.{t} {at}, {{{KINDS[t]}}}; bar.sync 0; ld.{space}.b{t[1:]} {{{KINDS[t]}=}}, {at}"
        )
    return found  # fmt: skip


FAMILIES: dict[str, list[str]] = {
    "integer": _integers(), "division": _divisions(), "bits": _bits(), "carry": _carries(), "video": _video(),
    "float": _singles(), "sign": _signs(), "half": _halves(), "conversion": _conversions(),
    "comparison": _comparisons(), "atomic": _atomics(),
}  # fmt: skip
"""Forms that may stand anywhere, by family."""

UNGUARDED = ("set", "testp")
"""Opcodes that take no guard here."""

TOGETHER: dict[str, list[str]] = {"warp": _warps(), "block": _blocks()}
"""Forms that all threads of the block must come to."""
