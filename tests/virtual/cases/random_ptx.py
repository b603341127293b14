"""Random PTX kernels for comparing the virtual GPU with the reference: legal, deterministic, and full of divergence.

Every kernel is `k(in, scratch, out, n)`. A thread reads `in` (256 words), owns 64 bytes of `scratch`, and hands its
registers over in `out` (OUT_WORDS words) at the end, unless it returned early. Two kinds: `structured` (nested ifs,
loops, switches, early returns, barriers with shared memory) and `tangled` (any block may jump to any other, until its
fuel is used up).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

WORDS, LONGS, PREDICATES = 12, 6, 4
"""b32, b64 and predicate registers that random instructions work on."""
IN_WORDS = 256
SCRATCH_BYTES = 64
OUT_WORDS = 32
MOST_THREADS = 1024
INTERESTING = (
    0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 64, 255, 0x7FFFFFF0, 0x7FFFFFFF, -(2**31), -1, -2, -16, -32,
)  # fmt: skip


def structured(seed: int, *, barriers: bool = True) -> str:
    """A kernel of nested statements."""
    return _Structured(random.Random(seed), barriers).text()


def tangled(seed: int) -> str:
    """A kernel whose blocks jump anywhere: irreducible loops, several entries, shared tails."""
    return _Tangled(random.Random(seed)).text()


class _Kernel:
    """Text of a kernel, and random straight-line code."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.lines, self.labels, self.counters = rng, [], 0, 0
        self.tables: list[str] = []

    # -- the frame ----------------------------------------------------------------------------------------------------
    def text(self) -> str:
        self._start()
        self.body()
        self._finish()
        return "\n".join(
            [
                ".version 8.8",
                ".target sm_90a",
                ".address_size 64",
                ".visible .entry k(.param .u64 p_in, .param .u64 p_scratch, .param .u64 p_out, .param .u32 p_n)",
                "{",
                f"    .reg .pred %p<{PREDICATES}>, %q<64>;",
                f"    .reg .b32 %r<{WORDS}>, %c<{self.counters + 1}>, %t<8>, %fuel;",
                f"    .reg .b64 %d<{LONGS}>, %in, %scratch, %out, %own, %a<4>;",
                f"    .shared .align 16 .b8 pool[{4 * MOST_THREADS}];",
                *self.tables,
                *self.lines,
                "}",
                "",
            ]
        )

    def emit(self, text: str) -> None:
        self.lines.append(text if text.endswith(":") else f"    {text};")

    def _start(self) -> None:
        """%t0: number in the block, %t1: in the grid; %r0… uniform, then linear, then loaded values."""
        for line in (
            "ld.param.u64 %in, [p_in]", "ld.param.u64 %scratch, [p_scratch]", "ld.param.u64 %out, [p_out]",
            "mov.u32 %t0, %tid.z", "mov.u32 %t1, %ntid.y", "mov.u32 %t2, %tid.y", "mad.lo.s32 %t0, %t0, %t1, %t2",
            "mov.u32 %t1, %ntid.x", "mov.u32 %t2, %tid.x", "mad.lo.s32 %t0, %t0, %t1, %t2",
            "mov.u32 %t1, %ntid.x", "mov.u32 %t2, %ntid.y", "mul.lo.s32 %t1, %t1, %t2", "mov.u32 %t2, %ntid.z",
            "mul.lo.s32 %t7, %t1, %t2", "mov.u32 %t2, %ctaid.x", "mad.lo.s32 %t1, %t7, %t2, %t0",
            f"mul.wide.u32 %a0, %t1, {SCRATCH_BYTES}", "add.s64 %own, %scratch, %a0",
            f"mul.wide.u32 %a0, %t1, {4 * OUT_WORDS}", "add.s64 %out, %out, %a0",
            "ld.param.u32 %r0, [p_n]", "mov.u32 %r1, %ctaid.x", "mov.u32 %r2, %ntid.x",
            "mov.u32 %r3, %tid.x", "mov.u32 %r4, %tid.y", "mov.u32 %r5, %laneid", "mov.u32 %r6, %t1",
            "mov.u32 %r7, %t0",
            f"and.b32 %t3, %t1, {IN_WORDS - 1}", "mul.wide.s32 %a0, %t3, 4", "add.s64 %a0, %in, %a0",
            "ld.global.u32 %r8, [%a0]", "xor.b32 %t3, %t3, 85", "mul.wide.s32 %a1, %t3, 4", "add.s64 %a1, %in, %a1",
            "ld.global.nc.u32 %r9, [%a1]", "shr.u32 %r10, %r8, 3", "mov.u32 %r11, 0",
            "mov.u64 %d0, 0", "mov.u64 %d1, %own", "cvt.u64.u32 %d2, %r3", "cvt.s64.s32 %d3, %r8", "mov.u64 %d4, 77",
            "mov.u64 %d5, %a0",
            "setp.lt.s32 %p0, %r8, %r9", "setp.ne.s32 %p1, %r1, 0", "setp.lt.u32 %p2, %r3, 11", "setp.eq.s32 %p3, 0, 0",
            "shl.b32 %t4, %t0, 2", "mov.u32 %t5, pool", "add.s32 %t4, %t4, %t5", "st.shared.u32 [%t4], %r8",
        ):  # fmt: skip
            self.emit(line)

    def _finish(self) -> None:
        self.emit("DONE:")
        for i in range(WORDS):
            self.emit(f"st.global.u32 [%out+{4 * i}], %r{i}")
        for i in range(LONGS):
            self.emit(f"st.global.u64 [%out+{4 * WORDS + 8 * i}], %d{i}")
        for i in range(PREDICATES):
            self.emit(f"selp.u32 %t0, {i + 3}, 1000, %p{i}")
            self.emit(f"st.global.u32 [%out+{4 * (WORDS + 2 * LONGS + i)}], %t0")
        self.emit("ret")

    def body(self) -> None:
        raise NotImplementedError

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    # -- operands -----------------------------------------------------------------------------------------------------
    def word(self) -> str:
        return f"%r{self.rng.randrange(WORDS)}"

    def long(self) -> str:
        return f"%d{self.rng.randrange(LONGS)}"

    def predicate(self) -> str:
        return f"%p{self.rng.randrange(PREDICATES)}"

    def number(self) -> int:
        return self.rng.choice(INTERESTING) if self.rng.random() < 0.7 else self.rng.randrange(-(2**31), 2**31)

    def word_or_number(self) -> str:
        return str(self.number()) if self.rng.random() < 0.45 else self.word()

    def long_or_number(self) -> str:
        return str(self.number()) if self.rng.random() < 0.45 else self.long()

    def guard(self) -> str:
        if self.rng.random() < 0.8:
            return ""
        return f"@{self.rng.choice(['', '!'])}{self.predicate()} "

    # -- straight code ------------------------------------------------------------------------------------------------
    def straight(self, most: int = 5) -> None:
        for _ in range(self.rng.randint(1, most)):
            kind = self.rng.choice(
                [self._index] * 4 + [self._wide] * 3 + [self._free] * 2 + [self._test] * 2 + [self._memory]
            )
            kind()

    def _index(self) -> None:
        """What indices are computed with."""
        op = self.rng.choice(
            ["add.s32", "add.u32", "sub.s32", "mul.lo.s32", "mad.lo.s32", "shl.b32", "shr.u32", "and.b32", "mov"]
        )
        d, a, b = self.word(), self.word(), self.word_or_number()
        if op.startswith("sh") and self.rng.random() < 0.8:
            b = str(self.rng.choice([0, 1, 2, 3, 5, 31, 32, 40]))
        if op == "mov":
            self.emit(f"{self.guard()}mov.u32 {d}, {self.word_or_number()}")
        elif op.startswith("mad"):
            self.emit(f"{self.guard()}{op} {d}, {a}, {b}, {self.word_or_number()}")
        else:
            self.emit(f"{self.guard()}{op} {d}, {a}, {b}")

    def _wide(self) -> None:
        """32 bits to 64 and back, and 64-bit arithmetic."""
        g, d, a, b = self.guard(), self.long(), self.long(), self.long_or_number()
        w, v = self.word(), self.word_or_number()
        self.emit(
            g
            + self.rng.choice(
                [
                    f"mul.wide.s32 {d}, {w}, {v}", f"mul.wide.u32 {d}, {w}, {v}", f"mad.wide.s32 {d}, {w}, {v}, {a}",
                    f"mad.wide.u32 {d}, {w}, {v}, {a}", f"cvt.s64.s32 {d}, {w}", f"cvt.u64.u32 {d}, {w}",
                    f"cvt.u32.u64 {w}, {d}", f"add.s64 {d}, {a}, {b}", f"sub.s64 {d}, {a}, {b}",
                    f"mul.lo.s64 {d}, {a}, {b}",
                    f"shl.b64 {d}, {a}, {self.rng.choice([1, 2, 3, 32])}", f"shr.s64 {d}, {a}, 2",
                    f"and.b64 {d}, {a}, {b}",
                    f"mov.u64 {d}, {a}", f"mad.lo.s64 {d}, {a}, {b}, {self.long()}", f"or.b64 {d}, {a}, {b}",
                ]
            )
        )  # fmt: skip

    def _free(self) -> None:
        """What no index is computed with."""
        g, d, a, b = self.guard(), self.word(), self.word(), self.word_or_number()
        self.emit(
            g
            + self.rng.choice(
                [
                    f"min.s32 {d}, {a}, {b}", f"max.u32 {d}, {a}, {b}", f"xor.b32 {d}, {a}, {b}",
                    f"or.b32 {d}, {a}, {b}",
                    f"mul.hi.s32 {d}, {a}, {b}", f"mul.hi.u32 {d}, {a}, {b}", f"not.b32 {d}, {a}", f"neg.s32 {d}, {a}",
                    f"popc.b32 {d}, {a}", f"shr.s32 {d}, {a}, {b}", f"selp.b32 {d}, {a}, {b}, {self.predicate()}",
                    f"selp.b64 {self.long()}, {self.long()}, {self.long()}, {self.predicate()}",
                ]
            )
        )  # fmt: skip

    def test(self, target: str) -> None:
        compare, type_ = self.rng.choice(["eq", "ne", "lt", "le", "gt", "ge"]), self.rng.choice(["s32", "u32"])
        self.emit(f"setp.{compare}.{type_} {target}, {self.word()}, {self.word_or_number()}")

    def _test(self) -> None:
        p, q = self.predicate(), self.predicate()
        kind = self.rng.randrange(5)
        if kind < 3:
            self.test(p)
        elif kind == 3:
            self.emit(
                f"{self.guard()}setp.lt.{self.rng.choice(['and', 'or'])}.s32 {p}, {self.word()}, {self.word()}, {q}"
            )
        else:
            op = self.rng.choice(["and", "or", "xor"])
            self.emit(f"{self.guard()}{op}.pred {p}, {q}, {self.predicate()}")

    def _memory(self) -> None:
        """Reads of the input by an index, reads and writes of the thread's own bytes."""
        g, w = self.guard(), self.word()
        kind = self.rng.randrange(7)
        if kind <= 1:
            self.emit(f"and.b32 %t6, {w}, {IN_WORDS - 1}")
            self.emit("mul.wide.s32 %a2, %t6, 4" if kind else "cvt.u64.u32 %a2, %t6")
            if not kind:
                self.emit("shl.b64 %a2, %a2, 2")
            self.emit("add.s64 %a2, %in, %a2")
            self.emit(f"{g}ld.global.u32 {self.word()}, [%a2]")
        elif kind == 2:
            self.emit(f"{g}st.global.u32 [%own+{self.rng.choice([0, 4, 12, 36])}], {w}")
        elif kind == 3:
            self.emit(f"{g}st.global.v2.u32 [%own+{self.rng.choice([8, 16, 48])}], {{{w}, {self.word()}}}")
        elif kind == 4:
            at = self.rng.choice([0, 16, 32])
            a, b, c, d = self.rng.sample(range(WORDS), 4)
            self.emit(f"{g}ld.global.v4.u32 {{%r{a}, %r{b}, %r{c}, %r{d}}}, [%own+{at}]")
        elif kind == 5:
            self.emit(
                f"{g}ld.global.{self.rng.choice(['s8', 'u8', 's16', 'u16'])} {w}, [%own+{self.rng.choice([0, 2, 34])}]"
            )
        else:
            self._past_the_wrap()

    def _past_the_wrap(self) -> None:
        """Indices whose 32 bits wrap within the warp: only the lanes on one side may read."""
        edge, sign, compare = self.rng.choice([(0x7FFFFFF5, "s", "ge.s32"), (-11, "u", "ge.s32"), (-11, "s", "lt.s32")])
        back = 4 * (edge if edge > 0 or sign == "s" else edge + 2**32)
        back -= 4 * 16 if edge < 0 and sign == "s" else 0
        if sign == "u":
            back, compare = 0, "ge.s32"
        self.emit("and.b32 %t6, %laneid, 31" if self.rng.random() < 0.5 else "and.b32 %t6, %tid.x, 31")
        self.emit(f"add.s32 %t6, %t6, {edge}")
        self.emit(f"setp.{compare} %q0, %t6, 0")
        self.emit(f"mul.wide.{sign}32 %a2, %t6, 4")
        self.emit(f"sub.s64 %a3, %in, {back}")
        self.emit("add.s64 %a2, %a3, %a2")
        self.emit(f"@%q0 ld.global.u32 {self.word()}, [%a2]")

    def switch(self, targets: list[str], index: str) -> None:
        """brx.idx on an index that is in range."""
        table = f"T{len(self.tables)}"
        self.tables.append(f"    {table}: .branchtargets {', '.join(targets)};")
        self.emit(f"brx.idx {index}, {table}")


class _Structured(_Kernel):
    def __init__(self, rng: random.Random, barriers: bool) -> None:
        super().__init__(rng)
        self.barriers = barriers
        self.loops: list[tuple[str, str]] = []

    def body(self) -> None:
        for _ in range(self.rng.randint(3, 6)):
            self.straight()
            if self.barriers and self.rng.random() < 0.45:
                self._together()
            else:
                self.statement(self.rng.randint(1, 3))
        self.straight()

    # -- statements ---------------------------------------------------------------------------------------------------
    def statement(self, depth: int) -> None:
        kinds = [self._if, self._if_else, self._loop, self._loop, self._switch]
        self.rng.choice(kinds)(depth)

    def block(self, depth: int) -> None:
        self.straight(3)
        if depth > 0 and self.rng.random() < 0.7:
            self.statement(depth - 1)
        if self.rng.random() < 0.5:
            self.straight(3)
        if self.rng.random() < 0.2:
            self._jump_out()

    def _jump_out(self) -> None:
        p = self.predicate()
        self.test(p)
        ways = ["ret", "exit", "bra DONE"]
        if self.loops:
            again, out = self.rng.choice(self.loops)
            ways += [f"bra {again}", f"bra {out}", f"bra {out}"]
        self.emit(f"@{p} {self.rng.choice(ways)}")

    def _if(self, depth: int) -> None:
        end, p = self.label(), self.predicate()
        self.test(p)
        self.emit(f"@{p} bra {end}")
        self.block(depth)
        self.emit(f"{end}:")

    def _if_else(self, depth: int) -> None:
        other, end, p = self.label(), self.label(), self.predicate()
        self.test(p)
        self.emit(f"@!{p} bra {other}")
        self.block(depth)
        self.emit(f"bra {end}")
        self.emit(f"{other}:")
        self.block(depth)
        self.emit(f"{end}:")

    @contextmanager
    def _counted(self, source: str, most: int) -> Iterator[tuple[str, str, str]]:
        """A loop of at most `most` rounds: (label to continue, label to leave by, counter)."""
        self.counters += 1
        head, again, out, count = self.label(), self.label(), self.label(), f"%c{self.counters}"
        self.emit(f"and.b32 {count}, {source}, {most}")
        self.emit(f"{head}:")
        yield again, out, count
        self.emit(f"{again}:")
        q = f"%q{1 + self.counters % 60}"
        self.emit(f"sub.s32 {count}, {count}, 1")
        self.emit(f"setp.ge.s32 {q}, {count}, 0")
        self.emit(f"@{q} bra {head}")
        self.emit(f"{out}:")

    def _loop(self, depth: int) -> None:
        source = self.rng.choice(["%r8", "%tid.x", "%ctaid.x", "%laneid", self.word()])
        with self._counted(source, self.rng.choice([1, 3, 5])) as (again, out, _):
            self.loops.append((again, out))
            self.block(depth)
            if self.rng.random() < 0.4:
                self._jump_out()
                self.straight(2)
            self.loops.pop()

    def _switch(self, depth: int) -> None:
        end = self.label()
        cases = [self.label() for _ in range(self.rng.choice([1, 2, 3]))]
        table = [self.rng.choice([*cases, end]) for _ in range(4)]
        self.emit(f"and.b32 %t6, {self.rng.choice(['%ctaid.x', '%tid.x', self.word(), self.word()])}, 3")
        self.switch(table, "%t6")
        for case in cases:
            self.emit(f"{case}:")
            self.block(depth - 1)
            if self.rng.random() < 0.7:
                self.emit(f"bra {end}")
        self.emit(f"{end}:")

    # -- what all threads do together ---------------------------------------------------------------------------------
    def _together(self) -> None:
        kind = self.rng.choice([self._exchange] * 3 + [self._rounds, self._two_barriers, self._vote, self._total])
        kind()

    def _exchange(self) -> None:
        """Each writes its word, then reads another's."""
        self.emit(f"st.shared.u32 [%t4], {self.word()}")
        self.emit("bar.sync 0")
        self.straight(2)
        target = self.word()
        self.emit(f"add.s32 %t6, %t0, {self.rng.choice([1, 3, 17, 32, 33])}")
        self._modulo()
        self.emit("shl.b32 %t6, %t6, 2")
        self.emit(f"ld.shared.u32 {target}, [%t6+0]")
        self.emit("bar.sync 0")

    def _modulo(self) -> None:
        """Wraps %t6 into the block, whose threads are %t7."""
        self.emit("setp.ge.u32 %q61, %t6, %t7")
        self.emit("selp.b32 %t6, 0, %t6, %q61")

    def _rounds(self) -> None:
        """A loop that all run equally often, with divergent work inside."""
        with self._counted("%ctaid.x", 3) as (_, _, count):
            self._exchange()
            self.loops, saved = [], self.loops
            self.statement(1)
            self.loops = saved
            self.emit(f"add.s32 {self.word()}, {self.word()}, {count}")

    def _two_barriers(self) -> None:
        """Both sides of a branch have a barrier of their own: threads are counted, not program points."""
        other, end = self.label(), self.label()
        self.test("%q62")
        self.emit(f"st.shared.u32 [%t4], {self.word()}")
        self.emit(f"@%q62 bra {other}")
        self.straight(2)
        self.emit("bar.sync 0")
        self.straight(2)
        self.emit(f"bra {end}")
        self.emit(f"{other}:")
        self.emit("bar.sync 0")
        self.straight(2)
        self.emit(f"{end}:")
        self.emit("xor.b32 %t6, %t0, 1")
        self._modulo()
        self.emit("shl.b32 %t6, %t6, 2")
        self.emit(f"ld.shared.u32 {self.word()}, [%t6]")
        self.emit("bar.sync 0")

    def _vote(self) -> None:
        self.test("%q62")
        kind = self.rng.choice(["popc", "and", "or"])
        if kind == "popc":
            self.emit(f"bar.red.popc.u32 {self.word()}, 0, %q62")
        else:
            self.emit(f"bar.red.{kind}.pred {self.predicate()}, 0, %q62")

    def _total(self) -> None:
        """Adds of all threads to one word, which all clear before: any of them may be gone."""
        self.emit("bar.sync 0")
        self.emit("st.shared.u32 [pool+4000], 0")
        self.emit("bar.sync 0")
        self.test("%q62")
        self.emit(f"{self.rng.choice(['', '@%q62 '])}red.shared.add.u32 [pool+4000], {self.word()}")
        self.emit("bar.sync 0")
        self.emit(f"ld.shared.u32 {self.word()}, [pool+4000]")
        self.emit("bar.sync 0")


class _Tangled(_Kernel):
    def body(self) -> None:
        count = self.rng.randint(3, 9)
        names = [f"N{i}" for i in range(count)]
        self.emit(f"and.b32 %fuel, {self.rng.choice(['%r8', '%tid.x', '%r1', '%laneid'])}, 15")
        self.emit(f"add.s32 %fuel, %fuel, {self.rng.choice([0, 3, 12])}")
        if self.rng.random() < 0.5:
            self.emit(f"@{self.predicate()} bra {self.rng.choice(names)}")
        for name in names:
            self.emit(f"{name}:")
            self.emit("sub.s32 %fuel, %fuel, 1")
            self.emit("setp.lt.s32 %q1, %fuel, 0")
            self.emit(f"@%q1 {self.rng.choice(['bra DONE', 'bra DONE', 'bra DONE', 'ret'])}")
            self.straight(4)
            self._leave(names)
        self.emit("bra DONE")

    def _leave(self, names: list[str]) -> None:
        kind = self.rng.random()
        p = self.predicate()
        if kind < 0.55:
            self.test(p)
            self.emit(f"@{self.rng.choice(['', '!'])}{p} bra {self.rng.choice(names)}")
            if self.rng.random() < 0.4:
                self.emit(f"bra {self.rng.choice(names)}")
        elif kind < 0.75:
            self.emit(f"and.b32 %t6, {self.word()}, 3")
            self.switch([self.rng.choice([*names, "DONE"]) for _ in range(4)], "%t6")
        elif kind < 0.85:
            self.emit(f"bra {self.rng.choice(names)}")
        elif kind < 0.9:
            self.test(p)
            self.emit(f"@{p} exit")
