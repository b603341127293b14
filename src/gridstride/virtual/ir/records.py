"""Records: pointers whose layout is known, with the layout's fields as attributes.

`warp.state` loads, `warp.state = WAITING` stores, `warp.tid[axis]` is one of an array, and `warp.field("sp")` the
address of a field. A pointer that a layout declares with its target (`block:block*`) is a record again,
`warp.block.epoch`. As in C, `block.warps[i]` is the i-th record from there on. A function names a record among its
parameters as it does there: `m.function("void", "gs_wait", "warp* warp", "i64 token")`.
"""

from __future__ import annotations

from typing import NoReturn, cast

from gridstride.virtual.abi.layout import SIZES, Layout
from gridstride.virtual.abi.layout_table import target_layout
from gridstride.virtual.ir.values import Value, ValueBuilder, constant


class Record(Value):
    """A pointer of known layout: it has the layout's fields as attributes."""

    __slots__ = ("_layout",)
    _layout: Layout
    _writer: ValueBuilder

    def __init__(self, pointer: Value, layout: Layout, writer: ValueBuilder) -> None:
        for slot, content in (("name", pointer.name), ("type", pointer.type), ("_writer", writer), ("_layout", layout)):
            object.__setattr__(self, slot, content)

    def __getattr__(self, name: str) -> Record:
        layout = self._with(name)
        return self._get(name, 0) if layout.count[name] == 1 else cast("Record", Elements(self, name))

    def __setattr__(self, name: str, value: Value | int) -> None:
        layout = self._with(name)
        if layout.count[name] > 1:
            raise TypeError(f"{name} of {layout.name} is an array of {layout.count[name]}: set one of its elements")
        self._put(name, value, 0)

    def __getitem__(self, index: Value | int) -> Record:
        """The record that lies so many records further on."""
        return Record(self._moved(self, index, self._layout.size), self._layout, self._writer)

    def __setitem__(self, index: Value | int, value: Value | int) -> None:
        raise TypeError(f"{self!r} is no array in a record: set a field of one of its records")

    def field(self, name: str, index: Value | int = 0) -> Value:
        """The address of a field, or of an element of an array."""
        layout = self._with(name)
        size = SIZES[layout.type[name]]
        if isinstance(index, int):
            return self._writer.offset(self, layout.offset[name] + size * index)
        return self._moved(self._writer.offset(self, layout.offset[name]), index, size)

    def _moved(self, pointer: Value, index: Value | int, size: int) -> Value:
        by = index * size if isinstance(index, int) else self._writer.op("mul", index, constant(index.type, size))
        return self._writer.offset(pointer, by)

    def _with(self, name: str) -> Layout:
        """The layout, which has a field of this name."""
        if name not in self._layout.offset:
            raise AttributeError(f"{self._layout.name} has no field {name!r}: {', '.join(self._layout.offset)}")
        return self._layout

    def _get(self, name: str, index: Value | int) -> Record:
        """What is there: a Record for a pointer with a target, else a Value. Only the layout knows, so mypy is told of
        a Record. (A Value, for Python hands `value < record` to the record, as of a subclass.)
        """
        layout = self._with(name)
        value, target = self._writer.load(layout.type[name], self.field(name, index)), target_layout(layout, name)
        return cast("Record", Record(value, target, self._writer) if target else value)

    def _put(self, name: str, value: Value | int, index: Value | int) -> None:
        layout = self._with(name)
        if isinstance(value, int) and layout.type[name] != "ptr":
            value = constant(layout.type[name], value)
        if isinstance(value, int) or value.type != layout.type[name]:
            raise TypeError(f"{name} of {layout.name} is of type {layout.type[name]}, not {value!r}")
        self._writer.store(value, self.field(name, index))


class Elements:
    """An array in a record: `warp.tid[axis]`. Only its elements are values."""

    __slots__ = ("_name", "_record")

    def __init__(self, record: Record, name: str) -> None:
        self._record, self._name = record, name

    def __getitem__(self, index: Value | int) -> Record:
        return self._record._get(self._name, index)

    def __setitem__(self, index: Value | int, value: Value | int) -> None:
        self._record._put(self._name, value, index)

    def __getattr__(self, attribute: str) -> NoReturn:
        raise TypeError(f"{self._name} is an array: index it, or take its address with .field({self._name!r})")
