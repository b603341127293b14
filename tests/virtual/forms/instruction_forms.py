"""The instruction list of the PTX ISA for sm_75 to sm_90a as patterns: what ptxas accepts of each is a fixture.

A line is `name : operands`. In a name, `{a,b,}` stands for each of its words and `<CLASS>` for each of a class.
Operands are kinds of registers, each getting a register of
its own: p pred, h b16, t b32, w b64, q b128; T, D, U those that hold
the last, first and second type of the name. `#n` is a literal, anything else stands as it is. `global` and `smem`
are variables. Patterns reach past what the ISA has, so that what does not exist is refused too.

    python bench/ptxas_forms.py record    # asks ptxas; needs the CUDA toolkit
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
FIXTURE = HERE / "fixtures" / "instruction_forms.json"

WIDTHS = {
    "pred": "p", **dict.fromkeys("u8 s8 b8 u16 s16 b16 f16 bf16 e4m3x2 e5m2x2 ue8m0x2 e2m1x2".split(), "h"),
    **dict.fromkeys("u32 s32 b32 f32 f16x2 bf16x2 u16x2 s16x2 u8x4 s8x4 tf32 e4m3x4 e5m2x4".split(), "t"),
    **dict.fromkeys("u64 s64 b64 f64 f32x2".split(), "w"), "b128": "q",
}  # fmt: skip
"""The kind of register that holds each type."""

CLASSES = {
    "ALL": "u8 u16 u32 u64 s8 s16 s32 s64 b16 b32 b64 b128 f16 bf16 f16x2 bf16x2 f32 f64 u16x2 s16x2 f32x2 pred",
    "INT": "u16 u32 u64 s16 s32 s64",
    "BITS": "b16 b32 b64 pred",
    "FLOAT": "f16 bf16 f16x2 bf16x2 f32 f64",
    "ROUND": "rn rz rm rp",
    "MEMORY": "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64 f16 bf16 f16x2 pred",
    "CVT": "u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64",
    "COMPARE": "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan",
}

PREAMBLE = """.version 9.0
.target {target}
.address_size 64
.global .align 128 .b8 global[4096];
.const .align 16 .b8 constant[256];
.visible .entry probe(.param .u64 p_out, .param .align 16 .b8 p_in[64])
{{
    .shared .align 128 .b8 smem[4096];
    .local .align 16 .b8 stack[256];
    .reg .pred %p<8>;
    .reg .b16 %h<8>;
    .reg .b32 %t<160>;
    .reg .b64 %w<40>;
    .reg .b128 %q<4>;
    .reg .f32 %s<4>;
    .reg .f64 %v<4>;
    .reg .s32 %i<4>;
    .reg .f16 %fh<4>;
    .reg .f16x2 %fx<4>;
"""


@dataclass(frozen=True, slots=True)
class Form:
    """One instruction: its name with all modifiers, and its text."""

    name: str
    text: str

    @property
    def opcode(self) -> str:
        return self.name.split(".")[0]


@cache
def patterns() -> tuple[str, ...]:
    """The lines of instruction_forms.txt, comments left out."""
    lines = (
        line.split("//")[0].strip()
        for line in Path(__file__).with_name("instruction_forms.txt").read_text().splitlines()
    )
    return tuple(line for line in lines if line)


def forms(pattern: str) -> Iterator[Form]:
    """Every instruction of a pattern."""
    head, _, operands = pattern.partition(" :")
    for name in expand(head.strip()):
        yield Form(name, f"{name} {fill(operands.strip(), name)};".replace(" ;", ";"))


def expand(name: str) -> Iterator[str]:
    """Braces and classes written out."""
    parts = re.split(r"\{([^}]*)\}|<(\w+)>", name)
    choices = [[parts[0]]]
    for braces, word, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        choices += [braces.split(",") if braces is not None else CLASSES[word].split(), [after]]
    for choice in product(*choices):
        yield "".join(choice)


def fill(operands: str, name: str) -> str:
    """Operands with registers in place of their kinds."""
    types = [word for word in name.split(".") if word in WIDTHS]
    taken = dict.fromkeys("phtwq", 0)

    def register(found: re.Match[str]) -> str:
        kind = found[1]
        if kind in "TDU":
            at = {"T": -1, "D": 0, "U": 1}[kind]
            kind = WIDTHS[types[at]] if types and at < len(types) else "t"
        taken[kind] += 1
        return f"%{kind}{taken[kind] - 1}"

    return re.sub(r"(?<![\w%#.])([TDUphtwq])(?!\w)", register, re.sub(r"(\w)\*(\d+)", _repeated, operands)).replace(
        "#", ""
    )


def _repeated(found: re.Match[str]) -> str:
    return "{" + ", ".join([found[1]] * int(found[2])) + "}"


OTHERS = (
    "%p0 %h0 %t0 %w0 %q0 %s0 %v0 %i0 %fh0 %fx0 %tid.x %clock64 global smem 0 1 -1 300 1.5 0f3F800000 [%w0] [%t0] [%s0] "
    "[%h0] [global] [smem] [%w0+4] {%t0,%t1} {%h0,%h1} {%t0,%t1,%t2,%t3} _ !%p0 %p0|%p1 %t0|%p0 %undefined"
).split()


def exchanged(count: int) -> list[str]:
    """Accepted instructions with one operand exchanged, left out or added, the same ones every time."""
    chance = random.Random(9)
    known = [form for pattern in patterns() for form, ok in accepted(pattern) if ok and "{" not in form.text]
    found: list[str] = []
    while len(found) < count:
        head, *operands = known[chance.randrange(len(known))].text.rstrip(";").replace(", ", " ").split(" ")
        if not operands:
            continue
        at = chance.randrange(len(operands))
        change = chance.randrange(6)
        if change == 0:
            del operands[at]
        elif change == 1:
            operands.insert(at, chance.choice(OTHERS))
        else:
            operands[at] = chance.choice(OTHERS)
        found.append(f"{head} {', '.join(operands)};".replace(" ;", ";"))
    return found


def program(texts: list[str], target: str = "sm_90a") -> str:
    """A kernel of the instructions, one on each line, the first on line `first_line`."""
    return "".join([PREAMBLE.format(target=target), *(f"    {text}\n" for text in texts), "    ret;\n}\n"])


FIRST_LINE = PREAMBLE.count("\n") + 1


@cache
def fixture() -> dict[str, Any]:
    """What ptxas said: `accepted` by pattern, one digit for each form, and `operands`, texts with a digit."""
    return dict(json.loads(FIXTURE.read_text()))


def recorded() -> dict[str, str]:
    """For each pattern, one digit for each form: 1 where ptxas accepts it for sm_90a."""
    return dict(fixture()["accepted"])


def accepted(pattern: str) -> list[tuple[Form, bool]]:
    """Each form of a pattern with whether ptxas accepts it."""
    return [(form, digit == "1") for form, digit in zip(forms(pattern), recorded()[pattern], strict=True)]
