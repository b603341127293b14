"""Instructions of x86-64 as far as `result_use` asks: do they read or write eax, where do they go on."""

from __future__ import annotations

from gridstride.programs.failed_calls.result_use import UNKNOWN, MachineInstruction

_PREFIXES = frozenset(b"\x26\x2e\x36\x3e\x64\x65\x66\xf2\xf3")
_RAX, _RSP = 0, 4

# Of opcodes, one byte and behind 0F: which have a ModRM byte, and how long their immediate is.
_ALU = frozenset(code for base in range(0x00, 0x40, 8) for code in range(base, base + 4))
_IMMEDIATE_1 = frozenset({0x6A, 0x6B, 0x80, 0x83, 0xC0, 0xC1, 0xC6, 0xEB, *range(0x70, 0x80), *range(0xB0, 0xB8)})
_IMMEDIATE_4 = frozenset({0x68, 0x69, 0x81, 0xC7, 0xE8, 0xE9, *range(0xB8, 0xC0)})
_GROUPS = frozenset({0x80, 0x81, 0x83, 0xC0, 0xC1, 0xC6, 0xC7, *range(0xD0, 0xD4), 0xF6, 0xF7, 0xFE, 0xFF})
"""Their reg field is a part of the opcode."""
_MODRM = _ALU | _GROUPS | {0x63, 0x69, 0x6B, *range(0x80, 0x90)}
_LOADS = frozenset({0x63, 0x8B, 0x8D})
"""Write the register in reg and read what is in r/m."""
_LOADS_0F = frozenset({0xB6, 0xB7, 0xBE, 0xBF})
_VECTORS_0F = frozenset({*range(0x10, 0x18), 0x28, 0x29, 0x2A, *range(0x51, 0x80), 0xC6, 0xD6, *range(0xD0, 0x100)})
_IMMEDIATE_0F = frozenset({0x70, 0xA4, 0xAC, 0xBA, 0xC6})
_NOPS_0F = frozenset({0x0D, 0x18, 0x1E, 0x1F})
_SIMPLE = frozenset({0x90, *range(0x51, 0x58), *range(0x59, 0x60)})
"""One byte, and nothing of rax: no-operation, push and pop of the others."""


def decoded(code: bytes, address: int) -> MachineInstruction:
    """The instruction that the code begins with."""
    at, rex = 0, 0
    operand_16 = False
    while at < len(code) and code[at] in _PREFIXES:
        operand_16 |= code[at] == 0x66
        at += 1
    if at < len(code) and code[at] & 0xF0 == 0x40:
        rex, at = code[at], at + 1
    if at >= len(code):
        return UNKNOWN
    opcode, at = code[at], at + 1
    if opcode == 0x0F:
        return _decoded_0f(code, at, rex, address)
    if opcode in (0xE8, 0xE9, 0xEB) or 0x70 <= opcode < 0x80:
        return _branch(code, at, opcode, address)
    if opcode in _SIMPLE or (rex & 1 and opcode in (0x50, 0x58)):
        return MachineInstruction(at, "goes_on")
    if 0xB8 <= opcode < 0xC0:
        length = at + (8 if rex & 8 else 2 if operand_16 else 4)
        return MachineInstruction(length, "drops" if opcode == 0xB8 and not rex & 1 else "goes_on")
    if opcode == 0x58:
        return MachineInstruction(at, "drops")
    if opcode not in _MODRM:
        return UNKNOWN
    return _with_operands(code, at, rex, opcode, operand_16=operand_16)


def _with_operands(code: bytes, at: int, rex: int, opcode: int, *, operand_16: bool) -> MachineInstruction:
    operands = _operands(code, at, rex)
    if operands is None:
        return UNKNOWN
    length, reg, register, addresses = operands
    group = code[at] >> 3 & 7
    length += 1 if opcode in _IMMEDIATE_1 else (2 if operand_16 else 4) if opcode in _IMMEDIATE_4 else 0
    if opcode in (0xF6, 0xF7) and group < 2:  # TEST has an immediate
        length += 1 if opcode == 0xF6 else 4
    if opcode in (0xF6, 0xF7) and group >= 4:  # multiplies and divides rax
        return MachineInstruction(length, "uses")
    if opcode == 0xFF and group in (2, 4):  # a call or a jump
        return MachineInstruction(
            length, "unknown" if group == 4 else "uses" if _RAX in (register, *addresses) else "drops"
        )
    if opcode in (0x31, 0x33) and reg == register == _RAX:
        return MachineInstruction(length, "drops")
    if _RAX in addresses:
        return MachineInstruction(length, "uses")
    if opcode in _LOADS:
        return MachineInstruction(length, "uses" if register == _RAX else "drops" if reg == _RAX else "goes_on")
    if opcode in (0x89, 0xC7) and register == _RAX:
        return MachineInstruction(length, "uses" if opcode == 0x89 and reg == _RAX else "drops")
    touched = (register,) if opcode in _GROUPS else (reg, register)
    return MachineInstruction(length, "uses" if _RAX in touched else "goes_on")


def _decoded_0f(code: bytes, at: int, rex: int, address: int) -> MachineInstruction:
    if at >= len(code):
        return UNKNOWN
    opcode, at = code[at], at + 1
    if 0x80 <= opcode < 0x90:
        to = int.from_bytes(code[at : at + 4], "little", signed=True)
        return MachineInstruction(at + 4, "branches", address + at + 4 + to)
    operands = _operands(code, at, rex)
    if operands is None or opcode not in _LOADS_0F | _VECTORS_0F | _NOPS_0F:
        return UNKNOWN
    length, reg, register, addresses = operands
    length += opcode in _IMMEDIATE_0F
    if opcode in _NOPS_0F:
        return MachineInstruction(length, "goes_on")
    if _RAX in addresses:
        return MachineInstruction(length, "uses")
    if opcode in _LOADS_0F:
        return MachineInstruction(length, "uses" if register == _RAX else "drops" if reg == _RAX else "goes_on")
    # of vectors: an r/m that is a register may be a general one
    return MachineInstruction(length, "unknown" if register == _RAX and opcode in (0x2A, 0x6E, 0x7E) else "goes_on")


def _branch(code: bytes, at: int, opcode: int, address: int) -> MachineInstruction:
    size = 4 if opcode in (0xE8, 0xE9) else 1
    length = at + size
    target = address + length + int.from_bytes(code[at:length], "little", signed=True)
    if opcode == 0xE8:  # rax carries no argument
        return MachineInstruction(length, "drops")
    return MachineInstruction(length, "jumps" if opcode in (0xE9, 0xEB) else "branches", target)


def _operands(code: bytes, at: int, rex: int) -> tuple[int, int, int | None, tuple[int, ...]] | None:
    """Of the ModRM byte at `at`: length so far, reg, the register in r/m or None, and those of an address."""
    if at + 6 > len(code):
        return None
    mod, reg, low = code[at] >> 6, code[at] >> 3 & 7 | (rex & 4) << 1, code[at] & 7
    at += 1
    if mod == 3:
        return at, reg, low | (rex & 1) << 3, ()
    addresses: list[int] = []
    displacement = (0, 1, 4)[mod]
    if low == _RSP:
        base, index = code[at] & 7, code[at] >> 3 & 7 | (rex & 2) << 2
        at += 1
        addresses += [index] if index != _RSP else []
        if mod == 0 and base == 5:
            displacement = 4
        else:
            addresses.append(base | (rex & 1) << 3)
    elif mod == 0 and low == 5:  # relative to the instruction
        displacement = 4
    else:
        addresses.append(low | (rex & 1) << 3)
    return at + displacement, reg, None, tuple(addresses)
