"""Kernels beside host code compile as nvcc compiles the device part: nothing else of the file changes what they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.compiler import CompileError, compile_cuda
from gridstride.compiler.declarations import code_tokens, declarations
from gridstride.compiler.lexer import Text

KERNEL = "__global__ void k(int* x) { x[threadIdx.x] = 1; }\n"
PROGRAM = """#include <cstdio>
#include <iostream>
#include <vector>
#include <cublas_v2.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <cuda_runtime.h>
#define CHECK(call) do { if ((call) != cudaSuccess) { printf("bad\\n"); exit(1); } } while (0)
using Values = std::vector<float>;
__global__ void scale(float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
static double seconds() { return std::chrono::duration<double>(now()).count(); }
int main(int argc, char** argv) {
    float* d = nullptr;
    CHECK(cudaMalloc(&d, 1024 * sizeof(float)));
    scale<<<4, 256>>>(d, 2.0f, 1024);
    thrust::device_vector<float> v(10);
    std::cout << cudaGetErrorString(cudaGetLastError()) << std::endl;
    return 0;
}
"""


def error_of(source: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compile_cuda(source)
    return caught.value


def test_a_whole_program_gives_its_kernels_with_their_own_lines() -> None:
    compiled = compile_cuda(PROGRAM)
    assert list(compiled.names) == ["scale"]
    assert "\t.loc\t1 12 " in compiled.ptx


@pytest.mark.parametrize(
    "host",
    [
        "static int twice(int x) { return 2 * x; }",
        "void proto(int a, float b);\nvoid proto(int, float c) { cudaFree(0); }",
        "__host__ void explicitly() { exit(1); }",
        "template <typename T> T least(T a, T b) { return std::min(a, b); }",
        "template <typename T> struct Buffer { T* data; Buffer(int n) { cudaMalloc(&data, n); } ~Buffer(); };\n"
        "template <typename T> Buffer<T>::~Buffer() { cudaFree(data); }",
        "class Timer { std::string name; cudaEvent_t start; public: void go() { cudaEventRecord(start); } };",
        "struct S { int a; void go() { printf(\"x\"); } } instance, *other = &instance;",
        "int counter = 3;\nfloat *a, *b = nullptr;\nstd::vector<int> values = {1, 2};",
        "auto square = [](int x) { return x * x; };",
        'extern "C" { int plain(void) { return puts("x"); } }',
        "namespace app { namespace { bool flag = false; void set() { flag = true; } } }",
        "void read(FILE* file, std::string name = \"x\", cudaStream_t s = 0) { fread(file); }",
        "std::ostream& operator<<(std::ostream& out, const dim3& d) { return out << d.x; }",
        "#ifdef OTHER\nvoid run(int a) {\n#else\nvoid run() {\n#endif\n  k<<<1, 1>>>(nullptr);\n}",
        "void run() {\n#define SIDE 3\n  k<<<SIDE, 1>>>(nullptr);\n#undef SIDE\n}",
        "void run() { k<<<1, 1>>>([] { return nullptr; }()); } int last() \\\n{ return 1; }",
        "template <class T> void launch(T* x) { cudaFree(x); }\ntemplate void launch<float>(float*);",
        "int main() { auto f = [=] __device__ (int i) { return i; }; return 0; }",
    ],
)  # fmt: skip
def test_host_code_beside_a_kernel_is_left_out(host: str) -> None:
    assert compile_cuda(f"{host}\n{KERNEL}// 1 {hash(host)}").ptx.count(".entry") == 1
    assert compile_cuda(f"{KERNEL}{host}\n// 2").ptx.count(".entry") == 1


@pytest.mark.parametrize(
    ("header", "type_name"),
    [
        ("cublas_v2.h", "__nv_bfloat16"), ("cublasLt.h", "__half"), ("cublas_v2.h", "cuComplex"), ("nccl.h", "half"),
        ("cufft.h", "cufftComplex"), ("cufftXt.h", "cufftDoubleReal"), ("cusparse.h", "cuDoubleComplex"),
        ("torch/extension.h", "half"), ("ATen/cuda/CUDAContext.h", "__nv_bfloat16"),
    ],
)  # fmt: skip
def test_a_header_of_the_host_gives_kernels_the_types_that_they_have_of_it(header: str, type_name: str) -> None:
    ptx = compile_cuda(
        f"#include <{header}>\n__global__ void k({type_name}* x, const {type_name}* y) {{ *x = *y; }}"
    ).ptx
    assert "st.global" in ptx


@pytest.mark.parametrize("header", ["glob.h", "error.h", "vulkan/vulkan.h", "OpenGL/gl.h", "GLUT/glut.h"])
def test_headers_of_the_host_alone_are_in_no_kernels_way(header: str) -> None:
    assert ".entry" in compile_cuda(f"#include <{header}>\n{KERNEL}").ptx


@pytest.mark.timeout(300)  # 30,000 lines of headers, read three times
def test_headers_of_thrust_that_write_to_streams_go_together() -> None:
    source = (
        "#include <thrust/complex.h>\n#include <thrust/random.h>\n__global__ void k(float* x) {\n"
        "  thrust::minstd_rand random(3); thrust::uniform_real_distribution<float> uniform(0, 1);\n"
        "  x[0] = abs(thrust::complex<float>(x[1], 2)) + uniform(random); }"
    )
    assert "st.global" in compile_cuda(source).ptx


def test_the_device_part_is_the_same_code_as_without_the_host_part() -> None:
    alone = "__device__ int f(int x) { return 3 * x; }\n__global__ void k(int* x) { x[0] = f(x[1]); }\n"
    with_host = alone + "int main() { k<<<1, 1>>>(nullptr); }\n"
    assert compile_cuda(with_host).ptx == compile_cuda(alone).ptx


def test_a_host_device_function_and_a_constexpr_one_stay_device_code() -> None:
    source = (
        "__host__ __device__ int f() { return 7; }\nint host() { return 9; }\n"
        "constexpr int g(int x) { return x + 4; }\n"
        "__global__ void k(int* x) { __shared__ int s[g(1)]; s[0] = 1; x[0] = f() + g(2) + s[0]; }"
    )
    assert "14;" in compile_cuda(source).ptx


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        ("float helper(float v) { return v; }", "helper(1.0f)"),
        ("float factor = 2.0f;", "factor"),
        ("template <typename T> T helper(T v) { return v; }", "helper(1.0f)"),
        ("struct Pair { float a; Pair() { a = 1; } };", "Pair().a"),
    ],
)
def test_a_kernel_that_uses_host_code_is_told_where_that_is(declared: str, used: str) -> None:
    error = error_of(f"\n{declared}\n__global__ void k(float* x) {{ x[0] = {used}; }}")
    assert error.line == 3
    (note,) = error.errors[0].notes
    assert "is host code (line 2), which kernels cannot use: write __device__" in note


def test_an_overload_for_the_host_is_not_replaced_by_another() -> None:
    overloads = "__device__ int pick(long) { return 1; }\nint pick(int) { return 2; }\n"
    source = f"{overloads}__global__ void k(int* x) {{ x[0] = pick(3); }}"
    assert "deleted function" in error_of(source).message


def test_errors_of_kernels_are_told_without_the_host_functions() -> None:
    error = error_of("__global__ void k(float* x) { x[0] = nothing; }\nint main() { k<<<1, 1>>>(0); }")
    assert [(each.line, each.message) for each in error.errors] == [(1, 'identifier "nothing" is undefined')]


def test_a_misspelt_global_is_an_error_and_not_a_host_function() -> None:
    error = error_of(f"{KERNEL}_global__ void other(float* x) {{ x[0] = 1; }}")
    assert error.line == 2


def test_a_source_with_nothing_for_the_device_says_what_to_write() -> None:
    error = error_of("void k(float* x) { x[0] = 1; }")
    assert "neither a kernel nor device code" in error.message
    assert "write __global__ before a kernel" in str(error)


def test_a_missing_brace_is_told_and_hides_no_kernel() -> None:
    error = error_of("void host() { if (1) {\n}\n__global__ void k(int* x) { x[0] = 1; }")
    assert "__global__" in str(error) or "expected" in str(error)


def test_host_code_of_an_included_header_is_left_out_too(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.h").write_text("#define SEVEN 7\n")
    (tmp_path / "sub" / "check.h").write_text(
        '#pragma once\n#include "inner.h"\n#include <string>\ninline void fail(std::string s) { exit(1); }\n'
        "__device__ int device() { return SEVEN; }\n"
    )
    source = '#include "sub/check.h"\n__global__ void k(int* x) { x[0] = device(); }\nint main() { fail("x"); }'
    assert "7;" in compile_cuda(source, include_paths=[tmp_path]).ptx


@pytest.mark.parametrize("header", ["thrust/reduce.h", "strings.h", "unordered_set", "torch/extension.h", "omp.h",
                                    "cub/device/device_reduce.cuh", "thrust/complex.h", "helper_cuda.h"])  # fmt: skip
def test_headers_of_host_code_may_be_included(header: str) -> None:
    assert ".entry" in compile_cuda(f"#include <{header}>\n{KERNEL}").ptx


def test_declarations_are_found_with_their_ends() -> None:
    text = Text(
        "MACRO(float)\nnamespace a { struct S { int x; S() : x{1} {} int f() const { return 1; } } s; }\n"
        "template <class T> __global__ void __launch_bounds__(256) k(T* p) { }\nint v[] = {1, 2};\nenum E { A };"
    )
    tokens, _ = code_tokens(text)
    found = declarations(tokens)
    assert [(each.kind, each.name) for each in found] == [
        ("function", "MACRO"), ("class", "S"), ("function", "k"), ("other", ""), ("other", ""),
    ]  # fmt: skip
    assert [each.name for each in found[1].members] == ["", "S", "f"]
    assert [tokens[each.end].text for each in found] == [")", ";", "}", ";", ";"]


@pytest.mark.parametrize(
    ("program", "options", "templates", "kernels"),
    [
        ("torch_extension", (), ["add_kernel<float>", "add_kernel<double>"], 3),
        ("c_style", (), ["red<256>", "apply<Functor>"], 3),
        ("forward_declared", (), [], 1),
        ("modern", ("-std=c++20",), ["tile<float>"], 1),
    ],
)
def test_programs_of_several_styles_give_their_kernels(
    program: str, options: tuple[str, ...], templates: list[str], kernels: int
) -> None:
    source = (Path(__file__).parent / "programs" / f"{program}.cu").read_text()
    assert compile_cuda(source, options=options, names=templates).ptx.count(".entry") == kernels


def test_what_every_source_includes_leaves_nothing_in_the_module() -> None:
    ptx = compile_cuda('extern "C" __global__ void k(int* x) { *x = 1; }').ptx
    assert [line for line in ptx.splitlines() if line.lstrip().startswith((".global", ".const", ".shared"))] == []
