"""C's printf on values the kernel has written down: conversions as glibc's, which the CUDA runtime calls on the host.

The text is the format with each argument behind the letter (or `*`) that asks for it: eight bytes, or a string with its
end.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, replace

LENGTHS = b"hlqjztL"


@dataclass(frozen=True, slots=True)
class PrintfSpec:
    """One conversion: its flags, width (negative: to the left), precision (None: none given), length, letter."""

    flags: str
    width: int
    precision: int | None
    length: str
    letter: str


def rendered(text: bytes) -> bytes:
    """The characters that a printf's record stands for."""
    reader, out = _Reader(text), bytearray()
    while (c := reader.byte()) != 0:
        if c != ord("%"):
            out.append(c)
            continue
        spec = reader.spec()
        if spec is None:
            break
        out += _converted(spec, reader)
    return bytes(out)


class _Reader:
    """Past the end all is 0: a text that another block changed while it was copied may lack its own end."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0

    def byte(self) -> int:
        self.at += 1
        return self.text[self.at - 1] if self.at <= len(self.text) else 0

    def value(self) -> int:
        """Eight bytes as a signed number."""
        self.at += 8
        return int.from_bytes(self.text[self.at - 8 : self.at], "little", signed=True)

    def string(self) -> bytes:
        end = self.text.find(0, self.at)
        end = len(self.text) if end < 0 else end
        text, self.at = self.text[self.at : end], end + 1
        return text

    def spec(self) -> PrintfSpec | None:
        """What stands between a % and its letter; None where the text ends in it."""
        flags, c = "", self.byte()
        while c in b"-+ #0" and c:
            flags, c = flags + chr(c), self.byte()
        width, c = self._number(c)
        precision = None
        if c == ord("."):
            precision, c = self._number(self.byte())
        length = ""
        while c in LENGTHS and c:
            length, c = length + chr(c), self.byte()
        if not c:
            return None
        return PrintfSpec(flags, width, None if precision is not None and precision < 0 else precision, length, chr(c))

    def _number(self, c: int) -> tuple[int, int]:
        """A width or precision and the character behind it; `*` takes an argument."""
        if c == ord("*"):
            return self.value(), self.byte()
        number = 0
        while 48 <= c <= 57:
            number, c = 10 * number + c - 48, self.byte()
        return number, c


def _converted(spec: PrintfSpec, reader: _Reader) -> bytes:
    if spec.width < 0:
        spec = replace(spec, flags=spec.flags + "-", width=-spec.width)
    match spec.letter:
        case "%":
            return b"%"
        case "d" | "i" | "u" | "o" | "x" | "X":
            return _padded(spec, *_integer(spec, reader.value()))
        case "c":
            return _padded(replace(spec, flags=spec.flags.replace("0", "")), "", chr(reader.value() & 255))
        case "s":
            return _padded(replace(spec, flags=spec.flags.replace("0", "")), "", _text(spec, reader.string()))
        case "p":
            return _padded(replace(spec, flags=spec.flags.replace("0", "")), "", _pointer(reader.value()))
        case "f" | "F" | "e" | "E" | "g" | "G" | "a" | "A":
            return _real(spec, reader.value())
    return f"%{spec.letter}".encode("latin-1")


def _padded(spec: PrintfSpec, prefix: str, body: str) -> bytes:
    """A sign or 0x, then the body, on the width that is asked for."""
    missing = max(0, spec.width - len(prefix) - len(body))
    if "-" in spec.flags:
        text = prefix + body + " " * missing
    elif "0" in spec.flags:
        text = prefix + "0" * missing + body
    else:
        text = " " * missing + prefix + body
    return text.encode("latin-1")


def _text(spec: PrintfSpec, text: bytes) -> str:
    return text[: spec.precision].decode("latin-1")


def _pointer(value: int) -> str:
    return f"{value & (1 << 64) - 1:#x}" if value else "(nil)"


def _sign(spec: PrintfSpec, negative: bool) -> str:
    return "-" if negative else "+" if "+" in spec.flags else " " if " " in spec.flags else ""


def _integer(spec: PrintfSpec, value: int) -> tuple[str, str]:
    """Sign or 0x, and the digits; a precision is the least number of digits."""
    bits = {"hh": 8, "h": 16, "": 32}.get(spec.length, 64)
    value &= (1 << bits) - 1
    signed = spec.letter in "di"
    negative = signed and value >> (bits - 1) == 1
    size = (1 << bits) - value if negative else value
    digits = format(size, {"o": "o", "x": "x", "X": "X"}.get(spec.letter, "d"))
    if spec.precision is not None:
        digits = "" if not size and not spec.precision else digits.rjust(spec.precision, "0")
    if "#" in spec.flags and spec.letter == "o" and not digits.startswith("0"):
        digits = "0" + digits
    prefix = _sign(spec, negative) if signed else ""
    if "#" in spec.flags and spec.letter in "xX" and size:
        prefix = f"0{spec.letter}"
    missing = spec.width - len(prefix) - len(digits)
    # With a precision C ignores the flag 0; spaces in front of the sign are put here, where the flag is known.
    if spec.precision is not None and "0" in spec.flags and "-" not in spec.flags:
        prefix = " " * max(0, missing) + prefix
    return prefix, digits


def _real(spec: PrintfSpec, bits: int) -> bytes:
    x = struct.unpack("<d", struct.pack("<q", bits))[0]
    negative = math.copysign(1.0, x) < 0
    prefix, letter = _sign(spec, negative), spec.letter
    if not math.isfinite(x):
        name = "nan" if math.isnan(x) else "inf"
        flags = spec.flags.replace("0", "")
        return _padded(replace(spec, flags=flags), prefix, name.upper() if letter.isupper() else name)
    if letter in "aA":
        prefix, body = prefix + "0x", _hexadecimal(abs(x), spec)
        return _padded(spec, *((prefix.upper(), body.upper()) if letter == "A" else (prefix, body)))
    precision = 6 if spec.precision is None else spec.precision
    form = f"%{'#' if '#' in spec.flags else ''}.{precision}{letter}"
    return _padded(spec, prefix, form % abs(x))


def _hexadecimal(x: float, spec: PrintfSpec) -> str:
    """A positive number as h.hhhp±d, rounded to even at the precision, else with the digits it needs."""
    mantissa, _, exponent = x.hex()[2:].partition("p")
    lead, _, digits = mantissa.partition(".")
    if spec.precision is None:
        digits = digits.rstrip("0")
    else:
        number = int(lead + digits, 16)
        drop = 4 * (len(digits) - spec.precision)
        if drop > 0:
            half, dropped = 1 << (drop - 1), number & ((1 << drop) - 1)
            number >>= drop
            number += dropped > half or (dropped == half and number & 1)
            text = format(number, "x").rjust(spec.precision + 1, "0")
            lead, digits = text[: len(text) - spec.precision], text[len(text) - spec.precision :]
        else:
            digits = digits.ljust(spec.precision, "0")
    point = "." if digits or "#" in spec.flags else ""
    return f"{lead}{point}{digits}p{exponent}"
