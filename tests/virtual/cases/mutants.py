"""Random programs made of the instruction list, then damaged: what parses of them is launched."""

from __future__ import annotations

import random
from functools import cache

import instruction_forms
import numpy as np

import gridstride as gs
from gridstride.virtual.errors import UnsupportedInstruction, UnsupportedTarget
from gridstride.virtual.ptx import PtxError
from gridstride.virtual.ptx.parsing.lexer import Tokens

HEAD = """.version 8.8
.target sm_90a
.address_size 64
.global .align 128 .b8 global[4096];
.const .align 16 .b8 constant[256];
.func (.param .b32 r) twice(.param .b32 a)
{
    .reg .b32 %x;
    ld.param.b32 %x, [a];
    add.u32 %x, %x, %x;
    st.param.b32 [r], %x;
    ret;
}
.visible .entry probe(.param .u64 out)
{
    .shared .align 128 .b8 smem[4096];
    .local .align 16 .b8 stack[256];
    .reg .pred %p<8>;
    .reg .b16 %h<16>;
    .reg .b32 %t<160>;
    .reg .b64 %w<40>;
    .reg .b128 %q<8>;
    .reg .f32 %s<8>;
    .reg .f64 %v<8>;
    ld.param.u64 %w30, [out];
    mov.u32 %t100, %tid.x;
    mad.wide.u32 %w31, %t100, 16, %w30;
    mov.u64 %w32, smem;
    mov.u32 %t101, smem;
    setp.lt.u32 %p7, %t100, 7;
"""
TAIL = """    st.global.u32 [%w31], %t0;
    ret;
}
"""
FLOW = (
    "@%p7 bra $END;", "bra $MID;", "$MID:", "@!%p7 bra $MID;", "bar.sync 0;", "@%p7 exit;", "{ .reg .b32 %t0;", "}",
    "call (%t0), twice, (%t1);", "{ .param .b32 p0, r0; st.param.b32 [p0], %t1; call (r0), twice, (p0); "
    "ld.param.b32 %t2, [r0]; }", "mov.u32 %t0, %laneid;", "mov.u64 %w0, %w31;", "mov.u64 %w1, %w32;", "trap;", "brkpt;",
    "st.shared.b32 [%t101+64], %t1;", "ld.shared.v4.b32 {%t0, %t1, %t2, %t3}, [%w32];", "brx.idx %t0, $LIST;",
    "$LIST: .branchtargets $MID, $END;", "call %w0, (%t0), $PROTO;", "$PROTO: .callprototype _ (.param .b32 _);",
)  # fmt: skip
WORDS = """%p0 %h0 %t0 %w0 %w31 %q0 %s0 %v0 %tid.x %clock64 global smem stack 0 1 -1 31 0x80000000 1.5 0f7FC00000 [%w31]
[%w32] [%t101] [global] [smem] [stack] [%w31+4] [4] {%t0,%t1} {%h0,%h1} _ !%p0 %p0|%p1 %t0.b0 -%t1 $MID ; , . : @%p0
.reg .v4 .u32 .f16 .pred .sat .ftz .cc ret bra 0x7fffffffffffffff 99999999999999999999 constant %nwarpid %envreg31
%lanemask_gt %smid %pm0 %reserved_smem_offset_1 %clusterid.x %is_explicit_cluster"""
PIECES = WORDS.split()


@cache
def forms() -> tuple[str, ...]:
    """The accepted instructions."""
    return tuple(
        form.text for pattern in instruction_forms.patterns() for form, ok in instruction_forms.accepted(pattern) if ok
    )


def mutant(chance: random.Random) -> str:
    """A program of a few instructions, with up to three tokens exchanged, removed or added."""
    body = [chance.choice(forms()) for _ in range(chance.randrange(1, 9))]
    for _ in range(chance.randrange(3)):
        body.insert(chance.randrange(len(body) + 1), chance.choice(FLOW))
    body = [_settled(line, chance) for line in body]
    if any("$END" in line for line in body):
        body.append("$END:")
    if any("$MID" in line for line in body) and "$MID:" not in body:
        body.append("$MID:")
    text = "\n".join(f"    {line}" for line in body)
    tokens = [token for token in Tokens(text).texts if token]
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        _damage(tokens, chance)
    return HEAD + "    " + " ".join(tokens) + "\n" + TAIL


def _settled(line: str, chance: random.Random) -> str:
    """Addresses mostly point somewhere."""
    if chance.random() < 0.8:
        shared = ".shared" in line or "mbarrier" in line or "matrix" in line
        for number in range(8):
            line = line.replace(f"[%w{number}]", "[%w32]" if shared else chance.choice(("[%w31]", "[%w30]")))
    return f"@{chance.choice(('%p7', '!%p7'))} {line}" if chance.random() < 0.1 and line[0] not in "${@}" else line


def _damage(tokens: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(tokens))
    match chance.randrange(5):
        case 0:
            tokens[at] = chance.choice(PIECES)
        case 1:
            tokens.insert(at, chance.choice(PIECES))
        case 2 if len(tokens) > 1:
            del tokens[at]
        case 3:
            tokens[at] = chance.choice(tokens)
        case _:
            parts = tokens[at].split(".")
            parts[chance.randrange(len(parts))] = chance.choice(chance.choice(forms()).split()[0].split("."))
            tokens[at] = ".".join(parts)


def outcome(text: str, device: gs.VirtualGPU, *, observe: bool = False) -> str:
    """What becomes of a program: ran, fault or refused. Whatever else is raised is a mistake of ours."""
    try:
        with gs.use(device):
            kernel = gs.ptx(text)["probe"]
            if observe:
                kernel.observe(2, 48)(np.zeros(1024, np.uint32))
            else:
                kernel[2, 48](np.zeros(1024, np.uint32))
    except (PtxError, UnsupportedInstruction, UnsupportedTarget):
        return "refused"
    except gs.KernelFault:
        return "fault"
    return "ran"
