"""compile_cuda: PTX, names, line information, and what bad input gets."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.compiler import CompileError, compile_cuda, supported_archs

SCALE = "__global__ void scale(float* x, float a) { x[threadIdx.x] *= a; }\n"


def test_a_kernel_becomes_an_entry_of_the_asked_target() -> None:
    ptx = compile_cuda(SCALE, arch="sm_80").ptx
    assert re.search(r"^\.target sm_80$", ptx, re.MULTILINE)
    assert ".visible .entry _Z5scalePff(" in ptx


def test_the_default_target_is_sm_90a() -> None:
    compiled = compile_cuda(SCALE)
    assert compiled.arch == "sm_90a"
    assert ".target sm_90a" in compiled.ptx


def test_line_information_names_the_file_as_given_and_counts_from_its_first_line() -> None:
    ptx = compile_cuda("\n\n" + SCALE, filename="lessons/scale.cu").ptx
    assert '.file\t1 "lessons/scale.cu"' in ptx
    assert set(re.findall(r"\.loc\s+1 (\d+)", ptx)) == {"3"}


def test_the_ptx_does_not_depend_on_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SCALE + "// from two folders\n"
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "cache-1"))
    here = compile_cuda(source).ptx
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "cache-2"))
    monkeypatch.chdir(tmp_path)
    assert compile_cuda(source).ptx == here


@pytest.mark.parametrize("filename", ["é k.cu", 'quo"te.cu', "back\\slash.cu", "/abs/olute.cu"])
def test_an_unusual_file_name_still_compiles_and_is_reported_as_given(filename: str) -> None:
    compile_cuda(SCALE, filename=filename)
    with pytest.raises(CompileError) as caught:
        compile_cuda("\nint", filename=filename)
    assert caught.value.file == filename


def test_debug_code_is_compiled_with_its_own_line_information() -> None:
    assert "debug" in compile_cuda(SCALE, options=["-G"]).ptx


def test_plain_kernels_are_named_without_being_asked_for() -> None:
    source = 'extern "C" __global__ void c() {}\nnamespace a::b { __global__ void k(int*) {} }\n' + SCALE
    assert compile_cuda(source).names == {"c": "c", "a::b::k": "_ZN1a1b1kEPi", "scale": "_Z5scalePff"}


def test_all_template_instances_asked_for_are_in_one_compilation() -> None:
    source = "template <typename T, int N> __global__ void tile(T* x) { x[0] = N; }"
    compiled = compile_cuda(source, names=["tile<float, 16>", "tile<int, 4>"])
    assert compiled.names == {"tile<float, 16>": "_Z4tileIfLi16EEvPT_", "tile<int, 4>": "_Z4tileIiLi4EEvPT_"}
    assert all(f".entry {lowered}(" in compiled.ptx for lowered in compiled.names.values())


def test_overloaded_kernels_are_not_named_by_chance() -> None:
    assert compile_cuda("__global__ void k(int*) {}\n__global__ void k(float*) {}").names == {}


def test_an_unknown_name_gets_the_nearest_one_and_its_place() -> None:
    with pytest.raises(CompileError, match=r'no kernel "scael".*did you mean "scale"\?') as caught:
        compile_cuda("\n" + SCALE, names=["scael"])
    assert (caught.value.line, caught.value.column) == (2, SCALE.index("scale") + 1)


def test_an_unknown_template_name_is_told_the_template_parameters() -> None:
    source = "template <typename T, int N> __global__ void tile(T* x) {}"
    with pytest.raises(CompileError, match=r'did you mean "tile<typename T, int N>"\?'):
        compile_cuda(source, names=["tiles<float, 16>"])


def test_wrong_template_arguments_are_shown_the_kernel() -> None:
    source = "template <typename T, int N> __global__ void tile(T* x) {}"
    with pytest.raises(CompileError, match=r"the kernel is tile<typename T, int N>\(T\* x\)"):
        compile_cuda(source, names=["tile<float>"])


def test_a_name_like_no_other_gets_the_list_of_kernels() -> None:
    with pytest.raises(CompileError, match="kernels here: scale") as caught:
        compile_cuda(SCALE, names=["zzzzzzzz"])
    assert len(caught.value.errors) == 1


@pytest.mark.parametrize("name", ["", "a\nb", "a\0b"])
def test_a_name_that_is_not_one_line_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name expression"):
        compile_cuda(SCALE, names=[name])


@pytest.mark.parametrize("arch", ["sm_70", "sm_80a", "sm_90f", "hopper", "sm_9000", "90", "SM_90"])
def test_an_architecture_that_cannot_be_gets_the_list_of_those_that_can(arch: str) -> None:
    with pytest.raises(ValueError, match=rf"'{arch}'.*sm_75.*sm_90") as caught:
        compile_cuda(SCALE, arch=arch)
    assert "sm_120" in str(caught.value)


def test_every_architecture_said_to_be_supported_compiles() -> None:
    for arch in supported_archs():
        assert f".target {arch}" in compile_cuda(SCALE, arch=arch).ptx


@pytest.mark.parametrize("source", ["", "   \n\t\n"])
def test_an_empty_source_is_a_compile_error(source: str) -> None:
    with pytest.raises(CompileError, match=r"kernel.cu:1:1: error: the source is empty"):
        compile_cuda(source)


def test_what_is_not_cuda_is_a_compile_error_at_its_first_word() -> None:
    with pytest.raises(CompileError) as caught:
        compile_cuda("hello world, this is not C++")
    assert (caught.value.line, caught.value.column) == (1, 1)
    assert "hello" in caught.value.message


def test_a_nul_character_is_placed() -> None:
    with pytest.raises(CompileError, match=r"kernel.cu:2:3: error: the source holds a NUL character"):
        compile_cuda("//\nab\0c")


def test_a_lone_surrogate_is_placed() -> None:
    with pytest.raises(CompileError, match=r"kernel.cu:1:3: error: the source holds a surrogate"):
        compile_cuda("//\udc80")


def test_bytes_are_not_source() -> None:
    with pytest.raises(TypeError, match="bytes"):
        compile_cuda(SCALE.encode())  # type: ignore[arg-type]


def test_thousands_of_errors_make_a_message_one_can_read() -> None:
    with pytest.raises(CompileError) as caught:
        compile_cuda("\n".join(f"__device__ int a{i} = z{i};" for i in range(3000)))
    assert caught.value.line == 1
    assert len(caught.value.errors) >= 100
    assert str(caught.value).count("error:") == 20
    assert re.search(r"… and \d+ more errors$", str(caught.value))


def test_a_warning_about_the_source_is_kept() -> None:
    warnings = compile_cuda("__global__ void k() {\n  int unused;\n}").warnings
    assert [(w.severity, w.line, w.column) for w in warnings] == [("warning", 2, 7)]


def test_fused_multiply_add_can_be_forbidden() -> None:
    source = "__global__ void k(float* x) { x[0] = x[0] * x[1] + x[2]; }"
    assert "fma.rn.f32" in compile_cuda(source).ptx
    assert "fma.rn.f32" not in compile_cuda(source, options=["--fmad=false"]).ptx


def test_cpp17_is_the_default_and_can_be_changed() -> None:
    source = "__global__ void k(long* x) { x[0] = __cplusplus; }"
    assert "201703" in compile_cuda(source).ptx
    assert "202002" in compile_cuda(source, options=["-std=c++20"]).ptx


def test_a_compile_error_survives_pickling() -> None:
    with pytest.raises(CompileError) as caught:
        compile_cuda("int x = y;")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.line == caught.value.line


def test_threads_may_compile_at_once() -> None:
    def compiled(i: int) -> bool:
        return f"_Z3k{i:02}Pi" in compile_cuda(f"__global__ void k{i:02}(int* x) {{ *x = {i}; }}").ptx

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(compiled, range(32)))


def test_a_hit_of_the_cache_loads_no_compiler() -> None:
    program = f"""
import sys
from gridstride.compiler import compile_cuda
compile_cuda({SCALE!r})
print("cuda.bindings.nvrtc" in sys.modules)
"""
    compile_cuda(SCALE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_hit_of_the_cache_takes_under_two_milliseconds() -> None:
    compile_cuda(SCALE)
    best = math.inf
    for _ in range(20):
        start = time.process_time()
        compile_cuda(SCALE)
        best = min(best, time.process_time() - start)
    assert best < 2e-3


@settings(max_examples=60, deadline=None)
@given(st.text() | st.text(alphabet='#include <>"/\\\n*R()ab{};').map(lambda text: "#" + text))
def test_any_text_compiles_or_is_a_compile_error(text: str) -> None:
    with contextlib.suppress(CompileError):  # anything else fails
        compile_cuda(text)
