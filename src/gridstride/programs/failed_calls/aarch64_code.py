"""Instructions of AArch64 as far as `result_use` asks: do they read or write w0, where do they go on.

x0 carries the first argument too: a call with x0 as it was counts as a use, as the result may be handed on. Encodings
are those of the Arm Architecture Reference Manual, C4.1.
"""

from __future__ import annotations

from gridstride.programs.failed_calls.result_use import UNKNOWN, MachineInstruction

_RESULT = 0
_SIZE = 4


def decoded(code: bytes, address: int) -> MachineInstruction:
    """The instruction that the code begins with."""
    if len(code) < _SIZE:
        return UNKNOWN
    word = int.from_bytes(code[:_SIZE], "little")
    if word & 0xFFFFF01F == 0xD503201F:  # hints: nop, bti, pac
        return _access((), None)
    if word & 0x1C000000 == 0x14000000:
        return _branch(word, address)
    if word & 0x1C000000 == 0x10000000:
        return _of_immediate(word)
    if word & 0x0A000000 == 0x08000000:
        return _of_memory(word)
    if word & 0x0E000000 == 0x0A000000:
        return _of_registers(word)
    if word & 0x9FF80400 == 0x0F000400:  # a vector of one constant
        return _access((), None)
    if word & 0x0E000000 == 0x0E000000 and _RESULT not in (_rd(word), _rn(word)):  # either may be a general register
        return _access((), None)
    return UNKNOWN


def _access(reads: tuple[int, ...], *writes: int | None) -> MachineInstruction:
    return MachineInstruction(_SIZE, "uses" if _RESULT in reads else "drops" if _RESULT in writes else "goes_on")


def _rd(word: int) -> int:
    return word & 31


def _rn(word: int) -> int:
    return word >> 5 & 31


def _rm(word: int) -> int:
    return word >> 16 & 31


def _signed(word: int, low: int, bits: int) -> int:
    """A distance in instructions, as bytes."""
    value = word >> low & (1 << bits) - 1
    return _SIZE * (value - (1 << bits) if value >> bits - 1 else value)


def _branch(word: int, address: int) -> MachineInstruction:
    if word & 0x7C000000 == 0x14000000:  # b, bl
        return (
            MachineInstruction(_SIZE, "uses")
            if word >> 31
            else MachineInstruction(_SIZE, "jumps", address + _signed(word, 0, 26))
        )
    if word & 0xFF000010 == 0x54000000:  # b.cond
        return MachineInstruction(_SIZE, "branches", address + _signed(word, 5, 19))
    if word & 0x7C000000 == 0x34000000:  # cbz and tbz, of a register's value
        target = address + _signed(word, 5, 14 if word & 0x02000000 else 19)
        return (
            MachineInstruction(_SIZE, "uses") if _rd(word) == _RESULT else MachineInstruction(_SIZE, "branches", target)
        )
    return UNKNOWN  # ret, br and blr among them


def _of_immediate(word: int) -> MachineInstruction:
    kind = word >> 23 & 7
    if kind < 2:  # adr
        return _access((), _rd(word))
    if kind == 5:  # movn, movz; movk leaves the other bits
        return _access((_rd(word),) if word >> 29 & 3 == 3 else (), _rd(word))
    if kind == 7:  # extr
        return _access((_rn(word), _rm(word)), _rd(word))
    keeps = kind == 6 and word >> 29 & 3 == 1  # bfm
    return _access((_rn(word), _rd(word)) if keeps else (_rn(word),), _rd(word))


def _of_registers(word: int) -> MachineInstruction:
    """What is no register in these places (a constant, another opcode) counts as one: so a result may seem used."""
    if word & 0x1F000000 == 0x1B000000:  # multiply and add
        return _access((_rn(word), _rm(word), word >> 10 & 31), _rd(word))
    if word & 0x1FE00000 == 0x1A400000:  # ccmp writes flags alone
        return _access((_rn(word), _rm(word)), None)
    return _access((_rn(word), _rm(word)), _rd(word))


def _of_memory(word: int) -> MachineInstruction:
    vector, loads = bool(word >> 26 & 1), bool(word >> 22 & 1)
    if word & 0x3B000000 == 0x18000000:  # ldr of a constant beside the code
        return _access((), None if vector or word >> 30 == 3 else _rd(word))
    if word & 0x3A000000 == 0x28000000:  # pairs
        pair = () if vector else (_rd(word), word >> 10 & 31)
        return _access((_rn(word),), *pair) if loads else _access((_rn(word), *pair), None)
    if word & 0x3A000000 != 0x38000000:
        return UNKNOWN
    by_register = not word >> 24 & 1 and bool(word >> 21 & 1)
    if by_register and word >> 10 & 3 != 2:  # atomics, and loads by signed pointers
        return UNKNOWN
    address = (_rn(word), _rm(word)) if by_register else (_rn(word),)
    if vector or word & 0xC0C00000 == 0xC0800000:  # prfm
        return _access(address, None)
    return _access(address, _rd(word)) if word >> 22 & 3 else _access((*address, _rd(word)), None)
