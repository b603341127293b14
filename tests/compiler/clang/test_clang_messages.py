"""Clang's log becomes diagnostics: places, severities, notes, columns in characters."""

from __future__ import annotations

from pathlib import Path

from gridstride.compiler.clang.clang_messages import parse_clang_log

SOURCE = "__global__ void k(float* x) {\n    /* é */ x[0] = y;\n}\n"


def test_an_error_has_file_line_column_message_and_source_line() -> None:
    (error,) = parse_clang_log("k.cu:1:17: error: no good\n", filename="k.cu", source=SOURCE)
    assert (error.severity, error.file, error.line, error.column) == ("error", "k.cu", 1, 17)
    assert (error.message, error.source_line) == ("no good", "__global__ void k(float* x) {")


def test_columns_count_characters_where_clang_counts_bytes() -> None:
    (error,) = parse_clang_log("k.cu:2:21: error: use of undeclared identifier 'y'", filename="k.cu", source=SOURCE)
    assert error.source_line[error.column - 1] == "y"


def test_a_note_goes_with_the_message_before_it_and_remarks_are_left_out() -> None:
    log = (
        "k.cu:1:1: warning: w [-Wx]\nk.cu:2:1: note: see here\nk.cu:3:1: remark: r\nk.cu:3:1: fatal error: f\n1 error\n"
    )
    warning, error = parse_clang_log(log, filename="k.cu", source=SOURCE)
    assert (warning.severity, warning.notes) == ("warning", ("k.cu:2: see here",))
    assert (error.severity, error.message, error.line) == ("error", "f", 3)


def test_what_the_driver_says_has_no_line() -> None:
    log = "clang: error: unsupported CUDA gpu architecture: sm_1\nclang-19: warning: w\n"
    error, warning = parse_clang_log(log, filename="k.cu", source=SOURCE)
    assert (error.line, error.message) == (0, "unsupported CUDA gpu architecture: sm_1")
    assert (warning.severity, warning.file) == ("warning", "k.cu")


def test_a_line_of_a_users_header_is_read_from_it(tmp_path: Path) -> None:
    header = tmp_path / "h.cuh"
    header.write_text("int x\n")
    (error,) = parse_clang_log(f"{header}:1:6: error: expected ';'", filename="k.cu", source=SOURCE)
    assert (error.file, error.source_line) == (str(header), "int x")
