"""mov: packing, unpacking, constants, special registers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ptx_programs import against, edges, run_instructions

Model = Callable[..., int]


def swapped(x: int, _: int) -> int:
    return x >> 16 | (x & 0xFFFF) << 16


def test_mov_packs_and_unpacks() -> None:
    words = [np.array(edges(np.uint32), np.uint32), np.array(edges(np.uint32)[::-1], np.uint32)]
    low, high = "mov.b32 {%h0, %h1}, {a};", "mov.b32 {%h2, %h3}, {b};"
    texts: dict[str, Model] = {
        "mov.b64 {d}, {{{a}, {b}}};": lambda x, y: x | y << 32,
        "mov.b64 %w0, {{{a}, {b}}}; mov.b64 {{%t0, %t1}}, %w0; mov.b64 {d}, {{%t1, %t0}};": lambda x, y: y | x << 32,
        "mov.b64 {{%t0, _}}, {c}; cvt.u64.u32 {d}, %t0;": lambda x, y: y,
        "mov.b64 %v0, {{{a}, {b}}}; mov.b64 {d}, %v0;": lambda x, y: x | y << 32,
        "mov.b64 %w0, {{{b}, {a}}}; mov.b64 {{%s0, %s1}}, %w0; mov.b64 {d}, {{%s1, %s0}};": lambda x, y: x | y << 32,
        f"{braces(low)} {braces(high)} mov.b64 {{d}}, {{{{%h0, %h1, %h2, %h3}}}};": lambda x, y: x | y << 32,
        f"{braces(low)} mov.b32 %t0, {{{{%h1, %h0}}}}; cvt.u64.u32 {{d}}, %t0;": swapped,
        "cvt.u64.u32 %w0, {a}; cvt.u64.u32 %w1, {b}; mov.b128 %q0, {{%w0, %w1}}; mov.b128 {{%w2, %w3}}, %q0;"
        " sub.u64 {d}, %w3, %w2;": lambda x, y: y - x,
    }
    texts = {t.replace("{c}", "%w7"): m for t, m in texts.items()}
    prepare = "cvt.u64.u32 %w7, {b};"
    against({f"{prepare} {t}": m for t, m in texts.items()}, words, np.uint64)


def braces(text: str) -> str:
    """A text for str.format in which only {a} and {b} are fields."""
    return text.replace("{", "{{").replace("}", "}}").replace("{{a}}", "{a}").replace("{{b}}", "{b}")


def test_mov_of_constants_and_lanes() -> None:
    lanes = [np.arange(32, dtype=np.uint32)]
    models: dict[str, Model] = {
        "mov.u32 {d}, 0xdeadbeef;": lambda x: 0xDEADBEEF,
        "mov.s32 {d}, -7;": lambda x: -7,
        "mov.f32 %s0, 0f3FC00000; mov.b32 {d}, %s0;": lambda x: 0x3FC00000,
        "mov.f32 %s0, 0.1; mov.b32 {d}, %s0;": lambda x: 0x3DCCCCCD,
        "mov.u16 %h0, 65535; cvt.u32.u16 {d}, %h0;": lambda x: 65535,
        "mov.u32 %t0, WARP_SZ; add.u32 {d}, %t0, {a};": lambda x: x + 32,
        "mov.pred %p0, 1; selp.u32 {d}, 5, 6, %p0;": lambda x: 5,
        "mov.u32 %t0, %tid.x; mov.b32 {{%h0, %h1}}, %t0; cvt.u32.u16 {d}, %h1;": lambda x: 0,
    }
    against(models, lanes, np.uint32)
    text = "mov.u32 %t0, %tid.x; mov.b32 {{%h0, %h1}}, %t0; cvt.u32.u16 {d}, %h0;"
    (got,) = run_instructions([text], lanes, np.uint32)
    assert got.tolist() == list(range(32))
