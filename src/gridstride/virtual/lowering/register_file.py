"""The PTX registers of one function: their values in the current block, and stack slots that carry them to others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager

from gridstride.virtual.ir.builder import Builder, Value, wide
from gridstride.virtual.lowering.analysis.affine import Affine
from gridstride.virtual.lowering.analysis.lane_variation import width_of
from gridstride.virtual.lowering.linear_values import spread
from gridstride.virtual.lowering.value_types import llvm_type


class RegisterFile:
    """Registers by name, each in the shape that the analysis gives it: a scalar, a linear form or a vector.

    `types` are their PTX types, `shapes` their shapes, without scalars; None where a register varies freely.
    """

    def __init__(self, b: Builder, types: Mapping[str, str], shapes: Mapping[str, Affine | None]) -> None:
        self.b, self.types, self.shapes = b, types, shapes
        self._slots: dict[str, list[Value]] = {}
        self._in_memory = False
        self._values: dict[str, Value | Affine] = {}
        """What the current block has read or written."""
        self._vectors: dict[str, Value] = {}
        """The same as vectors, of those that were needed as such."""
        self._modified: set[str] = set()

    def keep_slots(self) -> None:
        """Has registers live in memory between blocks: their slots get known outside, so LLVM leaves them there."""
        self._in_memory = True

    def slot(self, type_: str) -> Value:
        """Stack memory for a value that outlives a block."""
        at = self.b.alloca(type_)
        if self._in_memory:
            self.b.entry.append(f'  call void asm sideeffect "", "r"(ptr {at.name})')
        return at

    def shape(self, name: str) -> Affine | None:
        """A register's shape; one that nothing writes is uniform."""
        return self.shapes.get(name, Affine(width_of(self.types[name])))

    def storage(self, name: str) -> str:
        """The LLVM type of a register in one lane."""
        return llvm_type(self.types[name])

    def read(self, name: str) -> Value | Affine:
        """A register in its own shape: a scalar, an Affine over scalars, or a vector."""
        if name not in self._values:
            shape = self.shape(name)
            slots = self._slots_of(name, shape)
            if shape is None:
                self._values[name] = self.b.load(wide(self.storage(name)), slots[0])
            elif shape.uniform:
                self._values[name] = self.b.load(self.storage(name), slots[0])
            else:
                loaded = [self.b.load(f"i{w}", s) for w, s in zip(shape.widths(), slots, strict=True)]
                self._values[name] = shape.rebuild(loaded)
        return self._values[name]

    def read_vector(self, name: str) -> Value:
        """A register with one element per lane."""
        value = self.read(name)
        if isinstance(value, Value) and value.wide:
            return value
        if name not in self._vectors:
            self._vectors[name] = spread(self.b, value) if isinstance(value, Affine) else self.b.splat(value)
        return self._vectors[name]

    def write(self, name: str, value: Value | Affine) -> None:
        """Gives a register a value in its own shape."""
        self._values[name] = value
        self._vectors.pop(name, None)
        self._modified.add(name)

    def _slots_of(self, name: str, shape: Affine | None) -> list[Value]:
        """Where a register lives between blocks; zero until it is written, so that nothing is ever undefined."""
        if name not in self._slots:
            if shape is None:
                types = [wide(self.storage(name))]
            else:
                types = [self.storage(name)] if shape.uniform else [f"i{w}" for w in shape.widths()]
            self._slots[name] = [self.slot(t) for t in types]
            for type_, slot in zip(types, self._slots[name], strict=True):
                self.b.entry.append(f"  store {type_} zeroinitializer, ptr {slot.name}")
        return self._slots[name]

    def begin_block(self) -> None:
        """Starts a block: nothing is known of the registers but what their slots hold."""
        self._values.clear()
        self._vectors.clear()
        self._modified.clear()

    def flush(self, live: AbstractSet[str]) -> None:
        """Stores what the block wrote and a later one may read."""
        for name in sorted(self._modified & live):
            value = self._values[name]
            values = value.scalars() if isinstance(value, Affine) else [value]
            for v, slot in zip(values, self._slots_of(name, self.shapes[name]), strict=True):
                self.b.store(v, slot)

    @contextmanager
    def conditional_code(self) -> Iterator[None]:
        """Code that may not run: what it reads is forgotten after it, as its values do not reach what follows."""
        values, vectors = dict(self._values), dict(self._vectors)
        yield
        self._values, self._vectors = values, vectors
