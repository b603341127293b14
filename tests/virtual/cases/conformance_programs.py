"""Random PTX programs whose results are held against a physical GPU's: each is a number, from which all follows.

A program is one kernel for one block of THREADS threads. It fills its registers from the input, runs 20 to 60
statements (some under branches and in loops), and after each stores what was written in a slot of the output: 8 bytes a
thread. The last slots hold all registers. What a slot holds is known by kind, so that NaNs can be told from numbers.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conformance_forms import FAMILIES, TOGETHER, UNGUARDED

import gridstride as gs

THREADS = 64
POOLS = {"p": 4, "h": 4, "r": 8, "d": 6, "f": 6, "g": 4, "x": 4, "y": 4, "u": 3, "v": 3}
"""Registers of each kind."""

SLOTS = 160
"""Most slots that a program has."""

CELLS = 16
"""Words of 8 bytes that a program's threads share, besides one for each thread."""

_INPUTS = sum(POOLS.values()) - POOLS["p"]
BYTES = {"p": 4, "h": 2, "r": 4, "d": 8, "f": 4, "g": 8, "x": 2, "y": 2, "u": 4, "v": 4}
"""Bytes of a register; a predicate shows as a word."""

_TYPES = {"p": "pred", "f": "f32", "g": "f64"}
_SLOT = re.compile(r"\{(\w+?)(i?)(=?)\}")
_WORDS = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 255, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, -(2**31), -1, -2)
_FLOATS = (0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000,
           0xFF800000, 0x7FC00001, 0x3F7FFFFF, 0x4F000000, 0xCF000000, 0x4B800001, 0x3F000000, 0x477FF000)  # fmt: skip
_DOUBLES = (0.0, -0.0, 1.0, -1.5, 2.0**-1074, 1e308, 3.7, 2.0**31)
_SCALES = {"f": (23, 8), "g": (52, 11), "x": (10, 5), "y": (7, 8)}
"""Digits and exponent bits of the float kinds."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of the output: the register it shows, the family and text of the statement that wrote it."""

    kind: str
    register: str
    family: str
    text: str


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel's PTX and its slots, in the order of the output."""

    seed: int
    text: str
    slots: tuple[Slot, ...]


class _Writer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.slots: list[Slot] = []
        self.labels = self.loops = self.cells = 0

    # -- operands -----------------------------------------------------------------------------------------------------
    def _literal(self, kind: str) -> str:
        rng = self.rng
        if kind == "f":
            return f"0f{rng.choice(_FLOATS) if rng.random() < 0.7 else rng.getrandbits(32):08X}"
        if kind == "g":
            return f"0d{np.float64(rng.choice(_DOUBLES)).view(np.uint64):016X}"
        if kind == "h":
            return str(rng.choice((0, 1, 2, 7, 15, 16, 255, 0x7FFF, -1, -0x8000)))
        return str(rng.choice(_WORDS) if rng.random() < 0.8 else rng.randrange(-(2**31), 2**31))

    def _special(self, name: str) -> str | None:
        rng = self.rng
        match name:
            case "k":
                return str(rng.randrange(32))
            case "k8":
                return str(8 * rng.randrange(THREADS))
            case "c":
                return str(rng.choice((0x1F, 0x1F, 0, 0x1C1F, 0x181F, 0x1003, rng.getrandbits(13) & 0x1F1F)))
            case "lut":
                return str(rng.randrange(256))
        return None

    def _filled(self, form: str) -> tuple[str, list[tuple[str, str]]]:
        """The form with operands, and its destinations as (kind, register), each another register."""
        written: list[tuple[str, str]] = []
        cell = str(8 * self.cells)
        self.cells += "{cell}" in form

        def operand(match: re.Match[str]) -> str:
            kind, literal, target = match.groups()
            if kind == "cell":
                return cell
            special = self._special(kind + literal)
            if special is not None:
                return special
            free = [i for i in range(POOLS[kind]) if not target or (kind, f"%{kind}{i}") not in written]
            register = f"%{kind}{self.rng.choice(free)}"
            if target:
                written.append((kind, register))
            return self._literal(kind) if literal and self.rng.random() < 0.3 else register

        return _SLOT.sub(operand, form), written

    # -- statements ---------------------------------------------------------------------------------------------------
    def emit(self, line: str) -> None:
        self.lines.append(line if line.endswith(":") else f"    {line};")

    def show(self, kind: str, register: str, family: str, text: str) -> None:
        """Stores a register in the next slot."""
        at = f"[%out+{len(self.slots) * 8 * THREADS}]"
        if kind == "p":
            self.emit(f"selp.u32 %t7, 1, 2, {register}")
            self.emit(f"st.global.u32 {at}, %t7")
        else:
            self.emit(f"st.global.{_TYPES.get(kind, f'b{8 * BYTES[kind]}')} {at}, {register}")
        self.slots.append(Slot(kind, register, family, text))

    def straight(self, *, together: bool) -> None:
        """One statement and what it wrote."""
        families = FAMILIES | TOGETHER if together else FAMILIES
        family = self.rng.choice([*families, "float", "half", "conversion", "conversion", "comparison"])
        form = self.rng.choice(families[family])
        while "{cell}" in form and self.cells == CELLS:
            form = self.rng.choice(families[family])
        text, written = self._filled(form)
        guarded = ";" not in text and family not in TOGETHER and not text.startswith(tuple(f"{o}." for o in UNGUARDED))
        if guarded and self.rng.random() < 0.12:
            text = f"@{self.rng.choice(('', '!'))}%p{self.rng.randrange(POOLS['p'])} {text}"
        for line in text.split("; "):
            self.emit(line)
        for kind, register in written:
            self.show(kind, register, family, text)

    def statement(self, depth: int, budget: int) -> int:
        """A straight statement, or a branch or loop around a few; returns how many were written."""
        if depth == 3 or budget < 4 or self.rng.random() > 0.12:
            self.straight(together=depth == 0)
            return 1
        return self.rng.choice((self._if, self._if_else, self._loop))(depth, min(budget, self.rng.randint(2, 8)))

    def several(self, depth: int, budget: int) -> int:
        done = 0
        while done < budget:
            done += self.statement(depth, budget - done)
        return done

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def _if(self, depth: int, budget: int) -> int:
        end = self._label()
        self.emit(f"@{self.rng.choice(('', '!'))}%p{self.rng.randrange(POOLS['p'])} bra {end}")
        done = self.several(depth + 1, budget)
        self.emit(f"{end}:")
        return done

    def _if_else(self, depth: int, budget: int) -> int:
        other, end = self._label(), self._label()
        self.emit(f"@%p{self.rng.randrange(POOLS['p'])} bra {other}")
        done = self.several(depth + 1, budget // 2)
        self.emit(f"bra {end}")
        self.emit(f"{other}:")
        done += self.several(depth + 1, budget // 2)
        self.emit(f"{end}:")
        return done

    def _loop(self, depth: int, budget: int) -> int:
        """Each thread goes round one to four times."""
        self.loops += 1
        head, count, again = self._label(), f"%n{self.loops}", f"%m{self.loops}"
        self.emit(f"and.b32 {count}, %r{self.rng.randrange(POOLS['r'])}, 3")
        self.emit(f"{head}:")
        done = self.several(depth + 1, budget)
        self.emit(f"sub.s32 {count}, {count}, 1")
        self.emit(f"setp.ge.s32 {again}, {count}, 0")
        self.emit(f"@{again} bra {head}")
        return done

    # -- the frame ----------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Addresses, registers from the input, and common words at 0."""
        inputs, slots = 8 * THREADS * _INPUTS, 8 * THREADS * SLOTS
        for line in (
            "ld.param.u64 %in, [p_in]", "ld.param.u64 %out, [p_out]", "ld.param.u64 %cells, [p_cells]",
            "ld.param.u32 %t0, [p_index]", "mov.u32 %t1, %tid.x", "shl.b32 %tid8, %t1, 3", "cvt.u64.u32 %w0, %tid8",
            f"mad.wide.u32 %in, %t0, {inputs}, %in", f"mad.wide.u32 %out, %t0, {slots}, %out",
            f"mad.wide.u32 %cells, %t0, {8 * (CELLS + THREADS)}, %cells", "add.s64 %in, %in, %w0",
            "add.s64 %out, %out, %w0", "add.s64 %own, %cells, %w0", f"add.s64 %own, %own, {8 * CELLS}",
            "mov.u32 %pool, pool", "add.s32 %mine, %pool, %tid8", f"add.s32 %common, %pool, {8 * THREADS}",
            "add.s32 %t2, %common, %tid8", "mov.u64 %w1, 0", f"setp.lt.u32 %q0, %t1, {CELLS}",
            "@%q0 st.shared.u64 [%t2], %w1", "bar.sync 0",
        ):  # fmt: skip
            self.emit(line)
        row = 0
        for kind, number in POOLS.items():
            for i in range(number) if kind != "p" else ():
                type_ = _TYPES.get(kind, f"b{8 * BYTES[kind]}")
                self.emit(f"ld.global.{type_} %{kind}{i}, [%in+{8 * THREADS * row}]")
                row += 1
        for test in ("lt.s32 %p0, %r0, %r1", "lt.u32 %p1, %t1, 11", "gt.s32 %p2, %r2, 3", "ne.s32 %p3, %r3, %r3"):
            self.emit(f"setp.{test}")

    def finish(self) -> None:
        for kind, number in POOLS.items():
            for i in range(number):
                self.show(kind, f"%{kind}{i}", "end", f"%{kind}{i} at the end")
        self.emit("ret")

    def text(self, name: str) -> str:
        parameters = ".param .u64 p_in, .param .u64 p_out, .param .u64 p_cells, .param .u32 p_index"
        registers = [f"    .reg .{_TYPES.get(k, f'b{8 * BYTES[k]}')} %{k}<{n}>;" for k, n in POOLS.items()]
        return "\n".join(
            [
                f".visible .entry {name}({parameters})",
                "{",
                *registers,
                f"    .reg .pred %q<4>, %m<{self.loops + 1}>;",
                f"    .reg .b32 %t<8>, %n<{self.loops + 1}>, %tid8, %pool, %mine, %common;",
                "    .reg .b64 %w<4>, %in, %out, %cells, %own;",
                "    .reg .b16 %k<4>;",
                "    .reg .f32 %s<4>;",
                "    .reg .f64 %z<4>;",
                f"    .shared .align 16 .b8 pool[{8 * (THREADS + CELLS)}];",
                *self.lines,
                "}",
            ]
        )  # fmt: skip


def rows() -> dict[str, int]:
    """The row of the input that each register starts from."""
    names = [f"%{kind}{i}" for kind, number in POOLS.items() if kind != "p" for i in range(number)]
    return {name: row for row, name in enumerate(names)}


def program(seed: int) -> Program:
    """The program of a number, as a kernel named `k<number>`."""
    writer = _Writer(seed)
    writer.start()
    writer.several(0, writer.rng.randint(20, 60))
    writer.finish()
    if len(writer.slots) > SLOTS:
        raise AssertionError(f"program {seed} has {len(writer.slots)} slots, more than {SLOTS}")
    return Program(seed, writer.text(f"k{seed}"), tuple(writer.slots))


def module(programs: Sequence[Program]) -> str:
    """PTX of several programs."""
    return "\n".join([".version 8.1", ".target sm_90a", ".address_size 64", *(p.text for p in programs), ""])


# -- inputs -----------------------------------------------------------------------------------------------------------
def inputs(seed: int) -> np.ndarray:
    """What a program's registers start from: (registers, THREADS) words of 64 bits, the low bits of which are read."""
    rng = np.random.default_rng(seed)
    rows = [_row(rng, kind) for kind, number in POOLS.items() if kind != "p" for _ in range(number)]
    return np.stack(rows)


def _row(rng: np.random.Generator, kind: str) -> np.ndarray:
    """One register: random bits, small numbers, edge values, one value for all threads, or a mixture."""
    bits = rng.integers(0, 1 << 64, THREADS, np.uint64)
    if kind in "uv":
        low, high = (_floats(rng, "x" if kind == "u" else "y") for _ in range(2))
        typical = low | high << np.uint64(16)
    elif kind in _SCALES:
        typical = _floats(rng, kind)
    else:
        typical = rng.choice(np.array(_WORDS, np.int64), THREADS).view(np.uint64)
    small = rng.integers(-9, 40, THREADS).view(np.uint64)
    if kind not in "hrd":
        small = typical
    which = rng.choice([0, 1, 2], THREADS) if rng.random() < 0.5 else np.full(THREADS, rng.integers(0, 3))
    row = np.choose(which, [bits, typical, small])
    return np.full(THREADS, row[0]) if rng.random() < 0.15 else row


def _floats(rng: np.random.Generator, kind: str) -> np.ndarray:
    """Bits of floats: of ordinary size, near the integers' limits, subnormal, zero, infinite, NaN, all signs."""
    digits, size = _SCALES[kind]
    bias, top = (1 << size - 1) - 1, (1 << size) - 1
    exponent = rng.integers(max(0, bias - 40), min(top, bias + 40), THREADS)
    near = rng.integers(bias - 3, bias + 4, THREADS)
    exponent = np.where(rng.random(THREADS) < 0.6, near, exponent)
    exponent = np.where(rng.random(THREADS) < 0.15, rng.choice([0, 0, 1, top - 1, top], THREADS), exponent)
    fraction = rng.integers(0, 1 << digits, THREADS, np.uint64)
    plain = np.where(rng.random(THREADS) < 0.5, fraction >> np.uint64(digits - 3) << np.uint64(digits - 3), 0)
    fraction = np.where(rng.random(THREADS) < 0.4, plain.astype(np.uint64), fraction)
    sign = rng.integers(0, 2, THREADS, np.uint64)
    word: np.ndarray = sign << np.uint64(digits + size) | exponent.astype(np.uint64) << np.uint64(digits) | fraction
    return word


# -- results ----------------------------------------------------------------------------------------------------------
def without_payloads(kind: str, words: np.ndarray) -> np.ndarray:
    """Words of a slot with every NaN made the same one."""
    if kind in "uv":
        half = "x" if kind == "u" else "y"
        parts = [without_payloads(half, words >> np.uint64(s) & np.uint64(0xFFFF)) << np.uint64(s) for s in (0, 16)]
        return parts[0] | parts[1]
    if kind not in _SCALES:
        return words
    digits, size = _SCALES[kind]
    magnitude = words & np.uint64((1 << digits + size) - 1)
    infinity = np.uint64(((1 << size) - 1) << digits)
    return np.where(magnitude > infinity, np.uint64((1 << digits + size) - 1), words)


def run(programs: Sequence[Program]) -> np.ndarray:
    """What the device in use gives: words of 64 bits, (programs, SLOTS, THREADS)."""
    loaded = gs.ptx(module(programs))
    given = gs.to_device(np.stack([inputs(p.seed) for p in programs]))
    out = gs.to_device(np.zeros((len(programs), SLOTS, THREADS), np.uint64))
    cells = gs.to_device(np.zeros((len(programs), CELLS + THREADS), np.uint64))
    for number, each in enumerate(programs):
        loaded[f"k{each.seed}"][1, THREADS](given, out, cells, number)
    return out.numpy()


def digests(programs: Sequence[Program], outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per program and slot: 32 bits of a hash of what it holds but for NaNs' payloads, and 16 bits with them."""
    values, bits = np.zeros(outputs.shape[:2], np.uint32), np.zeros(outputs.shape[:2], np.uint16)
    for p, each in enumerate(programs):
        for s, slot in enumerate(each.slots):
            words = outputs[p, s]
            values[p, s] = _digest(without_payloads(slot.kind, words), 4)
            bits[p, s] = _digest(words, 2)
    return values, bits


def _digest(words: np.ndarray, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(words.tobytes(), digest_size=size).digest(), "little")


def version(programs: Sequence[Program]) -> str:
    """A hash of the programs' text and inputs: a recording holds for these alone."""
    whole = hashlib.blake2b(module(programs).encode(), digest_size=16)
    for each in programs:
        whole.update(inputs(each.seed).tobytes())
    return whole.hexdigest()
