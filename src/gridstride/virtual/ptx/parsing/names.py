"""Which name means what: module names, the nested scopes of a body, and the labels of each scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gridstride.virtual.ptx.module import Operand, Register, Special, Vector
from gridstride.virtual.ptx.parsing.cursor import Cursor
from gridstride.virtual.ptx.syntax_errors import nearest, shown

# Components that a special register may have; the others have none.
_THREE = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
_PLAIN = (
    *("laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "cluster_ctarank", "cluster_nctarank"),
    *("is_explicit_cluster", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt"),
    *("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"),
    *("total_smem_size", "aggr_smem_size", "dynamic_smem_size", "current_graph_exec"),
    *("reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap"),
    *("reserved_smem_offset_0", "reserved_smem_offset_1"),
)


def _specials() -> dict[str, Operand]:
    plain = (*_PLAIN, *_THREE, *(f"envreg{i}" for i in range(32)))
    counters = (f"pm{i}{suffix}" for i in range(8) for suffix in ("", "_64"))
    specials: dict[str, Operand] = {f"%{name}": Special(name) for name in (*plain, *counters)}
    specials |= {f"%{name}.{axis}": Special(name, axis) for name in _THREE for axis in "xyzw"}
    specials |= {
        f"%{name}.{old}": Special(name, axis) for name in _THREE for old, axis in zip("rgba", "xyzw", strict=True)
    }
    return specials


SPECIALS: dict[str, Operand] = _specials()

MAX_REGISTERS = 1 << 18  # a function; unrolled kernels reach some tens of thousands
MAX_DEPTH = 256  # nested scopes

_Fix = Callable[[str], None]


class Names:
    """All visible names of a function body. Register and variable names share one table, labels have their own.

    `visible` maps a name to its operand; leaving a scope restores what it hid. Names that clash with one already used
    in the function are made unique, `name~2`.
    """

    def __init__(self, cursor: Cursor, outer: dict[str, Operand], element_sizes: dict[str, int]) -> None:
        self.cursor = cursor
        self.visible = outer
        self.element_sizes = element_sizes  # bytes of one element, by key of the variable
        self.registers: dict[str, str] = {}
        self._used_names: set[str] = set()
        self._hidden: list[dict[str, Operand | None]] = [{}]
        self._labels: list[dict[str, str]] = [{}]
        self._pending: list[list[tuple[str, int, _Fix]]] = [[]]
        self._taken_labels: set[str] = set()
        self._again: dict[str, int] = {}

    def open(self) -> None:
        """Enter a nested scope."""
        if len(self._hidden) >= MAX_DEPTH:
            raise self.cursor.error(f"scopes nested more than {MAX_DEPTH} deep")
        self._hidden.append({})
        self._labels.append({})
        self._pending.append([])

    def close(self) -> None:
        """Leave the innermost scope: settle the labels it knows, hand the others outwards, restore hidden names."""
        labels = self._labels.pop()
        outer = self._pending[-2] if len(self._pending) > 1 else None
        for name, at, fix in self._pending.pop():
            if name in labels:
                fix(labels[name])
            elif outer is None:
                raise self.cursor.error(f"undefined label {shown(name)}{nearest(name, labels)}", at)
            else:
                outer.append((name, at, fix))
        for name, operand in self._hidden.pop().items():
            if operand is None:
                del self.visible[name]
            else:
                self.visible[name] = operand

    def declare(self, name: str, make: Callable[[str], Operand], at: int) -> str:
        """Add a name to the innermost scope. `make` gives the operand for its unique key, which is returned."""
        hidden = self._hidden[-1]
        if name in hidden:
            raise self.cursor.error(f"{shown(name)} is defined twice in this scope", at)
        hidden[name] = self.visible.get(name)
        key = self._unique(name, self._used_names, clash=hidden[name] is not None)
        self._used_names.add(key)
        self.visible[name] = make(key)
        return key

    def register(self, name: str, kind: str, width: int, at: int) -> None:
        """Declare a register; a vector one (`width` 2 or 4) becomes scalar ones with .x, .y, … and their Vector."""
        if name in SPECIALS:
            raise self.cursor.error(f"{shown(name)} is a special register and cannot be declared", at)
        if len(self.registers) + width > MAX_REGISTERS:
            raise self.cursor.error(f"more than {MAX_REGISTERS} registers in one function", at)
        if width == 1:
            if name in self.visible or name in self._used_names:
                self.registers[self.declare(name, Register, at)] = kind
                return
            self._hidden[-1][name] = None  # the common case of `declare`: kernels have thousands
            self._used_names.add(name)
            self.visible[name] = Register(name)
            self.registers[name] = kind
            return
        key = self.declare(name, lambda key: Vector(tuple(Register(f"{key}.{axis}") for axis in "xyzw"[:width])), at)
        for axis, colour in zip("xyzw"[:width], "rgba", strict=False):
            part = f"{key}.{axis}"
            self.registers[part] = kind
            for alias in (f"{name}.{axis}", f"{name}.{colour}"):
                self._hidden[-1][alias] = self.visible.get(alias)
                self.visible[alias] = Register(part)

    def label(self, name: str, at: int) -> str:
        """Define a label in the innermost scope; its unique name."""
        if name in self._labels[-1]:
            raise self.cursor.error(f"label {shown(name)} is defined twice in this scope", at)
        key = self._labels[-1][name] = self._unique(name, self._taken_labels, clash=False)
        self._taken_labels.add(key)
        return key

    def refer(self, name: str, at: int, fix: _Fix) -> None:
        """Note a use of a label; `fix` is called with its unique name when the scope that defines it ends."""
        self._pending[-1].append((name, at, fix))

    def unknown(self, name: str, at: int) -> Exception:
        """The error for a name that means nothing here."""
        candidates: Iterable[str] = (*self.visible, *SPECIALS) if name.startswith("%") else self.visible
        what = "register" if name.startswith("%") else "name"
        return self.cursor.error(f"undefined {what} {shown(name)}{nearest(name, candidates)}", at)

    def _unique(self, name: str, used: set[str], *, clash: bool) -> str:
        if not clash and name not in used:
            return name
        number = self._again.get(name, 1)
        while True:
            number += 1
            if f"{name}~{number}" not in used:
                self._again[name] = number
                return f"{name}~{number}"
