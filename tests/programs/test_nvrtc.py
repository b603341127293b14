"""NVRTC in whole programs: NVIDIA's own compiler, whose code our driver loads."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = r"""
#include <cuda.h>
#include <nvrtc.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#define SAY(call) puts(nvrtcGetErrorString(call))
#define OK(call) do { if (int r_ = (call)) { printf("line %d: %d\n", __LINE__, r_); return 1; } } while (0)
static nvrtcProgram made; static CUmodule module_; static CUfunction f; static CUdeviceptr p;
[[maybe_unused]] static int ready() {
  CUcontext context; OK(cuInit(0)); OK(cuCtxCreate(&context, NULL, 0, 0)); OK(cuMemAlloc(&p, 64));
  OK(cuMemsetD32(p, 5, 16));
  return 0;
}
[[maybe_unused]] static CUresult launch() { void *to[] = {&p};
  return cuLaunchKernel(f, 1, 1, 1, 16, 1, 1, 0, NULL, to, NULL); }
"""


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


def test_what_is_compiled_is_loaded_as_ptx_and_in_place_of_a_cubin(program: Run) -> None:
    done = program(
        HEAD
        + r"""
static const char *text = "#include \"two.h\"\n"
  "template <int n> __global__ void add(int *x) { x[threadIdx.x] += TWO * n; }";
static int use(const char *arch, bool cubin) {
  const char *headers[] = {"#define TWO 2\n"}, *names[] = {"two.h"}, *options[] = {arch, "--std=c++17"}, *lowered;
  size_t bytes, ptx; int x;
  OK(nvrtcCreateProgram(&made, text, "add.cu", 1, headers, names)); OK(nvrtcAddNameExpression(made, "add<5>"));
  OK(nvrtcCompileProgram(made, 2, options)); OK(nvrtcGetCUBINSize(made, &bytes)); OK(nvrtcGetPTXSize(made, &ptx));
  std::vector<char> code(cubin ? bytes : ptx);
  printf("%d ", bytes != 0);
  OK(cubin ? nvrtcGetCUBIN(made, code.data()) : nvrtcGetPTX(made, code.data()));
  OK(nvrtcGetLoweredName(made, "add<5>", &lowered)); printf("%s ", lowered);
  OK(cuModuleLoadData(&module_, code.data())); OK(cuModuleGetFunction(&f, module_, lowered)); OK(launch());
  OK(cuMemcpyDtoH(&x, p, 4)); printf("%d\n", x); OK(nvrtcDestroyProgram(&made));
  return 0;
}
int main() {
  if (ready() || use("--gpu-architecture=compute_90", false) || use("-arch=sm_90", true) || use("-arch=sm_90", false))
    return 1;
  int major, minor; OK(nvrtcVersion(&major, &minor)); printf("%d\n", major);
}
"""
    )
    assert lines(done) == ["0 _Z3addILi5EEvPi 15", "1 _Z3addILi5EEvPi 25", "1 _Z3addILi5EEvPi 35", "13"]


def test_errors_are_the_compilers(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  const char *wrong[] = {"--no-such-option"}, *lowered; size_t bytes;
  OK(nvrtcCreateProgram(&made, "__global__ void k() { x = 1; }", "wrong.cu", 0, NULL, NULL));
  SAY(nvrtcCompileProgram(made, 0, NULL)); OK(nvrtcGetProgramLogSize(made, &bytes));
  std::string log(bytes, 0); OK(nvrtcGetProgramLog(made, &log[0])); puts(log.substr(0, log.find('\n')).c_str());
  SAY(nvrtcGetPTXSize(made, &bytes)); SAY(nvrtcGetCUBINSize(made, &bytes));
  SAY(nvrtcGetLoweredName(made, "k", &lowered));
  SAY(nvrtcCompileProgram(made, 1, wrong)); SAY(nvrtcCreateProgram(NULL, "", "", 0, NULL, NULL));
  SAY(nvrtcCompileProgram(NULL, 0, NULL)); OK(nvrtcDestroyProgram(&made)); SAY(nvrtcDestroyProgram(&made));
}
"""
    )
    said = lines(done)
    assert said[0] == "NVRTC_ERROR_COMPILATION"
    assert said[1] == 'wrong.cu(1): error: identifier "x" is undefined'
    assert said[4:] == [
        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", "NVRTC_ERROR_INVALID_OPTION",
        *["NVRTC_ERROR_INVALID_PROGRAM"] * 3,
    ]  # fmt: skip
    assert done.returncode == 0


def test_under_the_sanitizer_findings_name_the_line_of_the_source(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  const char *text = "extern \"C\" __global__ void k(int *x) {\n  if (threadIdx.x == 3)\n    x[100] = 1;\n}";
  const char *options[] = {"-arch=compute_90"}; size_t bytes;
  if (ready()) return 1;
  OK(nvrtcCreateProgram(&made, text, "far.cu", 0, NULL, NULL)); OK(nvrtcCompileProgram(made, 1, options));
  OK(nvrtcGetPTXSize(made, &bytes)); std::vector<char> ptx(bytes); OK(nvrtcGetPTX(made, ptx.data()));
  OK(cuModuleLoadData(&module_, ptx.data())); OK(cuModuleGetFunction(&f, module_, "k")); OK(launch());
  printf("%d\n", cuCtxSynchronize());
}
""",
        "--sanitize",
    )  # fmt: skip
    assert lines(done) == ["700"]
    assert "far.cu:3" in done.stderr
