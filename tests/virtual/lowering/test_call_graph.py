"""Which functions a kernel reaches, and which come back to themselves."""

from __future__ import annotations

from gridstride.virtual.lowering.call_graph import calls_indirectly, calls_itself, reachable
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.module import PtxModule

TEXT = """.version 8.5
.target sm_90
.address_size 64
.func leaf() { ret; }
.func even();
.func odd() { call even, (); ret; }
.func even() { call odd, (); call leaf, (); ret; }
.func alone() { ret; }
.func held() { ret; }
.global .u64 table[1] = {held};
.visible .entry direct() { call odd, (); ret; }
.visible .entry pointed()
{
    .reg .u64 %a;
    ld.global.u64 %a, [table];
    proto: .callprototype _ ();
    call %a, (), proto;
    ret;
}
"""


def module() -> PtxModule:
    return parse(TEXT)


def names(entry: str) -> set[str]:
    parsed = module()
    return {function.name for function in reachable(parsed, parsed.functions[entry])}


def test_a_direct_call_reaches_all_that_is_called_from_there() -> None:
    assert names("direct") == {"direct", "odd", "even", "leaf"}


def test_an_indirect_call_reaches_what_variables_hold() -> None:
    assert names("pointed") == {"pointed", "held"}


def test_functions_that_call_one_another_come_back_to_themselves() -> None:
    parsed = module()
    recursive = {name for name, function in parsed.functions.items() if calls_itself(parsed, function)}
    assert recursive == {"odd", "even"}


def test_an_indirect_call_is_told_from_a_direct_one() -> None:
    functions = module().functions
    assert calls_indirectly(functions["pointed"])
    assert not calls_indirectly(functions["direct"])
