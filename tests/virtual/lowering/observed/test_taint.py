"""Values that nothing has written, behind every implemented opcode: found where they are used, and only there.

Each text gets registers that depend on shared memory: `{t}` (32 bits), `{w}` (64), `{h}` (16), `{p}` (a predicate) are
0 where it was filled and mean nothing where it was not. What a text writes is stored to global memory after it.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from instruction_forms import accepted, patterns

import gridstride as gs
from gridstride.virtual.ptx.isa import ISA, Meaning

PROGRAM = """.version 9.0
.target sm_90a
.address_size 64
.visible .func (.param .b32 result) same(.param .b32 given)
{{ .reg .b32 %t<1>; ld.param.b32 %t0, [given]; st.param.b32 [result], %t0; ret; }}
.visible .entry k(.param .u64 p_out, .param .u32 p_fill, .param .u64 p_image)
{{
    .shared .align 128 .b8 smem[4096];
    .shared .align 128 .b8 filled[4096];
    .reg .pred %p<16>; .reg .b16 %h<80>; .reg .b32 %t<160>; .reg .b64 %w<80>; .reg .b128 %q<16>;
    .reg .pred %fill, %never; .reg .b32 %thread, %at, %zero, %own, %place; .reg .b64 %out, %long, %image;
    ld.param.u64 %out, [p_out]; ld.param.u64 %image, [p_image];
    ld.param.u32 %at, [p_fill];
    setp.ne.u32 %fill, %at, 0;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %long, %thread, 64;
    add.s64 %out, %out, %long;
    mov.u32 %own, filled; mad.lo.u32 %own, %thread, 64, %own;
    mov.u32 %place, smem; mad.lo.u32 %place, %thread, 64, %place;
    mov.u32 %zero, 0;
    st.shared.v4.b32 [%own], {{%zero, %zero, %zero, %zero}};
    st.shared.v4.b32 [%own+16], {{%zero, %zero, %zero, %zero}};
    st.shared.v4.b32 [%own+32], {{%zero, %zero, %zero, %zero}};
    st.shared.v4.b32 [%own+48], {{%zero, %zero, %zero, %zero}};
    @!%fill bra START;
    st.shared.v4.b32 [%place], {{%zero, %zero, %zero, %zero}};
    st.shared.v4.b32 [%place+16], {{%zero, %zero, %zero, %zero}};
    st.shared.v4.b32 [%place+32], {{%zero, %zero, %zero, %zero}};
    st.shared.v4.b32 [%place+48], {{%zero, %zero, %zero, %zero}};
START:
    bar.sync 0;
    ld.shared.b32 %t150, [%place];
    and.b32 %t150, %t150, 0;
    cvt.u64.u32 %w70, %t150;
    cvt.u16.u32 %h70, %t150;
    mov.b128 %q10, {{%w70, %w70}};
    setp.ne.u32 %p15, %t150, 0;
{body}
END:
    ret;
}}
"""
"""What the body is given: addresses of lanes in `smem` (%place), which may be unset, in `filled` (%own), and %out."""

STORES = {
    "t": "st.global.b32 [%out], {0};", "w": "st.global.b64 [%out], {0};", "h": "st.global.b16 [%out], {0};",
    "q": "st.global.b128 [%out], {0};", "p": "selp.u32 %t159, 1, 2, {0};\n    st.global.b32 [%out], %t159;",
}  # fmt: skip
TAINTED = {"t": "%t150", "w": "%w70", "h": "%h70", "p": "%p15", "q": "%q10"}


def stored(register: str) -> str:
    return STORES[register[1]].format(register)


@cache
def plain_form(opcode: str) -> str:
    """The first form that ptxas accepts of an opcode that reads registers alone."""
    for pattern in patterns():
        for form, ok in accepted(pattern) if re.match(r"\w+|\{", pattern) else ():
            if ok and form.opcode == opcode and "[" not in form.text:
                return form.text
    raise LookupError(opcode)


def register_form(opcode: str) -> str:
    """That form, all of its sources without meaning, and what it writes stored."""
    text = plain_form(opcode)
    head, operands = text.rstrip(";").split(" ", 1)
    target, *sources = re.split(r", (?![^{]*\})", operands)
    given = [re.sub(r"%([twhpq])\d+", lambda found: TAINTED[found[1]], source) for source in sources]
    written = re.findall(r"%[twhpq]\d+", target)
    return "\n    ".join([f"{head} {target}, {', '.join(given)};", *map(stored, written[:1])])


ADDRESS = "cvt.u64.u32 %w1, %own; add.u64 %w1, %w1, {w};"
GLOBAL = "add.u64 %w1, %out, {w};"
FRAGMENTS = "mov.b32 %t1, {t}; mov.b32 %t2, {t}; mov.b32 %t3, {t}; mov.b32 %t4, {t};"
BARRIER = """setp.eq.u32 %p1, %thread, 0;
    @%p1 mbarrier.init.shared.b64 [filled], 32;
    bar.sync 0;"""
BY_HAND = {
    "createpolicy": "createpolicy.range.global.L2::evict_last.b64 %w1, [%out], {t}, {t}; st.global.b64 [%out], %w1;",
    "elect": "add.u32 %t1, {t}, -1; elect.sync %t2|%p1, %t1; " + STORES["p"].format("%p1"),
    "getctarank": "mov.u64 %w1, filled; cvta.shared.u64 %w1, %w1; add.u64 %w1, %w1, {w}; getctarank.u64 %t1, %w1; "
                  "st.global.b32 [%out], %t1;",
    "mapa": "mapa.shared::cluster.u32 %t1, %own, {t}; st.global.b32 [%out], %t1;",
    "addc": "add.cc.u32 %t1, {t}, 1; addc.u32 %t2, 1, 2; st.global.b32 [%out], %t2;",
    "subc": "sub.cc.u32 %t1, {t}, 1; subc.u32 %t2, 1, 2; st.global.b32 [%out], %t2;",
    "madc": "mad.lo.cc.u32 %t1, {t}, 3, 1; madc.lo.u32 %t2, 1, 2, 3; st.global.b32 [%out], %t2;",
    "sub": "sub.u32 %t1, {t}, 1; st.global.b32 [%out], %t1;",
    "xor": "xor.b32 %t1, {t}, 1; st.global.b32 [%out], %t1;",
    "vote": "vote.sync.ballot.b32 %t1, {p}, -1; st.global.b32 [%out], %t1;",
    "match": "match.any.sync.b32 %t1, {t}, -1; st.global.b32 [%out], %t1;",
    "redux": "redux.sync.add.s32 %t1, {t}, -1; st.global.b32 [%out], %t1;",
    "shfl": "shfl.sync.bfly.b32 %t1, {t}, 1, 31, -1; st.global.b32 [%out], %t1;",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 %t1, {t}; st.global.b32 [%out], %t1;",
    "mma": FRAGMENTS + """
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%t5, %t6, %t7, %t8}}, {{%t1, %zero, %t3, %zero}},
        {{%zero, %zero}}, {{%zero, %zero, %zero, %zero}};
    st.global.b32 [%out], %t5;""",
    "wmma": FRAGMENTS + """
    wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32 {{%t5, %t6}}, {{%t1}}, {{%zero}}, {{%zero, %zero}};
    st.global.b32 [%out], %t5;""",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%t1}}, [%place]; st.global.b32 [%out], %t1;",
    "ld": "ld.shared.b32 %t1, [%place]; st.global.b32 [%out], %t1;",
    "ldu": GLOBAL + "ldu.global.b32 %t1, [%w1]; st.global.b32 [%out], %t1;",
    "atom": "atom.shared.exch.b32 %t1, [%place+32], 1; st.global.b32 [%out], %t1;",
    "red": "red.global.add.u32 [%out], {t};",
    "st": "st.global.b32 [%out], {t};",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%own], {{{t}}}; bar.warp.sync -1; "
                "ld.shared.b32 %t1, [filled]; st.global.b32 [%out], %t1;",
    "cp": "add.u32 %t1, %own, {t}; cp.async.ca.shared.global [%t1], [%out], 4; cp.async.wait_all;",
    "mbarrier": BARRIER + "mov.u32 %t1, filled; add.u32 %t1, %t1, {t}; mbarrier.arrive.shared.b64 %w1, [%t1];",
    "bar": "bar.red.popc.u32 %t1, 0, {p}; st.global.b32 [%out], %t1;",
    "barrier": "barrier.sync {t};",
    "bra": "@{p} bra END; st.global.b32 [%out], 1;",
    "brx": "there: .branchtargets NEXT, END; brx.idx {t}, there; NEXT: st.global.b32 [%out], 1;",
    "ret": "@{p} ret; st.global.b32 [%out], 1;",
    "exit": "@{p} exit; st.global.b32 [%out], 1;",
    "trap": "@{p} trap; st.global.b32 [%out], 1;",
    "tex": "tex.2d.v4.f32.f32 {{%t1, %t2, %t3, %t4}}, [%image, {{{t}, {t}}}]; st.global.b32 [%out], %t1;",
    "tld4": "tld4.r.2d.v4.f32.f32 {{%t1, %t2, %t3, %t4}}, [%image, {{{t}, {t}}}]; st.global.b32 [%out], %t1;",
    "txq": "add.u64 %w1, %image, {w}; txq.width.b32 %t1, [%w1]; st.global.b32 [%out], %t1;",
    "suld": "suld.b.1d.b32.zero %t1, [%image, {{{t}}}]; st.global.b32 [%out], %t1;",
    "suq": "add.u64 %w1, %image, {w}; suq.width.b32 %t1, [%w1]; st.global.b32 [%out], %t1;",
    "sured": "sured.b.add.1d.u32.clamp [%image, {{%zero}}], {t};",
    "sust": "sust.b.1d.b32.clamp [%image, {{%zero}}], {t};",
}  # fmt: skip

ELSEWHERE = {
    "wgmma": "tests/virtual/lowering/observed/test_taint_lanes.py: it needs four warps",
    "tensormap": "its operands are the map's fields, in the kernel's own copy: as a store's to shared memory",
    "multimem": "refused: there is one GPU", "alloca": "refused: no stack that grows",
    "stacksave": "refused: no stack that grows", "stackrestore": "refused: no stack that grows",
    "istypep": "refused", "clusterlaunchcontrol": "refused: no chip of that kind", "tcgen05": "refused: as that",
    "call": "arguments are not followed into functions that stayed functions",
}  # fmt: skip
"""Opcodes without a text, and why."""


def text_of(opcode: str) -> str:
    body = BY_HAND[opcode].format(**TAINTED) if opcode in BY_HAND else register_form(opcode)
    return PROGRAM.format(body=f"    {body}")


FOLLOWED = [name for name, row in ISA.items() if row.meaning is not Meaning.NOTHING and name not in ELSEWHERE]


def kinds(opcode: str, *, fill: bool) -> set[str]:
    device = gs.VirtualGPU("h200", workers=1, memory=16 << 20, time_limit=5)
    with gs.use(device):
        ones = gs.to_device(np.zeros(64 * 32, np.uint32))
        image = handle(opcode)
        run = gs.ptx(text_of(opcode))["k"].observe(1, 32)(ones, int(fill), image)
        return {found.kind for found in run.findings}


def handle(opcode: str) -> object:
    """A texture or surface where the opcode reads one."""
    if opcode in ("tex", "tld4", "txq"):
        return gs.texture(np.zeros((8, 8), np.float32))
    return gs.surface(np.zeros(64, np.uint32)) if opcode in ("suld", "suq", "sured", "sust") else 0


@pytest.mark.parametrize("opcode", FOLLOWED)
def test_what_nothing_wrote_is_found_behind_it(opcode: str) -> None:
    assert "uninitialised_read" in kinds(opcode, fill=False)


@pytest.mark.parametrize("opcode", FOLLOWED)
def test_what_was_written_is_silent_behind_it(opcode: str) -> None:
    assert kinds(opcode, fill=True) == set()


def test_every_implemented_opcode_is_tried_or_says_why_not() -> None:
    nothing = {name for name, row in ISA.items() if row.meaning is Meaning.NOTHING}
    assert set(FOLLOWED) | set(ELSEWHERE) | nothing == set(ISA)
    assert not set(FOLLOWED) & set(ELSEWHERE)
