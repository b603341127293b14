"""Every mma.sp multiplication, random fragments and metadata for it, and a kernel that runs it; also mma.m8n8k4 of f16.

Used by the tests and by `bench/tensor_cores.py`, like tensor_cases.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tensor_cases import LANES, Bits, Case, fragments

import gridstride as gs

PAIRS = np.array([0x4, 0x8, 0x9, 0xC, 0xD, 0xE], np.uint64)
"""The two indices of the elements kept out of four, the lower one in the lower bits."""
SINGLES = np.array([0x4, 0xE], np.uint64)
"""The same for the one kept out of two tf32 numbers, as if it were two of four halves."""


@dataclass(frozen=True)
class Sparse:
    """d = a · b + c with a 16 × k of which half is stored. `selector`: which lanes of each four hold the metadata."""

    k: int
    d: str
    a: str
    b: str
    selector: int
    rule: str = ""

    @property
    def name(self) -> str:
        tail = ".satfinite" if self.rule else ""
        types = f"{self.d}.{self.a}.{self.b}.{self.d}"
        return f"mma.sp::ordered_metadata.sync.aligned.m16n8k{self.k}.row.col{tail}.{types}"

    @property
    def title(self) -> str:
        """The instruction and its selector."""
        return f"{self.name} {self.selector}"

    @property
    def dense(self) -> Case:
        """The multiplication whose A is as large as the stored half."""
        return Case("mma", 16, 8, self.k // 2, self.d, self.a, self.b, self.d)

    @property
    def registers(self) -> tuple[int, int, int, int]:
        """How many d, a, b, c have."""
        d, a, b, c = self.dense.registers
        return d, a, 2 * b, c


def selectors(a: str, k: int) -> range:
    """The sparsity selectors that a shape has: as many as lanes of each four do not hold metadata that counts."""
    return range(max(1, 4 * LANES * LANES // (4 * metadata_bits(a, k))))


def metadata_bits(a: str, k: int) -> int:
    """How many bits say where the stored elements stand: two each, of 4-bit numbers two for two of them."""
    stored = 16 * k // 2
    return stored * {"s4": 1, "u4": 1, "tf32": 4}.get(a, 2)


def cases() -> Iterator[Sparse]:
    """All of them."""
    for a, ks, sums in (("f16", (16, 32), ("f32", "f16")), ("bf16", (16, 32), ("f32",)), ("tf32", (8, 16), ("f32",))):
        yield from (Sparse(k, s, a, a, e) for k in ks for s in sums for e in selectors(a, k))
    for a in ("e4m3", "e5m2"):
        yield from (Sparse(64, "f32", a, b, 0) for b in ("e4m3", "e5m2"))
    for x, y, ks in (("s8", "u8", (32, 64)), ("s4", "u4", (64, 128))):
        for k in ks:
            for i, (a, b) in enumerate(((x, x), (x, y), (y, x), (y, y))):
                yield from (Sparse(k, "s32", a, b, e, "satfinite" if i % 2 else "") for e in selectors(a, k))


def given(case: Sparse, warps: int) -> list[np.ndarray]:
    """Registers of a, b, c and the metadata."""
    whole = Case("mma", 16, 8, case.k, case.d, case.a, case.b, case.d)
    a, _, c = fragments(case.dense, warps)
    _, b, _ = fragments(whole, warps)
    source = Bits(case.title)
    choices = SINGLES if case.a == "tf32" else PAIRS
    words = np.zeros((1, warps, LANES), np.uint64)
    for i in range(8):
        words |= choices[source.below(len(choices), words.shape).astype(int)] << np.uint64(4 * i)
    return [a, b, c, words.astype(np.uint32)]


def program(name: str, counts: tuple[int, int, int, int], kinds: dict[str, str], tail: str) -> str:
    """PTX of the kernel `probe(a, b, c, e, d)`: each block, a warp, multiplies its fragments."""
    counts_of = dict(zip("dabce", (*counts, 1), strict=True))
    names = {m: [f"%{m}{i}" for i in range(n)] for m, n in counts_of.items()}
    lines = [f".reg .{kinds.get(m, 'b32')} {', '.join(r)};" for m, r in names.items()]
    lines += [".reg .b32 %t, %n, %w;", ".reg .b64 %p, %o;", "mov.u32 %t, %tid.x;", "mov.u32 %w, %ctaid.x;"]
    lines += [f"mad.lo.u32 %t, %w, {LANES}, %t;", "mov.u32 %n, %nctaid.x;"]
    for m in "abce":
        lines.append(f"ld.param.u64 %p, [{m}];")
        for i, register in enumerate(names[m]):
            lines += [*_place(i), f"ld.global.{kinds.get(m, 'b32')} {register}, [%o];"]
    operands = ", ".join("{" + ", ".join(names[m]) + "}" for m in "dabc")
    lines += [f"{name} {operands}{tail};", "ld.param.u64 %p, [d];"]
    for i, register in enumerate(names["d"]):
        lines += [*_place(i), f"st.global.{kinds.get('d', 'b32')} [%o], {register};"]
    params = ", ".join(f".param .u64 {m}" for m in "abced")
    body = "\n".join(f"    {line}" for line in [*lines, "ret;"])
    return f".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry probe({params})\n{{\n{body}\n}}\n"


def _place(i: int) -> list[str]:
    return [f"mul.lo.u32 %w, %n, {i * LANES};", "add.u32 %w, %w, %t;", "mad.wide.u32 %o, %w, 4, %p;"]


def run(case: Sparse, inputs: list[np.ndarray]) -> np.ndarray:
    """D's registers on the device in use: (registers, warps, lanes)."""
    kinds = dict.fromkeys("dc", "f32") if case.d == "f32" else {}
    text = program(case.name, case.registers, kinds, f", %e0, {case.selector}")
    return launch(text, case.registers[0], inputs)


def launch(text: str, registers: int, inputs: list[np.ndarray]) -> np.ndarray:
    """D's registers."""
    warps = inputs[0].shape[1]
    result = np.zeros((registers, warps, LANES), np.uint32)
    gs.ptx(text)["probe"][warps, LANES](*inputs, result)
    return result


# -- Volta's multiplication -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Volta:
    """mma.m8n8k4 of f16: four multiplications, one for each pair of quads."""

    d: str
    c: str
    a_order: str
    b_order: str

    @property
    def title(self) -> str:
        return f"mma.sync.aligned.m8n8k4.{self.a_order}.{self.b_order}.{self.d}.f16.f16.{self.c}"

    @property
    def registers(self) -> tuple[int, int, int, int]:
        return (4 if self.d == "f16" else 8), 2, 2, (4 if self.c == "f16" else 8)


def volta_cases() -> Iterator[Volta]:
    for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
        yield from (Volta(d, c, x, y) for x in ("row", "col") for y in ("row", "col"))


def volta_given(case: Volta, warps: int) -> list[np.ndarray]:
    """Registers of a, b and c and a word that is not used."""
    like = Case("mma", 16, 8, 8, case.d, "f16", "f16", case.c)
    a, _, c = fragments(like, warps)
    b, _, _ = fragments(Case("mma", 16, 8, 8, "f16", "f16", "f16", case.c), warps)
    more = fragments(Case("mma", 16, 8, 16, case.d, "f16", "f16", case.c), warps)[2]
    c = np.concatenate([c, more[: case.registers[3] - len(c)]])
    return [a[:2], b[:2] ^ np.uint32(0x80000000), c, np.zeros((1, warps, LANES), np.uint32)]


def volta_run(case: Volta, inputs: list[np.ndarray]) -> np.ndarray:
    kinds = {m: "f32" for m, t in (("d", case.d), ("c", case.c)) if t == "f32"}
    return launch(program(case.title, case.registers, kinds, ""), case.registers[0], inputs)
