"""What an observed build adds to a kernel, and the fast build that adds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridstride.virtual.ir.builder import Value
from gridstride.virtual.ptx.module import Address, Instruction

if TYPE_CHECKING:
    from gridstride.virtual.lowering.access import Access
    from gridstride.virtual.lowering.function import Lowering
    from gridstride.virtual.ptx.module import Operand


@dataclass(frozen=True, slots=True)
class Stored:
    """What a plain store writes: operands of one PTX type."""

    items: tuple[Operand, ...]
    type: str


class Observer:
    """What the fast build adds to a kernel, which is nothing; an observed build overrides what it wants to see."""

    observes = False

    def block(self, cx: Lowering, index: int) -> None:
        """Adds nothing."""

    def access(
        self,
        cx: Lowering,
        site: int,
        access: Access,
        address: Address | Value,
        kind: str,
        stored: Stored | Value | None = None,
    ) -> None:
        """Adds nothing."""

    def touch(self, cx: Lowering, site: int, access: Access, address: Address | Value, kind: str) -> None:
        """Adds nothing."""

    def local(self, cx: Lowering, site: int, offsets: Value, access: Access, kind: str) -> None:
        """Adds nothing."""

    def guarded(self, cx: Lowering) -> None:
        """Adds nothing."""

    def branch(self, cx: Lowering, jumps: Value, stays: Value) -> None:
        """Adds nothing."""

    def members(self, cx: Lowering, members: Value) -> None:
        """Adds nothing."""

    def shuffled(self, cx: Lowering, sources: Value, members: Value) -> None:
        """Adds nothing."""

    def bulk(self, cx: Lowering, name: str, *values: Value) -> None:
        """Adds nothing."""

    def sync(self, cx: Lowering) -> None:
        """Adds nothing."""

    def acquired(self, cx: Lowering) -> None:
        """Adds nothing."""

    def signalled(self, cx: Lowering) -> None:
        """Adds nothing."""

    def barrier(
        self, cx: Lowering, index: int, site: int, pending: Sequence[Value], gates: Mapping[int, Value]
    ) -> None:  # fmt: skip
        """Adds nothing."""

    def before(self, cx: Lowering, ins: Instruction) -> None:
        """Adds nothing."""
