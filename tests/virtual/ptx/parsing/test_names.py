"""Nested scopes: what hides what, and how clashing names are told apart afterwards."""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.module import Function, Label, LabelRef, Register, Symbol

Kernel = Callable[..., Function]


def test_a_hidden_register_is_renamed_and_comes_back(kernel: Kernel) -> None:
    found = kernel(".reg .b32 x; mov.b32 x, 1; { .reg .f32 x; mov.f32 x, 1.0; } mov.b32 x, 2;", registers="")
    assert [line.operands[0] for line in found.instructions] == [Register("x"), Register("x~2"), Register("x")]
    assert found.registers == {"x": "b32", "x~2": "f32"}


def test_call_sequences_may_repeat_their_names(kernel: Kernel) -> None:
    sequence = "{ .reg .b32 temp; .param .b%d param0; st.param.b%d [param0+0], 1; call f, (param0); }"
    found = kernel(sequence % (32, 32) + sequence % (64, 64), before=".func f(.param .b32 x);")
    assert {name: v.size for name, v in found.variables.items()} == {"param0": 4, "param0~2": 8}
    assert found.registers["temp~2"] == "b32"
    stores = [line.operands[0].base for line in found.instructions if line.opcode == "st"]  # type: ignore[union-attr]
    assert stores == [Symbol("param0"), Symbol("param0~2")]


def test_a_local_name_may_hide_one_of_the_module(kernel: Kernel) -> None:
    found = kernel("mov.u64 %rd1, v; { .shared .b32 v; mov.u64 %rd1, v; } mov.u64 %rd1, v;", before=".global .u32 v;")
    assert [line.operands[1] for line in found.instructions] == [Symbol("v"), Symbol("v~2"), Symbol("v")]
    assert found.variables["v~2"].space == "shared"


def test_names_of_one_function_are_unknown_in_the_next() -> None:
    found = parse(
        ".version 8.0 .target sm_80 .func f { .reg .b32 x; L: bra L; } .func g { .reg .b32 x; L: mov.b32 x, 0; bra L; }"
    )
    assert found.functions["g"].registers == {"x": "b32"}
    assert [s.name for s in found.functions["g"].body if isinstance(s, Label)] == ["L"]


def test_labels_of_sibling_scopes_are_told_apart(kernel: Kernel) -> None:
    found = kernel("{ bra DONE; DONE: } { bra DONE; DONE: }")
    labels = [statement.name for statement in found.body if isinstance(statement, Label)]
    assert labels == ["DONE", "DONE~2"]
    assert [line.operands[0] for line in found.instructions] == [LabelRef("DONE"), LabelRef("DONE~2")]


def test_a_branch_goes_to_the_innermost_label_wherever_it_stands(kernel: Kernel) -> None:
    found = kernel("OUT: { bra IN; bra OUT; { bra IN; IN: bra OUT; } IN: } IN: ret;")
    targets = [line.operands[0] for line in found.instructions if line.opcode == "bra"]
    # The innermost scope ends first, so its label keeps the plain name.
    assert targets == [LabelRef("IN~2"), LabelRef("OUT"), LabelRef("IN"), LabelRef("OUT")]


def test_a_target_list_in_a_scope_keeps_its_own_labels(kernel: Kernel) -> None:
    piece = "{ ts: .branchtargets L; brx.idx %r1, ts; L: }"
    found = kernel(piece + piece)
    assert found.branch_targets == {"ts": ("L",), "ts~2": ("L~2",)}
    assert [line.operands[1] for line in found.instructions] == [LabelRef("ts"), LabelRef("ts~2")]
