"""What is done to clang's PTX: names of instances found, added kernels out, places of headers out."""

from __future__ import annotations

import pytest

from gridstride.compiler.clang.clang_ptx import (
    lowered_names,
    lowered_types,
    missing_math,
    with_user_places,
    without_added,
)

TILE = "_Z4tileIN2ns1AELi16EEvPT_PKS2_PS1_"
ADDED = """\t// .globl\t_Z17gridstride_name_0ITnDaXadL_Z4tileIN2ns1AELi16EEvPT_PKS3_PS2_EEEvv // -- Begin function
                                        // @name
.visible .entry _Z17gridstride_name_0ITnDaXadL_Z4tileIN2ns1AELi16EEvPT_PKS3_PS2_EEEvv()
{
\tret;
}
"""
PTX = f"""{ADDED}\t// .globl\t{TILE}
.visible .entry {TILE}(
\t.param .u64 p
)
{{
\t.loc\t1 3 5
\tmov.u32 \t%r1, %tid.x;
\t.loc\t2 66 3
\tret;
}}
\t.file\t1 "/tmp/x/source/kernel.cu"
\t.file\t2 "/usr/lib/clang/header.h"
"""


@pytest.mark.parametrize("deduced", ["TnDa", ""])  # newer ones say that the argument's type is deduced
def test_the_name_of_an_instance_is_read_out_of_the_kernel_that_was_made_for_it(deduced: str) -> None:
    assert lowered_names(PTX.replace("TnDa", deduced), ["tile<ns::A, 16>"]) == {"tile<ns::A, 16>": TILE}


def test_a_kernel_of_c_linkage_is_found_by_its_plain_name() -> None:
    ptx = ".visible .entry plain(\n.visible .entry _Z17gridstride_name_0IXadL_Z5plainEEEvv()\n"
    assert lowered_names(ptx, ["plain"]) == {"plain": "plain"}


def test_types_are_told_by_a_name_over_the_kernels_type() -> None:
    ptx = ".visible .entry plain(\n.visible .entry _Z21gridstride_types_of_0IFvPfjEEvv()\n"
    assert lowered_types(ptx, ["ns::plain"]) == {"plain": "_Z21gridstride_types_of_0IFvPfjEEvv"}


def test_added_kernels_are_taken_out_and_nothing_else() -> None:
    assert without_added(PTX) == PTX.removeprefix(ADDED)


def test_places_in_headers_go_and_the_users_file_has_its_own_name() -> None:
    cleaned = with_user_places(PTX, lambda path: "k.cu" if path.endswith("kernel.cu") else None)
    assert "\t.loc\t1 3 5\n" in cleaned
    assert ".loc\t2" not in cleaned
    assert '\t.file\t1 "k.cu"' in cleaned


def test_a_call_of_libdevice_that_was_not_linked_is_named() -> None:
    assert missing_math(".extern .func  (.param .b32 r) __nv_sinf\n(\n)\n;") == "__nv_sinf"
    assert missing_math(PTX) is None
