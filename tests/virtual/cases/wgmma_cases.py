"""wgmma multiplications: forms of the instruction, random operands for them, and a kernel that runs one.

Shared memory is filled with random elements and the descriptors say where in it the matrices lie; so a layout needs no
code to write it, and strides may be anything. Used by the tests and by `bench/tensor_cores.py`, which records what a
physical GPU makes of the same operands; they depend on nothing but the raw bits of PCG64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from tensor_cases import BITS, FIELDS, KINDS, Bits, _addends, _floats

import gridstride as gs

THREADS = 128
ROWS = 64
ROOM = {"a": 16 << 10, "b": 32 << 10}
"""Bytes of shared memory for each matrix; A's come first."""

SWIZZLES = {0: 0, 1: 128, 2: 64, 3: 32}
"""Bytes of a swizzle's pattern by its number in a descriptor."""

PER_K = 32
"""Bytes of one row of A along k, for every type."""


@dataclass(frozen=True)
class Place:
    """One operand in shared memory: a descriptor's fields in bytes; `start` is counted from the operand's room."""

    swizzle: int = 0
    leading: int = 128
    stride: int = 256
    start: int = 0
    base: int = 0
    transposed: bool = False

    def descriptor(self, room: int) -> int:
        """The descriptor, given where the operand's room starts."""
        fields = ((room + self.start >> 4, 0), (self.leading >> 4, 16), (self.stride >> 4, 32), (self.base, 49),
                  (self.swizzle, 62))  # fmt: skip
        return sum(value << at for value, at in fields)


@dataclass(frozen=True)
class Case:
    """One multiplication: d = ± a · ± b + c. `a_place` None: A comes in registers; `selector` None: A is dense."""

    n: int
    d: str
    a: str
    b: str
    a_place: Place | None
    b_place: Place
    rule: str = ""
    added: bool = True
    signs: tuple[int, int] = (1, 1)
    selector: int | None = None
    kinds: tuple[str, ...] = KINDS

    @property
    def sparse(self) -> bool:
        return self.selector is not None

    @property
    def k(self) -> int:
        return PER_K * 8 // BITS[self.a] * (2 if self.sparse else 1)

    @property
    def shape(self) -> str:
        return f"m64n{self.n}k{self.k}"

    @property
    def instruction(self) -> str:
        sp, types = ".sp" if self.sparse else "", f"{self.d}.{self.a}.{self.b}"
        sat, tail = (".satfinite", "") if self.rule == "satfinite" else ("", f".{self.rule}.popc" if self.rule else "")
        return f"wgmma.mma_async{sp}.sync.aligned.{self.shape}{sat}.{types}{tail}"

    @property
    def name(self) -> str:
        """The instruction and everything that is not in it."""
        places = [_spelled(p) for p in (self.a_place, self.b_place)]
        extra = [f"sel{self.selector}"] if self.sparse else []
        extra += [] if self.added else ["alone"]
        extra += ["signs" + "".join("+-"[s < 0] for s in self.signs)] if self.signs != (1, 1) else []
        return " ".join([self.instruction.removeprefix("wgmma.mma_async"), *places, *extra])

    @property
    def registers(self) -> int:
        """How many D has."""
        return self.n // 2 * BITS[self.d] // 32

    @property
    def immediates(self) -> str:
        """The operands behind the predicate."""
        if self.a not in FIELDS:
            return ""
        words = [str(s) for s in self.signs]
        if BITS[self.a] == 16:
            words += [str(int(p.transposed)) for p in (self.a_place, self.b_place) if p is not None]
        return ", " + ", ".join(words)


def _spelled(place: Place | None) -> str:
    if place is None:
        return "regs"
    extra = ("T" if place.transposed else "") + (f"+{place.start}" if place.start else "")
    return f"sw{place.swizzle}/{place.leading}/{place.stride}{extra}" + (f"b{place.base}" if place.base else "")


def tight(swizzle: int, transposed: bool, rows: int, *, k_bytes: int = PER_K, k: int = 16) -> Place:
    """A matrix packed as compilers do: swizzled atoms one behind the other."""
    span = SWIZZLES[swizzle]
    if not transposed:
        return Place(swizzle, 128, 8 * span) if span else Place(0, 128, 8 * k_bytes)
    if not span:
        return Place(0, 128 * (rows // 8), 128, transposed=True)
    # Atoms are `span` bytes of rows by 8 of k: along k first, then along the rows.
    return Place(swizzle, 8 * span * (k // 8), 8 * span, transposed=True)


# -- operands ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Given:
    """What a case is run with, a block of threads for each kind of numbers: images of shared memory as bytes, and
    registers as u32 (blocks, registers, threads)."""

    shared: np.ndarray
    a: np.ndarray
    c: np.ndarray
    meta: np.ndarray


def given(case: Case) -> Given:
    """Random operands."""
    source, blocks = Bits(case.name), len(case.kinds)
    images = [[_memory(source, case, m, kind) for m in "ab"] for kind in case.kinds]
    shared = np.stack([np.concatenate(pair) for pair in images])
    a = np.stack([_words(source, case, "a", case.a, kind, 4) for kind in case.kinds])
    c = np.stack([_words(source, case, "c", case.d, kind, case.registers) for kind in case.kinds])
    return Given(shared, a, c, _metadata(source, case, blocks))


def _numbers(source: Bits, matrix: str, t: str, kind: str, count: int) -> np.ndarray:
    if t == "s32":
        return _addends(source, (count,))
    if t not in FIELDS:
        return source.below(1 << BITS[t], (count,))
    if kind == FAINT:
        return _faint(source, matrix, t, count)
    return _floats(source, t, kind, matrix, (count,))


def _faint(source: Bits, matrix: str, t: str, count: int) -> np.ndarray:
    exponent, mantissa = FIELDS[t]
    bias = (1 << exponent - 1) - 1
    field = source.below(8, (count,)) + np.uint64(max(bias - 20, 0)) if matrix == "c" else np.uint64(0)
    sign = source.below(2, (count,)) << np.uint64(exponent + mantissa)
    code: np.ndarray = source.below(1 << mantissa, (count,)) | field << np.uint64(mantissa) | sign
    return code


def _memory(source: Bits, case: Case, matrix: str, kind: str) -> np.ndarray:
    t, room = getattr(case, matrix), ROOM[matrix]
    bits = max(8, BITS[t])
    values = _numbers(source, matrix, t, kind, 8 * room // bits) if t != "b1" else source.below(256, (room,))
    return values.astype(f"<u{bits // 8}").view(np.uint8)


def _words(source: Bits, case: Case, matrix: str, t: str, kind: str, registers: int) -> np.ndarray:
    width = BITS[t]
    words = np.zeros(registers * THREADS, np.uint64)
    if t == "b1":
        words = source.below(1 << 32, words.shape)
    else:
        for item in range(32 // width):
            words |= _numbers(source, matrix, t, kind, len(words)) << np.uint64(item * width)
    return words.astype(np.uint32).reshape(registers, THREADS)


def _metadata(source: Bits, case: Case, blocks: int) -> np.ndarray:
    """Pairs of positions in rising order; for tf32 the first or the second of two."""
    legal = np.array([0b0100, 0b1110] if case.a == "tf32" else [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110])
    words = np.zeros(blocks * THREADS, np.uint64)
    for group in range(8):
        picks = source.below(len(legal), words.shape).astype(int)
        words |= legal[picks].astype(np.uint64) << np.uint64(4 * group)
    return words.astype(np.uint32).reshape(blocks, THREADS)


# -- running ----------------------------------------------------------------------------------------------------------
def program(case: Case) -> str:
    """PTX of the kernel `probe(image, a, c, meta, d, at_a, at_b)`: each block multiplies its own operands."""
    total, d = sum(ROOM.values()), [f"%d{i}" for i in range(case.registers)]
    kind = "f32" if case.d == "f32" else "b32"
    lines = [
        f".shared .align 1024 .b8 room[{total}];",
        f".reg .{kind} {', '.join(d)};", ".reg .b32 %a<4>, %t, %n, %w, %meta, %x<4>;", ".reg .b64 %p, %o, %da, %db;",
        ".reg .pred %more, %scale;",
        "mov.u32 %t, %tid.x;", "mov.u32 %n, %ctaid.x;",
        "ld.param.u64 %p, [image];", f"mad.wide.u32 %p, %n, {total}, %p;", "mad.wide.u32 %p, %t, 16, %p;",
        "mov.u32 %w, room;", "mad.lo.u32 %w, %t, 16, %w;", "mov.u32 %x0, 0;",
        "FILL:",
        "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%p];", "st.shared.v4.b32 [%w], {%a0, %a1, %a2, %a3};",
        f"add.u64 %p, %p, {16 * THREADS};", f"add.u32 %w, %w, {16 * THREADS};", "add.u32 %x0, %x0, 1;",
        f"setp.lt.u32 %more, %x0, {total // (16 * THREADS)};", "@%more bra FILL;",
        "fence.proxy.async;", "bar.sync 0;",
    ]  # fmt: skip
    lines += _loads("a", ["%a0", "%a1", "%a2", "%a3"], "b32")
    lines += _loads("c", d, kind)
    lines += _loads("meta", ["%meta"], "b32")
    lines += ["mov.u32 %w, room;", "shr.u32 %w, %w, 4;", "cvt.u64.u32 %p, %w;"]
    # Descriptors are parameters, so that cases which differ in nothing else share a kernel.
    for matrix in ("a", "b"):
        lines += [f"ld.param.u64 %d{matrix}, [at_{matrix}];", f"add.u64 %d{matrix}, %p, %d{matrix};"]
    first = "{%a0, %a1, %a2, %a3}" if case.a_place is None else "%da"
    sparse = f", %meta, {case.selector}" if case.sparse else ""
    lines += [
        f"setp.ne.u32 %scale, {int(case.added)}, 0;",
        "wgmma.fence.sync.aligned;",
        f"{case.instruction} {{{', '.join(d)}}}, {first}, %db{sparse}, %scale{case.immediates};",
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
    ]
    lines += _at("d", len(d))
    lines += [f"st.global.{kind} [%o+{4 * THREADS * i}], {r};" for i, r in enumerate(d)]
    params = ", ".join(f".param .u64 {p}" for p in ("image", "a", "c", "meta", "d", "at_a", "at_b"))
    body = "\n".join(f"    {line}" for line in [*lines, "ret;"])
    return f".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry probe({params})\n{{\n{body}\n}}\n"


def _at(name: str, registers: int) -> list[str]:
    """%o = the thread's first register of the block's."""
    return [f"ld.param.u64 %o, [{name}];", f"mad.lo.u32 %w, %n, {registers * THREADS}, %t;",
            "mad.wide.u32 %o, %w, 4, %o;"]  # fmt: skip


def _loads(name: str, registers: list[str], kind: str) -> list[str]:
    return [*_at(name, len(registers)),
            *(f"ld.global.{kind} {r}, [%o+{4 * THREADS * i}];" for i, r in enumerate(registers))]  # fmt: skip


def run(case: Case, what: Given, text: str = "") -> np.ndarray:
    """D's registers on the device in use: (blocks, registers, threads); `text` in place of the case's own kernel."""
    blocks = len(what.c)
    result = np.zeros((blocks, case.registers, THREADS), np.uint32)
    places = [0 if p is None else p.descriptor(room) for p, room in ((case.a_place, 0), (case.b_place, ROOM["a"]))]
    kernel = gs.ptx(text or program(case))["probe"]
    kernel[blocks, THREADS](what.shared, what.a, what.c, what.meta, result, *places)
    return result


SAMPLE = 256
"""Registers of each block that a recording keeps."""


def sampled(case: Case, result: np.ndarray) -> np.ndarray:
    """What a recording keeps of a result: the same places every time, (blocks, at most SAMPLE)."""
    flat = result.reshape(len(result), -1)
    order = np.argsort(Bits(case.name + " sample").below(1 << 62, (flat.shape[1],)), kind="stable")
    kept: np.ndarray = flat[:, order[:SAMPLE]]
    return kept


# -- what there is ----------------------------------------------------------------------------------------------------
PLAIN = Place(0, 144, 272)
"""Without swizzle, with gaps."""

FLOATS = (("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
          *((d, a, b) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")))  # fmt: skip
INTEGERS = (("s8", "s8", ""), ("s8", "u8", "satfinite"), ("u8", "s8", ""), ("u8", "u8", "satfinite"),
            ("b1", "b1", "and"))  # fmt: skip
SIMPLE = ("ordinary",)
FAINT = "faint"
"""Factors that are all subnormal, and addends of about the size of their products."""


def cases() -> Iterator[Case]:
    """Every type with every kind of numbers, then layouts, sizes, signs and sparse forms with ordinary ones."""
    for i, (d, a, b) in enumerate(FLOATS):
        yield Case(8, d, a, b, None if i % 2 else PLAIN, PLAIN, kinds=(*KINDS, FAINT) if BITS[a] == 8 else KINDS)
    for i, (a, b, rule) in enumerate(INTEGERS):
        yield Case(8, "s32", a, b, None if i % 2 else PLAIN, PLAIN, rule, kinds=KINDS[:2])
    yield from _layouts()
    yield from _sizes()
    yield from _sparse()


def _layouts() -> Iterator[Case]:
    one = Case(32, "f32", "f16", "f16", None, PLAIN, kinds=SIMPLE)
    for swizzle in SWIZZLES:
        for turned in (False, True):
            yield replace(one, a_place=tight(swizzle, turned, ROWS), b_place=tight(0, False, 32))
            # A stride that is no multiple of the pattern, and a start inside of it.
            b = tight(swizzle, turned, 80)
            odd = replace(b, leading=b.leading + 48, stride=b.stride + 80, start=176)
            yield replace(one, b_place=odd, n=80, d="f16" if turned else "f32")
    for swizzle, start, base in ((1, 0, 3), (1, 128, 1), (1, 640, 5), (1, 384, 0), (2, 384, 5), (3, 128, 1)):
        yield replace(one, b_place=replace(tight(swizzle, False, 32), start=start, base=base))
    yield replace(one, b_place=replace(tight(1, True, 32), start=384, base=3))
    yield replace(one, a_place=tight(2, True, ROWS), b_place=tight(1, True, 32), a="bf16", b="bf16")
    for t, swizzles in (("tf32", (0, 1)), ("e4m3", (1, 3)), ("s8", (2, 3)), ("b1", (0, 1))):
        d, rule = {"s8": ("s32", ""), "b1": ("s32", "and")}.get(t, ("f32", ""))
        for swizzle in swizzles:
            yield Case(16, d, t, t, tight(swizzle, False, ROWS), tight(swizzle, False, 16), rule, kinds=SIMPLE)


def _sizes() -> Iterator[Case]:
    for n in (24, 256):
        yield Case(n, "f32", "f16", "f16", None, tight(1, False, n), kinds=SIMPLE)
    yield Case(176, "s32", "s8", "s8", tight(1, False, ROWS), tight(1, False, 176), kinds=SIMPLE)
    one = Case(16, "f32", "f16", "f16", None, PLAIN, kinds=KINDS[:1] + KINDS[3:5])
    yield replace(one, signs=(-1, 1))
    yield replace(one, signs=(1, -1), a="e4m3", b="e5m2", d="f16")
    yield replace(one, signs=(-1, -1), a="tf32", b="tf32")
    yield replace(one, added=False)
    yield replace(one, added=False, d="f16", a_place=PLAIN)
    yield Case(16, "s32", "s8", "u8", None, PLAIN, added=False, kinds=SIMPLE)


def _sparse() -> Iterator[Case]:
    wide = replace(PLAIN, stride=528)
    for d, a, b in (("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")):
        for selector in (0, 1):
            place = None if selector else PLAIN
            yield Case(8, d, a, b, place, wide, selector=selector, kinds=KINDS[:1] + KINDS[3:])
    yield Case(8, "f32", "e4m3", "e5m2", None, wide, selector=0, kinds=(*KINDS, FAINT))
    yield Case(8, "f16", "e5m2", "e4m3", PLAIN, wide, selector=0, kinds=KINDS)
    yield Case(8, "s32", "s8", "u8", None, wide, "satfinite", selector=0, kinds=SIMPLE)
    yield Case(8, "s32", "u8", "u8", PLAIN, wide, selector=0, kinds=SIMPLE)
    one = Case(16, "f32", "f16", "f16", None, wide, selector=0, kinds=SIMPLE)
    for swizzle in (1, 2, 3):
        yield replace(one, b_place=tight(swizzle, False, 16))
        yield replace(one, b_place=tight(swizzle, True, 16, k=32), a_place=tight(swizzle, True, ROWS))
    yield replace(one, b_place=tight(0, True, 16, k=32))
