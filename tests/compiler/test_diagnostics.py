"""Compile errors as data: the right place, and a rendering with the caret under it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.compiler import CompileError, Diagnostic, compile_cuda
from gridstride.compiler.diagnostics import parse_log


def error_of(source: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compile_cuda(source)
    return caught.value


def test_an_error_is_rendered_with_place_source_line_and_caret() -> None:
    error = error_of("__global__ void k(float* x) {\n    x[0] = zz;\n}")
    assert str(error) == 'kernel.cu:2:12: error: identifier "zz" is undefined\n      x[0] = zz;\n             ^'
    assert (error.file, error.line, error.column) == ("kernel.cu", 2, 12)
    assert error.message == 'identifier "zz" is undefined'
    assert error.diagnostics[0].source_line == "    x[0] = zz;"


def test_tabs_keep_the_caret_in_place() -> None:
    error = error_of("__global__ void k(float* x) {\n\tif (1)\tx[0] = zz;\n}")
    assert error.column == 16
    assert str(error).splitlines()[-1] == "  \t      \t       ^"


def test_columns_count_characters_and_wide_ones_get_two_blanks() -> None:
    error = error_of("__global__ void k(float* x) {\n/* é日本 */ zz;\n}")
    assert error.column == 11
    assert str(error).splitlines()[-1] == "  " + " " * 12 + "^"


def test_a_line_of_a_thousand_characters_is_cut_around_the_column() -> None:
    error = error_of(f"__global__ void k() {{ {' ' * 500}zz;{' ' * 500} }}")
    assert error.column == 523
    source_line, caret = str(error).splitlines()[1:]
    assert len(source_line) < 170
    assert source_line[caret.index("^") :].startswith("zz")


def test_a_missing_brace_is_placed_at_the_end_with_the_opening_one_as_a_note() -> None:
    error = error_of("__global__ void k() {\n  int a = 1;")
    assert (error.line, error.column) == (2, 13)
    assert 'kernel.cu:1: to match this "{"' in error.errors[0].notes


def test_an_error_in_a_template_says_which_instance() -> None:
    error = error_of(
        "template <class T> __device__ int f(T a) { return a.b; }\n__global__ void k(int* x) { *x = f(1); }"
    )
    assert error.line == 1
    assert any("[with T=int]" in note for note in error.errors[0].notes)


def test_a_message_over_several_lines_is_one() -> None:
    error = error_of("__device__ void f(int*);\n__global__ void k() { f(1.0f); }")
    assert error.line == 2
    assert "\n" not in error.message


def test_warnings_stand_beside_errors_but_are_not_the_first() -> None:
    error = error_of("__global__ void k() {\n  int unused;\n  zz;\n}")
    assert {d.severity for d in error.diagnostics} == {"error", "warning"}
    assert error.line == 3
    assert "unused" not in str(error)


def test_a_line_directive_is_believed() -> None:
    error = error_of('#line 100 "mine.cu"\n__device__ int a = zz;')
    assert (error.file, error.line, error.column) == ("mine.cu", 100, 20)


def test_without_a_caret_the_column_is_where_the_quoted_name_stands() -> None:
    log = 'k.cu(2): error: identifier "zz" is undefined'
    (found,) = parse_log(log, filename="k.cu", source="int zzz;\nint a = zzz + zz;")
    assert (found.line, found.column) == (2, 15)


def test_a_place_that_is_not_known_is_left_out() -> None:
    assert Diagnostic("error", "k.cu", 0, 0, "no", "").render() == "k.cu: error: no"


@given(st.text() | st.lists(st.sampled_from(["k.cu(1): error: a", "  int", "  ^", "Note: b", "", " ^"])).map("\n".join))
def test_any_log_can_be_parsed(log: str) -> None:
    for found in parse_log(log, filename="k.cu", source="int a;"):
        assert found.render()
