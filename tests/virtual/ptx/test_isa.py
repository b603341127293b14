"""The instruction set's table: what is forgotten in it, or beside it, is an error of the import."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.lowering import dispatch
from gridstride.virtual.lowering.analysis import affine_transfer
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.kernel import lower_kernel
from gridstride.virtual.lowering.observed.counting import Counting
from gridstride.virtual.ptx import PtxError, isa, parse
from gridstride.virtual.ptx.isa import COLUMNS, ISA, Class, Meaning, Uniformity, collected

HEAD = " | ".join(COLUMNS)
ROW = "frobnicate | other | forms | bulk:sm_90 sm_80 | red | varying:local | decided | meets polls | cluster | 1-2"
FORM = "    b32 : T= T"
FREE = ("opcode", "writes", "cluster")
"""Columns that hold names and modifiers, of which any may come."""


def table(row: str, *forms: str) -> str:
    return "\n".join([HEAD, row, *forms])


def test_a_row_says_all_there_is_to_say_of_an_opcode() -> None:
    (found,) = collected([table(ROW, FORM)]).values()
    assert (found.name, found.kind, found.operands, found.forms) == ("frobnicate", Class.OTHER, None, ("b32 : T= T",))
    assert found.targets == ((frozenset({"bulk"}), "sm_90"), (frozenset(), "sm_80"))
    assert (found.writes, found.result, found.varies_with) == ({"red"}, Uniformity.UNIFORM, {"local"})
    assert (found.meaning, found.meets, found.polls, found.holds) == (Meaning.DECIDED, True, True, False)
    assert (found.cluster, found.added, found.pointer) == ("cluster", False, slice(1, 3))


@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=COLUMNS)
def test_a_row_without_a_column_is_an_import_error(column: int) -> None:
    cells = ROW.split(" | ")
    for cut in (cells[:column] + cells[column + 1 :], [*cells[:column], " ", *cells[column + 1 :]]):
        with pytest.raises(ImportError):
            collected([table(" | ".join(cut), FORM)])


@pytest.mark.parametrize("column", [at for at, name in enumerate(COLUMNS) if name not in FREE])
def test_a_word_that_a_column_does_not_know_is_an_import_error(column: int) -> None:
    cells = ROW.split(" | ")
    cells[column] = "perhaps"
    with pytest.raises(ImportError, match="perhaps"):
        collected([table(" | ".join(cells), FORM)])


@pytest.mark.parametrize(("cell", "operands"), [("-", ""), ("1", "b"), ("1-2", "bc"), ("1-", "bcd"), ("3", "d")])
def test_a_pointer_may_come_from_one_source_or_several(cell: str, operands: str) -> None:
    (found,) = collected([table(ROW.replace("1-2", cell), FORM)]).values()
    assert "abcd"[found.pointer] == operands


def test_a_row_without_its_forms_is_an_import_error() -> None:
    with pytest.raises(ImportError, match="forms are missing"):
        collected([table(ROW)])


def test_an_opcode_in_two_rows_is_an_import_error() -> None:
    with pytest.raises(ImportError, match="frobnicate has two rows"):
        collected([table(ROW, FORM), table(ROW, FORM)])


def test_opcodes_that_agree_share_a_row() -> None:
    one, other = collected([table(ROW.replace("frobnicate", "foo bar"), FORM)]).values()
    assert (one.name, replace(one, name="bar")) == ("foo", other)


@pytest.mark.parametrize(("module", "row"), [
    (dispatch, replace(ISA["bmsk"], name="frobnicate")),
    (affine_transfer, replace(ISA["add"], name="frobnicate")),
], ids=["emitter", "affine rule"])  # fmt: skip
def test_a_row_without_its_function_is_an_import_error(
    module: ModuleType, row: isa.Opcode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isa, "ISA", {**ISA, "frobnicate": row})
    spec = importlib.util.spec_from_file_location("tried", str(module.__file__))
    assert spec is not None
    assert spec.loader is not None
    tried = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tried", tried)
    with pytest.raises(ImportError, match="frobnicate"):
        spec.loader.exec_module(tried)


def test_what_the_lowering_adds_cannot_be_written(text: Callable[..., str]) -> None:
    with pytest.raises(PtxError, match="unknown instruction 'released'"):
        parse(text("released %r1, %r2;"))


@pytest.mark.parametrize("line", ["istypep.texref %p1, %rd1;", "multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1;"])
@pytest.mark.parametrize("build", [lambda: None, Counting], ids=["fast", "observed"])
def test_what_is_not_there_is_refused_in_both_builds(
    text: Callable[..., str], line: str, build: Callable[[], Counting | None]
) -> None:
    with pytest.raises(UnsupportedInstruction, match=line.split(".")[0]):
        lower_kernel(parse(text(line)), "k", BlockShape.of(32, 1, 1), build())
