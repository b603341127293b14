"""Whatever the text, parse gives a module or a PtxError."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.virtual.ptx import PtxError, parse
from gridstride.virtual.ptx.flow import cfg, liveness
from gridstride.virtual.ptx.parsing.lexer import Tokens

SEED = """.version 8.5
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.global .align 8 .u64 p[2][2] = {{generic(dyn)+4, 0xFF(dyn)}, {1 + 2 * 3, -4}};
.const .f32 c[] = {0f3F800000, 1.5e3, 0d3FF0000000000000};
.global .samplerref s = { addr_mode_0 = wrap };
.func (.param .b32 r) f(.param .b32 a, .reg .u64 b) .noreturn;
.alias g, f;
.visible .entry k(.param .u64 .ptr .global .align 8 x, .param .b8 y[16])
.maxntid 256, 1, 1 .minnctapersm 2
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .v4 .f32 V; .reg .b64 %rd<4>;
    .loc 1 2 3, function_name $L0, inlined_at 1 5 6
    ld.param.u64 %rd1, [x]; /* comment */
    @!%p1 bra $OUT;
    ts: .branchtargets $OUT, $IN;
    brx.idx %r1, ts;
$IN:
    setp.lt.and.s32 %p1|%p2, %r1, %tid.x, !%p3;
    { .reg .b32 t; .param .b32 p0; .param .b32 r0; mov.b32 t, %r1; st.param.b32 [p0+0], t;
      proto: .callprototype (.param .b32 _) _ (.param .b32 _, .reg .u64 _);
      call.uni (r0), f, (p0, %rd1); call (r0), %rd2, (p0, 5), proto; }
    ld.global.v4.f32 V, [%rd1+-16]; // more
    tex.2d.v4.f32.f32 V, [%rd1, {V.x, V.y}];
    vadd.s32.u32.s32.sat %r1.b0, %r2.b1, %r3.h1, %r4;
$OUT:
    ret;
}
.file 1 "a.cu"
.section .debug_str { $L0: .b8 65,0 }
"""
WORDS = """
{ } ( ) [ ] < > , ; : | ! @ _ - + = ? % ~ << . .reg .param .align .b32 .v4 .ptr .loc .entry .func .global .section
%r1 %rd1 %p1 V V.x %tid.x k f $OUT ts dyn WARP_SZ generic x mov.b32 call bra ret ld.v4.f32 ld @%p1 brx.idx tex.1d
0 5 -1 0x 0f 0f3F800000 1e999 99999999999999999999999999 08 4000000000 1.5 262144 /* */ // " "a" é
"""
PIECES = [*WORDS.split(), "\0", "\n", "9" * 5000]


def check(text: str) -> None:
    try:
        module = parse(text)
    except PtxError as error:
        complete = error.message and error.line >= 1 and error.column >= 1 and str(error).count("\n") == 2
        assert complete, repr(error)  # noqa: PT017 (a module is right too)
        return
    for function in module.functions.values():
        liveness.analyse(cfg.build(function))


def test_the_seed_itself_is_valid() -> None:
    assert len(parse(SEED).functions["k"].instructions) == 12


@settings(max_examples=300)
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_exchanged_removed_and_added_tokens(chance: random.Random, changes: int) -> None:
    tokens = [token for token in Tokens(SEED).texts if token]
    for _ in range(changes):
        at = chance.randrange(len(tokens))
        action = chance.randrange(4)
        if action == 0:
            tokens[at] = chance.choice(PIECES)
        elif action == 1:
            tokens.insert(at, chance.choice(PIECES))
        elif action == 2:
            del tokens[at]
        else:
            tokens[at] = chance.choice(tokens)
    check(" ".join(tokens))


@settings(max_examples=300)
@given(st.integers(0, len(SEED) - 1), st.integers(0, 12), st.text(max_size=4))
def test_exchanged_characters(at: int, length: int, characters: str) -> None:
    check(SEED[:at] + characters + SEED[at + length :])


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["", "body"]))
def test_heaps_of_tokens(pieces: list[str], where: str) -> None:
    head = ".version 8.5 .target sm_90 "
    check(head + (".entry k { .reg .b32 %r<4>; " if where else "") + " ".join(pieces))


@settings(max_examples=200)
@given(st.text())
def test_any_text(text: str) -> None:
    check(text)
    check(".version 8.5 .target sm_90 " + text)


def test_every_prefix_of_a_real_text(nvrtc_text: str) -> None:
    step = max(1, len(nvrtc_text) // 150)
    for end in range(0, len(nvrtc_text), step):
        check(nvrtc_text[:end])


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 100_000,
        '"' * 100_000,
        "(" * 100_000,
        ".global .u32 v = " + "(" * 100_000,
        ".global .u32 v = " + "~" * 100_000,
        ".global .u32 v[1] = " + "{" * 100_000,
        ".entry k " + "{" * 100_000,
        ".entry k {" + "{}" * 50_000,
        ".entry k { call f, " + "(" * 100_000,
        ".entry k { mov.b32 " + "{" * 100_000,
        ".entry k {" + "".join(f"L{i}: bra L{i + 1};" for i in range(20_000)),
        " " * 1_000_000,
        "\n" * 1_000_000,
        ".section .debug_x { " * 20_000,
        "".join(f".func f{i} {{ .reg .b32 %r<262144>; }}" for i in range(100)),
        ".entry k {" + ".reg .b32 %r<262144>;" * 2,
        ".global .b8 v[16777216][2] = {" + "{1}," * 3000 + "{1}};",
        ".entry k { .loc 1 " + "9" * 100_000,
    ],
    ids=lambda text: text[:24],
)
def test_large_malice_is_answered_soon(text: str) -> None:
    start = time.process_time()
    check(text)
    check(".version 8.5 .target sm_90 " + text)
    assert time.process_time() - start < 10
