"""Which files a source may open, and that a change to one of them is seen."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridstride as gs
from gridstride.compiler import CompileError, compile_cuda
from gridstride.compiler.includes import beside, check_includes
from gridstride.compiler.lexer import Text

SECRET = "the-secret-of-this-file"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    return path


@pytest.mark.parametrize(
    "directive",
    [
        '#include "{path}"',
        "#include <{path}>",
        '  #  include/**/"{path}"',
        '%:include "{path}"',
        '#inc\\\nlude "{path}"',
        '#include \\\n  "{path}"',
        '#define FILE "{path}"\n#include FILE',
        '#if __has_include("{path}")\n#error it exists\n#endif',
        "#include \"../../../../../../../../../../../../../../../../..{path}\"",
        '#include "cuda/../../../../../../../../../../../../../../../../../../../../..{path}"',
        'const char* s = R"(\n/*\n)";\n#include "{path}"',
        "#if 0\n#include <a/*b>\n#endif\n#include \"{path}\"",
        "??=include \"{path}\"",
        "// a comment ??/\n\n#include \"{path}\"",
    ],
)  # fmt: skip
def test_no_spelling_of_an_include_reads_a_file_elsewhere(secret: Path, directive: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_cuda(directive.replace("{path}", str(secret)) + "\n__global__ void k() {}")
    assert SECRET not in str(caught.value)
    assert "it exists" not in str(caught.value)


def test_etc_passwd_is_not_shown() -> None:
    with pytest.raises(CompileError, match=r'kernel.cu:1:10: error: "/etc/passwd" lies outside') as caught:
        compile_cuda('#include "/etc/passwd"\n')
    assert "root:" not in str(caught.value)


def test_the_working_folder_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "local.h").write_text("#define LOCAL 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CompileError, match="cannot open"):
        compile_cuda('#include "local.h"\n__global__ void k() {}')


@pytest.mark.parametrize(
    "option", ["-I/etc", "--include-path=/etc", "-include=/etc/passwd", "--use-bundled-headers=/x"]
)
def test_options_cannot_name_files(option: str) -> None:
    with pytest.raises(ValueError, match="unknown compiler option"):
        compile_cuda("__global__ void k() {}", options=[option])


@pytest.mark.parametrize(
    "text",
    [
        '// #include "/etc/passwd"',
        '/* #include "/etc/passwd" */',
        'const char* s = "#include </etc/passwd>";',
        "#ifdef __has_include\n#endif",
        "#if defined(__has_include) && __has_include(<cmath>)\n#endif",
        "int include; #define X include",
    ],
)
def test_what_only_looks_like_an_include_is_none(text: str) -> None:
    check_includes(Text(text), filename="k.cu", include_paths=())


def test_headers_of_an_include_path_are_found(tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text("constexpr int answer = 42;\n")
    compiled = compile_cuda('#include "mine.h"\n__global__ void k(int* x) { *x = answer; }', include_paths=[tmp_path])
    assert "42" in compiled.ptx


def test_paths_inside_an_include_path_may_be_absolute_or_climb(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "mine.h").write_text("#define MINE 1\n")
    for name in (tmp_path / "mine.h", "sub/../mine.h"):
        source = f'#include "{name}"\nextern "C" __global__ void k(int* x) {{ *x = MINE; }}\n'
        assert "st.global.u32" in compile_cuda(source, include_paths=[tmp_path]).ptx


def test_a_change_in_a_header_reached_through_another_is_seen(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "outer.h").write_text('#include "sub/inner.h"\n')
    (tmp_path / "sub" / "inner.h").write_text('#include "value.h"\n')
    source = '#include "outer.h"\n__global__ void k(int* x) { *x = VALUE; }'
    for value in ("1111", "2222"):
        (tmp_path / "sub" / "value.h").write_text(f"#define VALUE {value}\n")
        assert value in compile_cuda(source, include_paths=[tmp_path]).ptx


def test_a_header_that_a_macro_names_is_never_taken_from_the_cache(tmp_path: Path) -> None:
    (tmp_path / "outer.h").write_text('#define NAME "value.h"\n#include NAME\n')
    source = '#include "outer.h"\n__global__ void k(int* x) { *x = VALUE; }'
    for value in ("3333", "4444"):
        (tmp_path / "value.h").write_text(f"#define VALUE {value}\n")
        assert value in compile_cuda(source, include_paths=[tmp_path]).ptx


def test_an_error_in_a_header_names_the_header(tmp_path: Path) -> None:
    (tmp_path / "bad.h").write_text("\n__device__ int a = zz;\n")
    with pytest.raises(CompileError) as caught:
        compile_cuda('#include "bad.h"\n', include_paths=[tmp_path])
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(tmp_path / "bad.h"), 2, 20)


@given(st.text(alphabet='#%:include __has<>"/\\\n*R()?= ab') | st.text())
def test_any_text_can_be_checked(text: str) -> None:
    with contextlib.suppress(CompileError):  # anything else fails
        check_includes(Text(text), filename="k.cu", include_paths=())


def test_a_header_beside_a_file_is_found_from_any_folder_and_a_change_to_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k" / "parts").mkdir(parents=True)
    (tmp_path / "k" / "a.cu").write_text('#include "parts/b.cuh"\n__global__ void k(int* x) { *x = answer(); }')
    (tmp_path / "k" / "parts" / "b.cuh").write_text('#include "c.cuh"\n')
    monkeypatch.chdir(tmp_path)
    for answer in (41, 42):
        (tmp_path / "k" / "parts" / "c.cuh").write_text(f"__device__ int answer() {{ return {answer}; }}\n")
        x = np.zeros(1, np.int32)
        gs.cuda(Path("k/a.cu"))["k"][1, 1](x)
        assert x[0] == answer


def test_a_file_that_includes_nothing_of_its_own_is_compiled_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "other.h").write_text("")
    assert beside(tmp_path / "a.cu", Text('#include <cuda_fp16.h>\n#include "missing.h"\n')) == ()
    assert beside(tmp_path / "a.cu", Text('#include "other.h"\n')) == (tmp_path,)


def test_a_header_of_the_folder_above_is_found_too(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "k").mkdir()
    (tmp_path / "common" / "b.cuh").write_text("__device__ int answer() { return 42; }\n")
    (tmp_path / "k" / "a.cu").write_text('#include "../common/b.cuh"\n__global__ void k(int* x) { *x = answer(); }')
    assert "42" in gs.cuda(tmp_path / "k" / "a.cu").ptx
