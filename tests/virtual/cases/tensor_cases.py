"""Every mma and wmma multiplication, random fragments for it, and a kernel that runs it.

Used by the tests and by `bench/tensor_cores.py`, which records what a physical GPU makes of the same fragments; so the
fragments depend on nothing but the raw bits of PCG64.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import gridstride as gs

LANES = 32
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8,
        "s4": 4, "u4": 4, "b1": 1}  # fmt: skip
FIELDS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "f32": (8, 23), "f64": (11, 52), "e4m3": (4, 3),
          "e5m2": (5, 2)}  # fmt: skip
"""Bits of the exponent and of the mantissa."""


@dataclass(frozen=True)
class Case:
    """One multiplication: d = a · b + c."""

    family: str
    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str
    rule: str = ""

    @property
    def shape(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def types(self) -> tuple[str, str, str, str]:
        return self.d, self.a, self.b, self.c

    @property
    def name(self) -> str:
        """The instruction."""
        types = (self.d, self.c) if self.family == "wmma" and self.a == "f16" else self.types
        bits = f".{self.rule}.popc" if self.rule in ("and", "xor") else ""
        tail = ".satfinite" if self.rule == "satfinite" else ""
        mode = f".{self.rule}" if self.rule in ("rz", "rm", "rp") else ""
        if self.family == "wmma":
            return f"wmma.mma{bits}.sync.aligned.row.col.{self.shape}{mode}.{'.'.join(types)}{tail}"
        return f"mma.sync.aligned.{self.shape}.row.col{tail}{mode}.{'.'.join(types)}{bits}"

    @property
    def registers(self) -> tuple[int, int, int, int]:
        """How many d, a, b, c have."""
        sizes = (self.m * self.n, self.m * self.k, self.k * self.n, self.m * self.n)
        counts = [s * BITS[t] // (LANES * max(32, BITS[t])) for s, t in zip(sizes, self.types, strict=True)]
        if self.family == "wmma" and self.a == "f16":
            counts[1] = counts[2] = 8
        return counts[0], counts[1], counts[2], counts[3]

    @property
    def split(self) -> int:
        """k of one step of wmma's tf32."""
        return 4 if self.family == "wmma" and self.a == "tf32" else 0


def cases() -> Iterator[Case]:
    """All of them."""
    for a, ks, sums in (("f16", (8, 16), ("f32", "f16")), ("bf16", (8, 16), ("f32",)), ("tf32", (4, 8), ("f32",))):
        yield from (Case("mma", 16, 8, k, s, a, a, s) for k in ks for s in sums)
    for a, b in (("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")):
        yield from (Case("mma", 16, 8, k, s, a, b, s) for k in (16, 32) for s in ("f32", "f16"))
    yield from _integers()
    for m, k, rule in ((8, 4, ""), (8, 4, "rm"), (16, 4, ""), (16, 4, "rz"), (16, 8, ""), (16, 8, "rp"), (16, 16, "")):
        yield Case("mma", m, 8, k, "f64", "f64", "f64", "f64", rule)
    yield from _wmma()


def _integers() -> Iterator[Case]:
    for x, y, shapes in (("s8", "u8", ((8, 16), (16, 16), (16, 32))), ("s4", "u4", ((8, 32), (16, 32), (16, 64)))):
        for m, k in shapes:
            for i, (a, b) in enumerate(((x, x), (x, y), (y, x), (y, y))):
                yield Case("mma", m, 8, k, "s32", a, b, "s32", "satfinite" if (i + k // 16) % 2 else "")
    for m, k in ((8, 128), (16, 128), (16, 256)):
        yield from (Case("mma", m, 8, k, "s32", "b1", "b1", "s32", rule) for rule in ("and", "xor"))


def _wmma() -> Iterator[Case]:
    for m, n in ((16, 16), (32, 8), (8, 32)):
        yield from (Case("wmma", m, n, 16, d, "f16", "f16", c) for d in ("f16", "f32") for c in ("f16", "f32"))
        yield Case("wmma", m, n, 16, "f32", "bf16", "bf16", "f32")
        yield Case("wmma", m, n, 16, "s32", "s8", "s8", "s32")
        yield Case("wmma", m, n, 16, "s32", "u8", "u8", "s32", "satfinite")
    yield Case("wmma", 16, 16, 8, "f32", "tf32", "tf32", "f32")
    yield Case("wmma", 8, 8, 4, "f64", "f64", "f64", "f64")
    yield from (Case("wmma", 8, 8, 32, "s32", t, t, "s32") for t in ("s4", "u4"))
    yield from (Case("wmma", 8, 8, 128, "s32", "b1", "b1", "s32", rule) for rule in ("and", "xor"))


# -- fragments --------------------------------------------------------------------------------------------------------
class Bits:
    """Uniform integers from raw bits, the same in every version of NumPy."""

    def __init__(self, text: str) -> None:
        self._source = np.random.PCG64(zlib.crc32(text.encode()))

    def below(self, limit: int, shape: tuple[int, ...]) -> np.ndarray:
        raw = self._source.random_raw(int(np.prod(shape))) >> np.uint64(1)
        return (raw % np.uint64(limit)).reshape(shape)


KINDS = ("ordinary", "any exponent", "subnormal", "cancelling", "special", "huge")


def fragments(case: Case, warps: int) -> list[np.ndarray]:
    """Registers of a, b and c: arrays (registers, warps, lanes) of u32 or u64, a kind of numbers for each warp."""
    source = Bits(case.name)
    found = []
    for matrix, count, t in zip("abc", case.registers[1:], case.types[1:], strict=True):
        width = max(32, BITS[t])
        packed = width // BITS[t]
        words = np.zeros((count, warps, LANES), np.uint64)
        for item in range(packed):
            elements = _elements(source, case, matrix, t, (count, warps, LANES))
            words |= elements << np.uint64(item * BITS[t])
        found.append(_repeated(case, matrix, words).astype(np.uint64 if width == 64 else np.uint32))
    return found


def _repeated(case: Case, matrix: str, words: np.ndarray) -> np.ndarray:
    """wmma fragments of halves hold some elements in several registers, all alike as wmma.load leaves them."""
    if case.family == "wmma" and case.a == "f16" and matrix in "ab":
        own = (case.m if matrix == "a" else case.n) * case.k // (2 * LANES)
        return np.concatenate([words[:own]] * (8 // own))
    return words


def _elements(source: Bits, case: Case, matrix: str, t: str, shape: tuple[int, ...]) -> np.ndarray:
    if t == "s32":
        return _addends(source, shape)
    if t not in FIELDS:
        return source.below(1 << BITS[t], shape)
    columns = [_floats(source, t, KINDS[w % len(KINDS)], matrix, (shape[0], shape[2])) for w in range(shape[1])]
    return np.stack(columns, axis=1)


def _addends(source: Bits, shape: tuple[int, ...]) -> np.ndarray:
    """Integers, half of them so close to the ends of the range that sums leave it."""
    near = (np.uint64(0x7FFFFFFF) + source.below(20000, shape)) & np.uint64(0xFFFFFFFF)
    return np.where(source.below(2, shape) == 1, near, source.below(1 << 32, shape))


def _floats(source: Bits, t: str, kind: str, matrix: str, shape: tuple[int, ...]) -> np.ndarray:
    exponent, mantissa = FIELDS[t]
    bias, top = (1 << exponent - 1) - 1, (1 << exponent) - 1
    low, high = {
        "ordinary": (bias - 3, bias + 3), "any exponent": (0, top - 1), "subnormal": (0, min(4, top - 1)),
        "cancelling": (bias, bias), "special": (bias - 2, bias + 2), "huge": (max(top - 4, 1), top - 1),
    }[kind]  # fmt: skip
    if t == "f64":  # numbers whose chain of sums stays finite
        low, high = (min(max(end, bias - 300), bias + 300) for end in (low, high))
    digits = source.below(1 << mantissa, shape)
    if kind == "cancelling" and matrix != "c":
        digits &= np.uint64((1 << mantissa) - (1 << max(0, mantissa - 4)))
    field = source.below(high - low + 1, shape) + np.uint64(low)
    code = field << np.uint64(mantissa) | digits
    if kind == "special" and t != "f64":
        worst = np.uint64(top << mantissa) | source.below(2, shape) * digits
        code = np.where(source.below(60, shape) == 0, worst, code)
        code = np.where(source.below(10, shape) == 0, np.uint64(0), code)
    signed: np.ndarray = code | source.below(2, shape) << np.uint64(exponent + mantissa)
    return signed


# -- running ----------------------------------------------------------------------------------------------------------
def program(case: Case) -> str:
    """PTX of the kernel `probe(a, b, c, d)`: each block, a warp, multiplies its fragments."""
    wide = BITS[case.a] == 64
    kind, size = ("f64", 8) if wide else ("b32", 4)
    names = {m: [f"%{m}{i}" for i in range(n)] for m, n in zip("dabc", case.registers, strict=True)}
    # Sums in f32 are held in f32 registers, as compilers write them.
    kinds = {m: "f32" if m in "dc" and t == "f32" else kind for m, t in zip("dabc", case.types, strict=True)}
    lines = [f".reg .{kinds[m]} {', '.join(r)};" for m, r in names.items()]
    lines += [".reg .b32 %t, %n, %w;", ".reg .b64 %p, %o;", "mov.u32 %t, %tid.x;", "mov.u32 %w, %ctaid.x;"]
    lines += [f"mad.lo.u32 %t, %w, {LANES}, %t;", "mov.u32 %n, %nctaid.x;"]
    for m in "abc":
        lines.append(f"ld.param.u64 %p, [{m}];")
        for i, register in enumerate(names[m]):
            lines += [*_place(i, size), f"ld.global.{kinds[m]} {register}, [%o];"]
    operands = ", ".join("{" + ", ".join(names[m]) + "}" for m in "dabc")
    lines += [f"{case.name} {operands};", "ld.param.u64 %p, [d];"]
    for i, register in enumerate(names["d"]):
        lines += [*_place(i, size), f"st.global.{kinds['d']} [%o], {register};"]
    params = ", ".join(f".param .u64 {m}" for m in "abcd")
    body = "\n".join(f"    {line}" for line in [*lines, "ret;"])
    return f".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry probe({params})\n{{\n{body}\n}}\n"


def _place(i: int, size: int) -> list[str]:
    """%o = %p + size · (32 · i · warps + thread)."""
    return [
        f"mul.lo.u32 %w, %n, {i * LANES};",
        "add.u32 %w, %w, %t;",
        f"mad.wide.u32 %o, %w, {size}, %p;",
    ]


def run(case: Case, given: list[np.ndarray]) -> np.ndarray:
    """D's registers on the device in use: (registers, warps, lanes)."""
    warps = given[0].shape[1]
    result = np.zeros((case.registers[0], warps, LANES), given[0].dtype)
    gs.ptx(program(case))["probe"][warps, LANES](*given, result)
    return result
