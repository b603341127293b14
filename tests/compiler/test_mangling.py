"""Types of parameters from lowered names, held against what the compiler makes of declarations."""

from __future__ import annotations

import pytest

from gridstride.compiler import compile_cuda
from gridstride.compiler.mangling import compiled_types, type_argument

HEAD = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuComplex.h>
#include <cuda/std/complex>
#define REAL double
struct S { float a; };
enum E : short { A };
namespace ns { template <class T, int N> struct Box { T v; }; typedef float2 Complex; }
"""
CASES = [
    ("const float* x, float *__restrict__ y, int n",
     [("const float*", "float32"), ("float*", "float32"), ("int", "int32")]),
    ("REAL* x, const REAL y", [("double*", "float64"), ("double", "float64")]),
    ("ns::Complex* z, const cuFloatComplex* c", [("float2*", "float32"), ("const float2*", "float32")]),
    ("const cuda::std::complex<float>* c", [(None, "complex64")]),
    ("half* h, const __nv_bfloat16* b, half2* p, half v",
     [("__half*", "float16"), ("const __nv_bfloat16*", "bfloat16"), ("__half2*", "float16"), ("__half", "float16")]),
    ("bool b, char c, signed char s, unsigned char u, const bool* p",
     [("bool", "bool"), ("char", "int8"), ("signed char", "int8"), ("unsigned char", "uint8"),
      ("const bool*", "bool")]),
    ("size_t n, long l, long long ll, uint64_t u, unsigned short s",
     [(None, "uint64"), ("long", "int64"), ("long long", "int64"), (None, "uint64"), ("unsigned short", "uint16")]),
    ("S s, E e, ns::Box<S, 3> b, ns::Box<S, 3>* q, S* p",
     [("S", None), ("E", None), ("ns::Box<S, 3>", None), ("ns::Box<S, 3>*", None), ("S*", None)]),
    ("float a[4], float (&r)[3], const volatile int* v, float** pp, void* raw",
     [("float*", "float32"), (None, None), ("const int*", "int32"), ("float**", None), ("void*", None)]),
    ("void (*f)(int, float*), float4* v, float4 w, const float* const* t",
     [(None, None), ("float4*", "float32"), ("float4", None), (None, None)]),
    ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "expected"), CASES)
def test_types_are_those_that_the_compiler_settled(parameters: str, expected: list) -> None:
    source = f"{HEAD}__global__ void k({parameters}) {{}}\ntemplate <class T> __device__ char type_of;"
    compiled = compile_cuda(source, names=["&type_of<decltype(k)>"])
    for found in (compiled_types(compiled.names["k"]), type_argument(compiled.names["&type_of<decltype(k)>"])):
        assert found is not None
        assert [each.dtype for each in found] == [dtype for _, dtype in expected]
        assert all(each.spelled == spelled for each, (spelled, _) in zip(found, expected, strict=True) if spelled)


@pytest.mark.parametrize(
    ("expression", "dtypes"),
    [
        ("tile<float, 16>", ["float32", "float32", None, "int32"]),
        ("tile<half, -3>", ["float16", "float16", None, "int32"]),
        ("tile<ns::Box<int, 2>, 1>", [None, None, None, "int32"]),
        ("many<float, int*>", ["float32", "int32"]),
    ],
)
def test_a_templates_arguments_are_put_in(expression: str, dtypes: list) -> None:
    source = (
        f"{HEAD}template <class T, int N> __global__ void tile(const T* x, T y, ns::Box<T, N>* z, int n) {{}}\n"
        "template <class... T> __global__ void many(T... t) {}"
    )
    lowered = compile_cuda(source, names=[expression]).names[expression]
    types = compiled_types(lowered)
    assert types is not None
    assert [each.dtype for each in types] == dtypes


@pytest.mark.parametrize("lowered", ["saxpy", "_Z", "_Z1k", "_Z1kDTfp_E", "_Z1kPS5_", "_Z99k", "_ZN1aE"])
def test_a_name_that_does_not_tell_gives_no_types(lowered: str) -> None:
    assert not compiled_types(lowered)
