"""What is said beside NVRTC's errors: the header that is missing, what to write instead."""

from __future__ import annotations

import pytest

from gridstride.compiler.diagnostics import Diagnostic
from gridstride.compiler.ways_out import with_way_out


def note(message: str, source_line: str = "", column: int = 1, missing: tuple[str, ...] = ()) -> str:
    given = Diagnostic("error", "kernel.cu", 1, column, message, source_line)
    notes = with_way_out(given, missing).notes
    return notes[-1] if notes else ""


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("__half", "#include <cuda_fp16.h>"),
        ("FLT_MAX", "#include <cfloat>"),
        ("thredIdx", "did you mean threadIdx?"),
        ("__shfl_down", "__shfl_down_sync(0xffffffff, …)"),
        ("cudaDeviceSynchronize", "a kernel cannot wait for the kernels it launches"),
        ("my_own_name", ""),
    ],
)
def test_a_name_that_is_not_declared(name: str, way_out: str) -> None:
    said = note(f'identifier "{name}" is undefined')
    assert way_out in said
    assert bool(said) == bool(way_out)


@pytest.mark.parametrize(
    ("name", "way_out"), [("vector", "std::vector is host code"), ("min", "#include <algorithm>"), ("sort", "CUB")]
)
def test_a_member_of_std(name: str, way_out: str) -> None:
    assert way_out in note(f'namespace "std" has no member "{name}"')


def test_a_header_that_is_not_found() -> None:
    assert "pip install nvidia-curand" in note('cannot open source file "curand_kernel.h"')
    assert "searched: include_paths" in note('cannot open source file "mine.h"')
    assert note('cannot open source file "mma.h"', missing=("one", "two")).endswith("pip install one two")


def test_the_scope_in_front_of_a_double_colon_is_read_from_the_line() -> None:
    message = 'name followed by "::" must be a class or namespace name'
    assert note(message, "  wmma::fragment f;", 3) == "#include <mma.h>"


def test_a_letter_beyond_ascii_is_shown() -> None:
    assert note("unrecognized token", "float größe;").startswith("'ö' is no part of a name")
