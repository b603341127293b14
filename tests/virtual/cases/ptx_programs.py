"""Kernels around single PTX instructions: load operands by thread, execute, store the results.

    total, wrapped = run_instructions(["add.u32 {d}, {a}, {b};", "sub.u32 {d}, {a}, {b};"], [x, y], np.uint32)

Many instructions share one kernel, because compiling costs more than running. In an instruction `{d}` is the
destination and `{a}` `{b}` `{c}` `{e}` the inputs; several statements may stand in one text, and use the scratch
registers %p0… (pred), %h0… (b16), %t0… (b32), %w0… (b64), %s0… (f32), %v0… (f64) and %q0… (b128), eight of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

import gridstride as gs

Check = Callable[[int, np.ndarray, np.ndarray], None]
LANES = 32
SENTINEL = 0x5A
"""Every byte of a destination that no instruction wrote."""

_LOADS = {1: ("u8", "b16"), 2: ("b16", "b16"), 4: ("b32", "b32"), 8: ("b64", "b64")}
_SCRATCH = "p:pred h:b16 t:b32 w:b64 s:f32 v:f64 q:b128"


def run_instructions(
    texts: Sequence[str],
    inputs: Sequence[np.ndarray],
    output: Any,
    *,
    uniform: bool = False,
    guarded: bool = False,
    target: str = "sm_90a",
) -> list[np.ndarray]:
    """The result of each text for every element of the inputs; a bool dtype is a predicate.

    `uniform`: one block per element, operands read from an address that all lanes share, so that registers are scalar.
    `guarded`: only elements whose index has bit 1 set execute; the others keep the bytes `SENTINEL` (False for bool).
    """
    n = len(inputs[0])
    padded = [np.ascontiguousarray(np.resize(x, -(-n // LANES) * LANES)) for x in inputs]
    size = len(padded[0])
    results = np.zeros((len(texts), size), _memory(np.dtype(output)))
    dtypes = [x.dtype for x in padded]
    ptx = program(texts, dtypes, np.dtype(output), size, uniform=uniform, guarded=guarded, target=target)
    arguments = [*(x.view(_memory(x.dtype)) for x in padded), results]
    with gs.use("virtual"):
        gs.ptx(ptx)["probe"][n if uniform else size // LANES, LANES](*arguments)
    return [row[:n].astype(bool) if np.dtype(output).kind == "b" else row[:n] for row in results]


def run_instruction(text: str, inputs: Sequence[np.ndarray], output: Any, **how: Any) -> np.ndarray:
    """One text alone; see run_instructions."""
    return run_instructions([text], inputs, output, **how)[0]


def executed(n: int) -> np.ndarray:
    """Which of n elements a guarded run executes."""
    return np.arange(n) >> 1 & 1 == 1


def in_all_modes(texts: Sequence[str], inputs: Sequence[np.ndarray], output: Any, check: Check) -> None:
    """Runs the texts with varying, with guarded and with uniform operands; `check(text number, results, elements)`.

    The uniform run takes at most 64 elements, spread over the inputs, because each needs a block of its own.
    """
    n = len(inputs[0])
    for i, result in enumerate(run_instructions(texts, inputs, output)):
        check(i, result, np.arange(n))
    on = executed(n)
    untouched = np.frombuffer(bytes([SENTINEL]) * 8, np.uint8)
    for i, result in enumerate(run_instructions(texts, inputs, output, guarded=True)):
        check(i, result[on], np.flatnonzero(on))
        left = result[~on]
        old = False if left.dtype.kind == "b" else untouched[: left.itemsize].view(left.dtype)[0]
        assert left.tobytes() == np.full_like(left, old).tobytes(), f"{texts[i]}: an inactive lane was written"
    some = np.unique(np.linspace(0, n - 1, 64).astype(int))
    for i, result in enumerate(run_instructions(texts, [x[some] for x in inputs], output, uniform=True)):
        check(i, result, some)


def against(models: Mapping[str, Callable[..., int]], inputs: Sequence[np.ndarray], output: Any) -> None:
    """Holds integer results, in all modes, against Python functions of the inputs as Python numbers.

    What a model gives is cut to the output's width.
    """
    texts, rows = list(models), list(zip(*(x.tolist() for x in inputs), strict=True))
    size = np.dtype(output).itemsize
    ones = (1 << 8 * size) - 1
    wanted = [np.array([models[text](*row) & ones for row in rows], f"u{size}").view(output) for text in texts]

    def check(i: int, result: np.ndarray, elements: np.ndarray) -> None:
        wrong = np.flatnonzero(result != wanted[i][elements])
        if len(wrong):
            at = elements[wrong[0]]
            got, want = result[wrong[0]], wanted[i][at]
            raise AssertionError(f"{texts[i]} of {rows[at]} gave {got:#x}, not {want:#x} ({len(wrong)} wrong)")

    in_all_modes(texts, inputs, output, check)


def edges(dtype: Any, *more: int) -> list[int]:
    """Integers of a type that are likely to be got wrong."""
    info = np.iinfo(dtype)
    width, high = info.bits, int(info.max)
    near = {0, 1, 2, 3, 7, width - 1, width, width + 1, high, high - 1, info.min, info.min + 1, high // 2 + 1}
    pattern = 0x5A3C96F00FF1E287 & int(np.iinfo(np.dtype(f"u{width // 8}")).max)
    near |= {pattern, *more} | ({-1, -2, -width} if info.min else set())
    return sorted(np.array([v & ((1 << width) - 1) for v in near], f"u{width // 8}").view(dtype).tolist())


def grid(*axes: Sequence[Any], dtypes: Sequence[Any]) -> list[np.ndarray]:
    """Every combination of the axes' values, one array per axis."""
    rows = list(product(*axes))
    return [np.array([row[i] for row in rows], t) for i, t in enumerate(dtypes)]


def program(
    texts: Sequence[str],
    inputs: Sequence[np.dtype[Any]],
    output: np.dtype[Any],
    n: int,
    *,
    uniform: bool = False,
    guarded: bool = False,
    target: str = "sm_90a",
) -> str:
    """The PTX of the kernel `probe`: pointers to the inputs, then to len(texts) rows of n results."""
    names = "abcefg"[: len(inputs)]
    lines = [_load(x, t) for x, t in zip(names, inputs, strict=True)]
    fields = {x: f"%in_{x}" for x in names}
    for i, text in enumerate(texts):
        lines += _execute(text.format(d=f"%out{i}", **fields), i, output, guarded)
        lines.append(_store(i, output, n))
    lines = [f"    {line}" for block in lines for line in block.splitlines()]
    pointers = [f".param .u64 p_{x}" for x in (*names, "out")]
    index = "%ctaid.x" if uniform else "%tid.x"
    return "\n".join(
        [
            ".version 8.8",
            f".target {target}",
            ".address_size 64",
            f".visible .entry probe({', '.join(pointers)})",
            "{",
            *(f"    .reg .{word.split(':')[1]} %{word[0]}<8>;" for word in _SCRATCH.split()),
            "    .reg .pred %on;",
            "    .reg .b16 %byte;",
            "    .reg .b32 %index, %base;",
            "    .reg .b64 %at, %pointer, %long;",
            *(f"    .reg .{_register(t)} %in_{x};" for x, t in zip(names, inputs, strict=True)),
            *(f"    .reg .{_register(output)} %out{i};" for i in range(len(texts))),
            f"    mov.u32 %index, {index};",
            *([] if uniform else ["    mov.u32 %base, %ctaid.x;", f"    mad.lo.u32 %index, %base, {LANES}, %index;"]),
            "    cvt.u64.u32 %long, %index;",
            *(["    and.b32 %base, %index, 2;", "    setp.ne.u32 %on, %base, 0;"] if guarded else []),
            *lines,
            "    ret;",
            "}",
            "",
        ]
    )


def _memory(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


def _register(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "b":
        return "pred"
    if dtype in (np.float32, np.float64):
        return f"f{8 * dtype.itemsize}"
    return _LOADS[dtype.itemsize][1]


def _address(name: str, size: int) -> str:
    return f"ld.param.u64 %pointer, [p_{name}];\nmad.lo.u64 %at, %long, {size}, %pointer;"


def _load(name: str, dtype: np.dtype[Any]) -> str:
    if dtype.kind == "b":
        return f"{_address(name, 1)}\nld.global.u8 %byte, [%at];\nsetp.ne.u16 %in_{name}, %byte, 0;"
    kind = _register(dtype) if dtype.kind == "f" and dtype.itemsize > 2 else _LOADS[dtype.itemsize][0]
    return f"{_address(name, dtype.itemsize)}\nld.global.{kind} %in_{name}, [%at];"


def _execute(text: str, number: int, output: np.dtype[Any], guarded: bool) -> list[str]:
    statements = [f"{part.strip()};" for part in text.split(";") if part.strip()]
    if not guarded:
        return statements
    return [_preset(f"%out{number}", output), *(f"@%on {statement}" for statement in statements)]


def _preset(register: str, dtype: np.dtype[Any]) -> str:
    if dtype.kind == "b":
        return f"setp.ne.u32 {register}, 0, 0;"
    width = {"b16": 2}.get(_register(dtype), dtype.itemsize)
    bits = bytes([SENTINEL] * width).hex()
    prefix = {"f32": "0f", "f64": "0d"}.get(_register(dtype), "0x")
    return f"mov.{_register(dtype)} {register}, {prefix}{bits};"


def _store(number: int, dtype: np.dtype[Any], n: int) -> str:
    size = _memory(dtype).itemsize
    at = f"{_address('out', size)}\n"
    place = f"[%at+{number * n * size}]"
    if dtype.kind == "b":
        return f"{at}selp.u16 %byte, 1, 0, %out{number};\nst.global.u8 {place}, %byte;"
    kind = _register(dtype) if dtype.kind == "f" and size > 2 else {1: "u8"}.get(size, f"b{8 * size}")
    return f"{at}st.global.{kind} {place}, %out{number};"
