"""`.loc` and what it says of inlined code."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gridstride as gs
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.module import Function, SourceLocation
from gridstride.virtual.ptx.syntax_errors import PtxError

Kernel = Callable[..., Function]


def test_each_instruction_has_the_location_before_it(kernel: Kernel) -> None:
    found = kernel("exit; .loc 1 7 3 exit; exit; .loc 2 9 exit;")
    at = [None if line.loc is None else (line.loc.file, line.loc.line, line.loc.column) for line in found.instructions]
    assert at == [None, (1, 7, 3), (1, 7, 3), (2, 9, 0)]


def test_inlined_code_keeps_the_chain_of_call_sites() -> None:
    found = parse(
        ".version 8.0 .target sm_80 .entry k {\n"
        ".loc 1 20 3\n"
        ".loc 1 13 32, function_name $L0, inlined_at 1 20 3\n"
        ".loc 2 12 32, function_name $L1, inlined_at 1 13 32\n"
        "exit; }\n"
        ".section .debug_str { $L0: .b8 111,117,116,0 $L1: .b8 105,110\n.b8 0 }"
    )
    (line,) = found.functions["k"].instructions
    outer = SourceLocation(1, 20, 3)
    middle = SourceLocation(1, 13, 32, outer, "out")
    assert line.loc == SourceLocation(2, 12, 32, middle, "in")
    assert line.loc is not None
    assert line.loc.chain == (line.loc, middle, outer)
    assert line.loc.outermost == outer
    assert found.strings == {"$L0": "out", "$L1": "in"}


def test_a_call_site_without_its_own_line_is_taken_as_it_stands(kernel: Kernel) -> None:
    (line,) = kernel(".loc 1 5 1, function_name $gone+4, inlined_at 3 8 2\nexit;").instructions
    assert line.loc == SourceLocation(1, 5, 1, SourceLocation(3, 8, 2))


def test_a_place_inlined_into_itself_does_not_grow_for_ever(kernel: Kernel) -> None:
    (line,) = kernel(".loc 1 5 1, inlined_at 1 5 1\n" * 5000 + "exit;").instructions
    assert line.loc is not None
    assert len(line.loc.chain) < 300


def test_dwarf_is_passed_over() -> None:
    found = parse(
        "@@DWARF .section .x { é\n.version 8.0 .target sm_80 .section .debug_abbrev { .b8 1, 2 }\n"
        ".section .debug_loc\n{\n$L1:\n.b64 $L2\n.b8 17\n}\n.func f { .loc 1 2 3 ret; } .section .debug_macinfo { }"
    )
    assert [line.opcode for line in found.functions["f"].instructions] == ["ret"]


def test_a_mistake_in_inline_ptx_is_told_at_the_line_of_the_file() -> None:
    source = 'extern "C" __global__ void k(int* p) {\n    p[0] = 1;\n    asm("hello %0;" :: "r"(p[0]));\n}'
    with pytest.raises(PtxError) as caught:
        gs.cuda(source, filename="mine.cu")["k"].bound()
    assert caught.value.line == 3
    assert str(caught.value).startswith("mine.cu:3:")
    assert "unknown instruction 'hello' (line " in str(caught.value)
    assert "of its PTX)" in str(caught.value)
