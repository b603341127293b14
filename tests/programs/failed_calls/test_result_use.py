"""Code as clang writes it behind a call, byte for byte: is what the call returned looked at?"""

from __future__ import annotations

import pytest

from gridstride.programs.failed_calls.result_use import is_result_dropped
from gridstride.programs.failed_calls.x86_64_code import decoded

CODES = {
    "test eax, eax": ("85c0", False),
    "cmp eax, 2": ("83f802", False),
    "mov ebx, eax": ("89c3", False),
    "mov r12d, eax": ("4189c4", False),
    "mov [rsp + 12], eax": ("8944240c", False),
    "movsxd rdi, eax": ("4863f8", False),
    "lea rdi, [rsp + 8]; test eax, eax": ("488d7c2408 85c0", False),
    "mov edi, eax; call": ("89c7 e800000000", False),
    "add ebx, eax": ("01c3", False),
    "ret: the caller may look": ("c3", False),
    "add rsp, 8; ret": ("4883c408 c3", False),
    "an opcode that is not read": ("0f01f8", False),
    "xor eax, eax": ("31c0", True),
    "mov eax, 1": ("b801000000", True),
    "mov rax, [rsp + 8]": ("488b442408", True),
    "mov rdi, [rsp + 8]; call": ("488b7c2408 e800000000", True),
    "mov edi, 7; xor esi, esi; call": ("bf07000000 31f6 e800000000", True),
    "movups xmm0, [rsp + 16]; lea rax, [rsp]": ("0f10442410 488d0424", True),
    "mov rdi, imm64; call": ("48bf0011223344556677 e800000000", True),
    "mov qword [rsp], 0; xor eax, eax": ("48c7042400000000 31c0", True),
    "pop rbx; pop rax": ("5b 58", True),
    "call [rip + 8]": ("ff1508000000", True),
    "call rax": ("ffd0", False),
    "dec ebx; jne to a call; test eax, eax": ("ffcb 7502 85c0 e800000000", False),
    "dec ebx; jne to a call; call": ("ffcb 7505 e800000000 e800000000", True),
    "jmp over test eax, eax to a call": ("eb02 85c0 e800000000", True),
}


@pytest.mark.parametrize("name", CODES)
def test_what_a_call_returned(name: str) -> None:
    text, dropped = CODES[name]
    code = bytes.fromhex(text) + bytes(32)
    assert is_result_dropped(0, lambda address, size: code[address : address + size], decoded) is dropped


def test_a_loop_that_only_goes_round_ends() -> None:
    assert not is_result_dropped(0, lambda address, size: b"\xeb\xfe" + bytes(14), decoded)  # jmp to itself
