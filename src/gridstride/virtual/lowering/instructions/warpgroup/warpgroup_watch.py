"""What the observed build adds to wgmma: an account of what is in flight, and looks at its registers.

Beside each register that matters the code notes, in a slot per instruction, the group that a wgmma went into or the
number of fences at a write; where such a register is used, the runtime compares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.analysis.warpgroup_registers import Hazards, hazards, multiplies

if TYPE_CHECKING:
    from gridstride.virtual.lowering.function import Lowering
    from gridstride.virtual.ptx.module import Instruction


@dataclass(slots=True)
class Watch:
    """One function's hazards, and the slots and sites that its code has for them."""

    hazards: Hazards
    slots: dict[object, Value] = field(default_factory=dict)
    sites: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(cx: Lowering) -> Watch:
        """The function's own, made when its first instruction is written."""
        watch = cx.program.scratch_of(cx).watch
        if watch is None:
            watch = cx.program.scratch_of(cx).watch = Watch(hazards(cx.code))
        assert isinstance(watch, Watch)
        return watch

    def slot(self, cx: Lowering, key: object) -> Value:
        """An i32 of the function, 0 when it starts."""
        if key not in self.slots:
            self.slots[key] = cx.b.alloca("i32")
            cx.b.entry.append(f"  store i32 0, ptr {self.slots[key].name}")
        return self.slots[key]

    def site(self, cx: Lowering, ins: Instruction) -> Value:
        """The number of an instruction's place, which others may ask for before it is written."""
        if id(ins) not in self.sites:
            now, cx.ins = cx.ins, ins
            self.sites[id(ins)] = cx.program.site(cx)
            cx.ins = now
        return constant("i32", self.sites[id(ins)])


def before(cx: Lowering, ins: Instruction) -> None:
    """Ahead of any instruction."""
    watch = Watch.of(cx)
    watched, b, key = watch.hazards, cx.b, id(ins)
    if not watched.products:
        return
    for number in watched.touches.get(key, ()):
        other = watched.product_of(number)
        noted = b.load("i32", watch.slot(cx, number))
        b.call("void", "gs_wgmma_touch", cx.warp, watch.site(cx, ins), noted, watch.site(cx, other))
    if key in watched.copies:
        number, origins = watched.copies[key]
        latest = constant("i32", 0)
        for origin in origins:
            latest = b.intrinsic("smax", latest, b.load("i32", watch.slot(cx, origin)))
        b.store(latest, watch.slot(cx, number))
    if key in watched.writers:
        b.store(b.call("i32", "gs_wgmma_fences", cx.warp), watch.slot(cx, key))
    if multiplies(ins):
        for writer in watched.unfenced.get(key, ()):
            noted = b.load("i32", watch.slot(cx, writer))
            writer_site = watch.site(cx, watched.writers[writer])
            b.call("void", "gs_wgmma_unfenced", cx.warp, watch.site(cx, ins), noted, writer_site)
        b.store(b.call("i32", "gs_wgmma_group", cx.warp), watch.slot(cx, watched.products.index(ins)))


def issue(cx: Lowering, site: Value, words: tuple[Value, Value], turned: tuple[bool, bool], groups: tuple[int, int],
          chunks: int) -> None:  # fmt: skip
    """A wgmma that is executed: descriptors of A and B, and their pieces along the rows (0: A is in registers)."""
    numbers = (*map(int, turned), *groups, chunks)
    arguments = [constant("i32", n) for n in numbers]
    cx.b.call("void", "gs_wgmma_issue", cx.warp, site, cx.active(), *words, *arguments)
