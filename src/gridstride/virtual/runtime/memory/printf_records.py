"""The runtime's printf and assert: text goes into the launch's output buffer, and Python puts it into words."""

from __future__ import annotations

from typing import Any

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.output_records import ASSERTED, OUTPUT, PRINTED
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64

OTHER, FLAG, LONG, STAR, WORD, WIDE, TEXT = range(7)
"""What a character of a conversion stands for: the end of one without a value, a flag or a digit, a length of 64 bits,
a width taken from the arguments, a value of 4 bytes (8 when long), one of 8 bytes, a string."""

CLASSES = {FLAG: b"-+ #0123456789.h", LONG: b"lqjztL", STAR: b"*", WORD: b"diuxXoc", WIDE: b"fFeEgGaAp", TEXT: b"s"}


def emit_output(m: IrModule) -> None:
    """gs_print and gs_assert."""
    table = bytearray(256)
    for number, characters in CLASSES.items():
        for c in characters:
            table[c] = number
    text = "".join(f"\\{c:02X}" for c in table)
    m.preamble.append(f'@gs_classes = internal constant [256 x i8] c"{text}"')
    _take(m)
    _text(m)
    _format(m)
    _print(m)
    _assert(m)


def row(b: Builder, base: Value, lane: Value, size: int) -> Value:
    """Where a lane's element of a vector in memory is."""
    return b.offset(base, b.resize(lane, "i64") * size)


def _take(m: IrModule) -> None:
    """A new record with room for `size` bytes of text, or null where the buffer is full."""
    head = ("warp* warp", "i32 site", "i32 lane", "i32 kind", "i64 size")
    with m.function("ptr", "gs_output", *head, cold=True) as (b, (warp, site, lane, kind, size)):
        launch = warp.launch
        length = (size + (OUTPUT.size + 7)) & -8
        used = launch.field("output_used")
        at = b.define("i64", f"atomicrmw add ptr {used.name}, i64 {length.name} seq_cst")
        with b.if_(at + length > launch.output_size):
            lost = launch.field("output_lost")
            b.define("i64", f"atomicrmw add ptr {lost.name}, i64 1 seq_cst")
            b.ret(NULL)
        record = b.record(b.offset(launch.output, at), OUTPUT)
        index = warp.block.index
        fields = {"size": b.resize(length, "i32"), "kind": kind, "block": index, "warp": warp.warp,
                  "lane": lane, "line": i32(0), "site": site}  # fmt: skip
        for name, value in fields.items():
            b.put(record, OUTPUT, name, value)
        b.ret(record)


def _byte(b: Builder, warp: Record, site: Value, lane: Value, address: Value) -> Value:
    # Looked up each time: what a site remembers holds for accesses of one size, and this one has several.
    pointer = b.call("ptr", "gs_lookup", warp, site, lane, address, i32(1))
    return b.load("i8", pointer)


def _put(b: Builder, out: Value, room: Value, at: Value, value: Value) -> None:
    """Writes `value` at the offset held in `at`, where the record has room for it, and moves on.

    A text is read twice, to know how long it is and to copy it; meanwhile another block may make it longer.
    """
    used, size = b.load("i64", at), i64(int(value.type[1:]) // 8)
    end = used + size
    with b.if_(end <= room):
        b.store(value, b.offset(out, used), align=1)
    b.store(end, at)


def _text(m: IrModule) -> None:
    """Copies a string with its end to the `room` bytes at `out`; gives its length, the end included."""
    head = ("warp* warp", "i32 site", "i32 lane", "i64 address", "ptr out", "i64 room")
    with m.function("i64", "gs_text", *head, cold=True) as (b, (warp, site, lane, address, out, room)):
        at = b.alloca("i64")
        b.store(i64(0), at)
        with b.loop() as done:
            c = _byte(b, warp, site, lane, address + b.load("i64", at))
            _put(b, out, room, at, c)
            b.break_if(c == 0, done)
        b.ret(b.load("i64", at))


class _Format:
    """Walks a format string once: copies it to `out`, each value behind its conversion."""

    def __init__(self, b: Builder, args: list[Any]) -> None:
        self.b = b
        self.warp, self.site, self.lane, self.format, self.arguments, self.out, self.room = args
        self.format_offset, self.argument_offset, self.at, self.count = (b.alloca("i64") for _ in range(4))
        self.long = b.alloca("i32")
        for slot in (self.format_offset, self.argument_offset, self.at, self.count):
            b.store(i64(0), slot)

    def character(self) -> Value:
        """The next character, copied."""
        b = self.b
        at = b.load("i64", self.format_offset)
        c = _byte(b, self.warp, self.site, self.lane, self.format + at)
        b.store(at + 1, self.format_offset)
        _put(b, self.out, self.room, self.at, c)
        return c

    def class_of(self, c: Value) -> Value:
        b = self.b
        return b.load("i8", b.offset(Value("@gs_classes", "ptr"), b.resize(c, "i64")))

    def value(self, size: int) -> Value:
        """The next argument of 4 or 8 bytes, aligned to that, as an i64."""
        b = self.b
        at = (b.load("i64", self.argument_offset) + (size - 1)) & -size
        b.store(at + size, self.argument_offset)
        b.store(b.load("i64", self.count) + 1, self.count)
        address = self.arguments + at
        pointer = b.call("ptr", "gs_lookup", self.warp, self.site, self.lane, address, i32(size))
        return b.resize(b.load(f"i{8 * size}", pointer), "i64", signed=True)

    def conversion(self) -> None:
        """After a %: flags, then the letter with its value."""
        b = self.b
        b.store(i32(0), self.long)
        with b.loop() as done:
            kind = self.class_of(self.character())
            with b.if_(_is(b, kind, LONG)):
                b.store(i32(1), self.long)
            with b.if_(_is(b, kind, STAR)):
                _put(b, self.out, self.room, self.at, self.value(4))
            flag = kind - FLAG
            more = flag <= STAR - FLAG
            with b.if_(~more):
                self.letter(kind)
            b.break_if(~more, done)

    def letter(self, kind: Value) -> None:
        b = self.b
        long = b.load("i32", self.long) != 0
        word = _is(b, kind, WORD)
        with b.if_(word & ~long):
            _put(b, self.out, self.room, self.at, self.value(4))
        with b.if_((word & long) | _is(b, kind, WIDE)):
            _put(b, self.out, self.room, self.at, self.value(8))
        with b.if_(_is(b, kind, TEXT)):
            self.string(self.value(8))

    def string(self, address: Value) -> None:
        """A string's characters with their end; one without an address prints as (null)."""
        b = self.b
        used = b.load("i64", self.at)
        null = address == 0
        with b.if_(null):
            for c in b"(null)\0":
                _put(b, self.out, self.room, self.at, constant("i8", c))
        with b.if_(~null):
            remaining = b.intrinsic("usub.sat", self.room, used)
            to = b.offset(self.out, used)
            length = b.call("i64", "gs_text", self.warp, self.site, self.lane, address, to, remaining)
            b.store(used + length, self.at)


def _is(b: Builder, kind: Value, character: int) -> Value:
    return kind == character


def _format(m: IrModule) -> None:
    """Gives the bytes a printf needs, and in the upper half how many values it takes."""
    head = ("warp* warp", "i32 site", "i32 lane", "i64 format", "i64 arguments", "ptr out", "i64 room")
    with m.function("i64", "gs_format", *head, cold=True) as (b, args):
        walk = _Format(b, args)
        with b.loop() as done:
            c = walk.character()
            b.break_if(_is(b, c, 0), done)
            with b.if_(_is(b, c, ord("%"))):
                walk.conversion()
        count = b.load("i64", walk.count) << 32
        b.ret(count | b.load("i64", walk.at))


def _print(m: IrModule) -> None:
    """printf of the lanes of `mask`, the lowest first; formats and arguments are addresses, 32 of each."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr formats", "ptr arguments", "ptr results")
    with (
        m.function("void", "gs_print", *head, cold=True) as (b, (warp, site, mask, formats, arguments, results)),
        b.lanes(mask) as lane,
    ):
        result = row(b, results, lane, 4)
        b.store(i32(-1), result)
        text, values = (b.load("i64", row(b, v, lane, 8)) for v in (formats, arguments))
        with b.if_(text != 0):
            null = NULL
            need = b.call("i64", "gs_format", warp, site, lane, text, values, null, i64(0))
            b.store(b.resize(need >> 32, "i32"), result)
            size = need & 0xFFFFFFFF
            record = b.call("ptr", "gs_output", warp, site, lane, i32(PRINTED), size)
            with b.if_(record != null):
                b.call("i64", "gs_format", warp, site, lane, text, values, b.offset(record, OUTPUT.size), size)


def _assert(m: IrModule) -> None:
    """__assertfail: a record for each lane that failed, then the end of the launch."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr texts", "ptr lines")
    with m.function("void", "gs_assert", *head, cold=True) as (b, (warp, site, mask, texts, lines)):
        null = NULL
        with b.if_(mask == 0):
            b.ret()
        with b.lanes(mask) as lane:
            addresses = [b.load("i64", b.offset(row(b, texts, lane, 8), 8 * 32 * j)) for j in range(3)]
            lengths = [b.call("i64", "gs_text", warp, site, lane, a, null, i64(0)) for a in addresses]
            size = lengths[0] + lengths[1] + lengths[2]
            record = b.record(b.call("ptr", "gs_output", warp, site, lane, i32(ASSERTED), size), OUTPUT)
            with b.if_(record != null):
                record.line = b.load("i32", row(b, lines, lane, 4))
                to = b.offset(record, OUTPUT.size)
                for address, length in zip(addresses, lengths, strict=True):
                    b.call("i64", "gs_text", warp, site, lane, address, to, length)
                    to = b.offset(to, length)
        b.call("void", "gs_fault", warp, site, i32(FAULT["assert"]), mask, i64(0), i32(0))
