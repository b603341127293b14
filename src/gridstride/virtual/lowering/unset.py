"""Where the observed build asks whether what is read was ever written, and notes what is written."""

from __future__ import annotations

from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import ordered, vector_address
from gridstride.virtual.lowering.ir import Value, constant
from gridstride.virtual.ptx.module import Address, Instruction, Operand, Register, Vector


class Unset:
    """Per kernel: which loads matter, by what is done with their values."""

    def __init__(self) -> None:
        self._uses: dict[int, dict[str, set[str]]] = {}

    def access(self, cx: Lowering, site: int, access: Access, address: Address, kind: str) -> None:
        """`kind`: load, store, atom or red. Plain loads of shared memory are looked at by the race detector."""
        if access.space == "shared":
            if ordered(cx.ins) or kind in ("atom", "red"):
                self._shared(cx, site, access, address, kind)
        elif access.space in ("global", "generic") and cx.ins.opcode != "cp":
            b = cx.b
            asks = b.compare("ne", cx.field("unset"), constant("i64", 0))
            if access.space == "generic":  # shared memory, it may be
                asks = b.op("or", asks, b.compare("ne", cx.field("observed"), constant("i32", 0)))
            with cx.aside(), b.if_(asks):
                where = vector_address(cx, address, access.space)
                if access.space == "generic":
                    self._global(cx, site, access, where, kind)
                else:
                    distance = b.op("sub", where, b.splat(cx.field("unset_low")))
                    near = b.bitcast(b.compare("ult", distance, b.splat(cx.field("unset_span"))), "i32")
                    with b.if_(b.compare("ne", near, constant("i32", 0))):
                        self._global(cx, site, access, where, kind)

    def _global(self, cx: Lowering, site: int, access: Access, where: Value, kind: str) -> None:
        args = (constant("i32", site), cx.active(), where, constant("i32", access.bytes))
        for name in self._asked(cx, kind, "selp"):
            parts = (self.parts(cx, access),) if name == "load" else ()
            cx.b.call("void", f"gs_unset_{name}", cx.warp, *args, *parts)

    def _shared(self, cx: Lowering, site: int, access: Access, address: Address, kind: str) -> None:
        b = cx.b
        with cx.aside(), b.if_(b.compare("ne", cx.field("observed"), constant("i32", 0))):
            args = (cx.active(), vector_address(cx, address, "shared"), constant("i32", access.bytes))
            for name in self._asked(cx, kind, "selp"):
                if name == "store":
                    b.call("void", "gs_unset_shared_store", cx.warp, *args)
                else:
                    number, parts = constant("i32", site), self.parts(cx, access)
                    b.call("void", "gs_unset_shared_load", cx.warp, number, *args, parts)

    def local(self, cx: Lowering, site: Value, offsets: Value, access: Access, kind: str) -> None:
        """A lane's own memory. What only goes there again is a struct being copied, parts of which may be unset."""
        b = cx.b
        if "load" not in self._asked(cx, kind, "st.local", "selp") and kind == "load":
            return
        size, store = constant("i32", access.bytes), constant("i32", int(kind == "store"))
        with cx.aside(), b.if_(b.compare("ne", cx.field("local_unset"), constant("i64", 0))):
            b.call("void", "gs_unset_local", cx.warp, site, cx.active(), b.resize(offsets, "i64"), size, store)

    def _asked(self, cx: Lowering, kind: str, *harmless: str) -> tuple[str, ...]:
        """Which of load and store an access is, loads whose values do not matter left out."""
        if kind == "store":
            return ("store",)
        if kind in ("atom", "red"):
            # An exchange that ignores the old value, as a lock that is made free, reads nothing.
            return ("store",) if "exch" in cx.ins.modifiers else ("load", "store")
        return () if self.chosen(cx, *harmless) else ("load",)

    def parts(self, cx: Lowering, access: Access) -> Value:
        """Bytes of an element, and from bit 8 on which elements of a vector something is computed with."""
        if access.count == 1 or access.size < 4 or cx.ins.opcode not in ("ld", "ldu"):
            return constant("i32", 0)
        uses = self._uses_of(cx)
        computed = [
            isinstance(o, Register) and bool(uses.get(o.name, set()) - {"st", "st.local", "selp"})
            for o in _items(cx.ins.operands[0])
        ]
        return constant("i32", access.size | sum(bit << 8 + j for j, bit in enumerate(computed)))

    def chosen(self, cx: Lowering, *harmless: str) -> bool:
        """True where a load's values go to such instructions alone: compilers load ahead of a choice (selp)."""
        if cx.ins.opcode not in ("ld", "ldu"):
            return False
        uses = self._uses_of(cx)
        found = [uses.get(o.name, set()) for o in _items(cx.ins.operands[0]) if isinstance(o, Register)]
        return bool(found) and all(f and f <= set(harmless) for f in found)

    def _uses_of(self, cx: Lowering) -> dict[str, set[str]]:
        key = id(cx.code)
        if key not in self._uses:
            uses: dict[str, set[str]] = {}
            for block in cx.code.blocks:
                for ins in block:
                    for name in cx.code.reads(ins):
                        uses.setdefault(name, set()).add(_role(ins, name))
            self._uses[key] = uses
        return self._uses[key]


def _role(ins: Instruction, name: str) -> str:
    """The opcode, or "other" for a register that decides: an address, a guard, a choice's predicate."""
    if ins.guard is not None and ins.guard.register.name == name:
        return "other"
    if ins.opcode == "selp":
        return "selp" if name in _names(ins.operands[1:3]) and name not in _names(ins.operands[3:]) else "other"
    if ins.opcode == "st":
        stored = name in _names(_items(ins.operands[1]))
        base = ins.operands[0]
        addressed = isinstance(base, Address) and isinstance(base.base, Register) and base.base.name == name
        own = "st.local" if "local" in ins.modifiers else "st"
        return own if stored and not addressed else "other"
    return "other"


def _names(operands: tuple[Operand, ...]) -> set[str]:
    return {o.name for o in operands if isinstance(o, Register)}


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)
