"""ld, ldu and st of every space, type, width and cache modifier that ptxas takes, against bytes moved by NumPy."""

from __future__ import annotations

import re
from collections.abc import Iterator

import instruction_forms as table
import numpy as np

import gridstride as gs

LANES, PLACE = 32, 64
"""Threads, and bytes that each has to itself: more than the widest access moves."""

HEAD = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry probe(.param .u64 p_in, .param .u64 p_out)
{
    .shared .align 128 .b8 smem[2048];
    .local .align 64 .b8 stack[64];
    .reg .b16 %h<8>;
    .reg .b32 %t<16>;
    .reg .b64 %w<40>;
    .reg .b128 %q<4>;
    mov.u32 %t10, %tid.x;
    ld.param.u64 %w20, [p_in];
    ld.param.u64 %w21, [p_out];
    mad.wide.u32 %w20, %t10, 64, %w20;
    mad.wide.u32 %w21, %t10, 64, %w21;
    mov.u64 %w22, smem;
    mad.wide.u32 %w22, %t10, 64, %w22;
    mov.u64 %w23, stack;
    mov.u64 %w24, 0;
"""


def accesses(opcodes: str) -> Iterator[table.Form]:
    for pattern in table.patterns():
        if re.match(rf"({opcodes})[.{{]", pattern):
            yield from (
                form for form, ok in table.accepted(pattern) if ok and not re.search("param|const|async", form.name)
            )


def base(name: str) -> str:
    """The register that points at a thread's own bytes in the space an instruction names."""
    return "%w22" if "shared" in name else "%w23" if ".local" in name else "%w20"


def size(form: table.Form) -> int:
    (kind,) = [word for word in form.name.split(".") if re.fullmatch(r"[busf]+\d+(x2)?", word)]
    count = next((int(word[1:]) for word in form.name.split(".") if re.fullmatch("v[248]", word)), 1)
    return count * (4 if kind.endswith("x2") else int(kind.lstrip("bufs")) // 8)


def stores(form: table.Form, registers: list[str], at: int, pointer: str) -> str:
    """What a load left in its registers, by plain stores of the bytes it read."""
    each = size(form) // len(registers)
    kind = f"b{8 * each}"
    return "\n".join(f"st.global.{kind} [{pointer}+{at + i * each}], {r};" for i, r in enumerate(registers))


def fill(space: str, pointer: str, width: int) -> str:
    """Copies a thread's bytes from the input into shared or local memory."""
    if pointer == "%w20":
        return ""
    words = range(0, width, min(width, 8))
    kind = f"b{8 * min(width, 8)}"
    register = {1: "%h7", 2: "%h7", 4: "%t9", 8: "%w30"}[min(width, 8)]
    return "\n".join(
        f"ld.global.{kind} {register}, [%w20+{i}]; st.{space}.{kind} [{pointer}+{i}], {register};" for i in words
    )


def run(forms: list[table.Form], body: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The input's bytes and the output's: (forms, threads, bytes)."""
    given = np.random.default_rng(4).integers(0, 256, (LANES, PLACE), np.uint8)
    out = np.zeros((len(forms), LANES, PLACE), np.uint8)
    text = HEAD + "\n".join(body) + "\nret;\n}\n"
    with gs.use("virtual"):
        gs.ptx(text)["probe"][1, LANES](given, out)
    return given, out


def test_loads_of_every_space_type_and_width() -> None:
    loads, body = list(accesses("ld|ldu")), []
    for number, form in enumerate(loads):
        pointer, space = base(form.name), "shared" if "shared" in form.name else "local"
        registers = re.findall(r"%\w+", form.text.partition("[")[0])
        text = re.sub(r"\[%w\d+\]", f"[{pointer}]", form.text)
        if "cache_hint" in form.name:
            text = re.sub(r", %w\d+;", ", %w24;", text)
        body += [fill(space, pointer, size(form)), text, stores(form, registers, LANES * PLACE * number, "%w21")]
    given, out = run(loads, body)
    for form, got in zip(loads, out, strict=True):
        np.testing.assert_array_equal(got[:, : size(form)], given[:, : size(form)], err_msg=form.text)
        assert not got[:, size(form) :].any(), form.text


def test_stores_of_every_space_type_and_width() -> None:
    writes, body = list(accesses("st")), []
    for number, form in enumerate(writes):
        pointer = base(form.name).replace("%w20", "%w21")
        at = LANES * PLACE * number if pointer == "%w21" else 0
        registers = re.findall(r"%\w+", form.text.partition("]")[2])[: size(form)]
        hint = registers.pop() if "cache_hint" in form.name else ""
        each = size(form) // len(registers)
        body += [f"ld.global.b{8 * each} {r}, [%w20+{i * each}];" for i, r in enumerate(registers)]
        body += [f"mov.u64 {hint}, 0;"] if hint else []
        body.append(re.sub(r"\[%w\d+\]", f"[{pointer}+{at}]", form.text))
        if pointer != "%w21":
            space = "shared" if "shared" in form.name else "local"
            body += [f"ld.{space}.b{8 * each} {r}, [{pointer}+{i * each}];" for i, r in enumerate(registers)]
            body.append(stores(form, registers, LANES * PLACE * number, "%w21"))
    given, out = run(writes, body)
    for form, got in zip(writes, out, strict=True):
        np.testing.assert_array_equal(got[:, : size(form)], given[:, : size(form)], err_msg=form.text)
        assert not got[:, size(form) :].any(), form.text


def test_hints_change_nothing() -> None:
    hints = list(accesses("prefetch|prefetchu|applypriority|discard|createpolicy"))
    texts = [re.sub(r"\[%w\d+\]", "[%w20]", form.text) for form in hints if "tensormap" not in form.name]
    given, out = run(hints[:1], [*texts, "ld.global.b64 %w30, [%w20]; st.global.b64 [%w21], %w30;"])
    np.testing.assert_array_equal(out[0, :, :8], given[:, :8])
