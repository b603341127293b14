"""Signatures of __global__ functions, read from their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.compiler import KernelSignature, signatures


def only(source: str) -> KernelSignature:
    (signature,) = signatures(source).values()
    return signature


def types(source: str) -> list[tuple[str, str, bool, str | None]]:
    return [(p.name, p.type, p.pointer, p.dtype) for p in only(source).parameters]


def test_a_plain_kernel() -> None:
    assert types("__global__ void saxpy(int n, float a, const float* x, float* y) {}") == [
        ("n", "int", False, "int32"),
        ("a", "float", False, "float32"),
        ("x", "const float*", True, "float32"),
        ("y", "float*", True, "float32"),
    ]


@pytest.mark.parametrize(
    "declaration",
    [
        "__global__ void k(int n) {}",
        "__global__ void k(int n);",
        'extern "C" __global__ void k(int n) {}',
        'extern "C" { __global__ void k(int n) {} }',
        "static __global__ void k(int n) {}",
        "void __global__ k(int n) {}",
        "__global__ void __launch_bounds__(256, 2) k(int n) {}",
        "__global__ __launch_bounds__(A * (B + 1)) void k(int n) {}",
        "__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) k(int n) {}",
        "[[maybe_unused]] __global__ [[gnu::cold]] void k(int n) {}",
        '__attribute__((used)) __global__ __attribute__((section(".x"))) void k(int n) {}',
        "__global__ void BOUNDS(256) k(int n) {}",
        "__global__ void // the name follows\n k /* here */ (int n /* count */) {}",
        "namespace { __global__ void k(int n) {} }",
        "__global__ void \\\n k(int n) {}",
        '#define NAME "}{"\nconst char* s = "{ __global__ void no(int) {}";\n__global__ void k(int n) {}',
        'const char* s = R"(__global__ void no() {})";\n__global__ void k(int n) {}',
        "/* __global__ void no() {} */ __global__ void k(int n) {}",
        "#if 0\n}\n#endif\n__global__ void k(int n) {}",
    ],
)
def test_however_it_is_declared(declaration: str) -> None:
    assert str(only(declaration)) == "k(int n)"


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("const float* __restrict__ x", ("x", "const float*", True, "float32")),
        ("float const * const __restrict__ x", ("x", "float const* const", True, "float32")),
        ("float **x", ("x", "float**", True, None)),
        ("const float* const* x", ("x", "const float* const*", True, None)),
        ("float x[16]", ("x", "float*", True, "float32")),
        ("float (&x)[16]", ("x", "float (&x)", True, None)),
        ("int n = 4", ("n", "int", False, "int32")),
        ("int n = f(1, 2)", ("n", "int", False, "int32")),
        ("unsigned n", ("n", "unsigned", False, "uint32")),
        ("unsigned long long* n", ("n", "unsigned long long*", True, "uint64")),
        ("unsigned char c", ("c", "unsigned char", False, "uint8")),
        ("size_t n", ("n", "size_t", False, "uint64")),
        ("std::size_t n", ("n", "std::size_t", False, "uint64")),
        ("const int", ("", "const int", False, "int32")),
        ("float*", ("", "float*", True, "float32")),
        ("bool b", ("b", "bool", False, "bool")),
        ("const half2* h", ("h", "const half2*", True, "float16")),
        ("const float4* v", ("v", "const float4*", True, "float32")),
        ("float4 v", ("v", "float4", False, None)),
        ("__nv_bfloat16* b", ("b", "__nv_bfloat16*", True, "bfloat16")),
        ("Params p", ("p", "Params", False, None)),
        ("struct Params p", ("p", "Params", False, None)),
        ("const __grid_constant__ CUtensorMap map", ("map", "const CUtensorMap", False, None)),
        ("const __grid_constant__ Params& p", ("p", "const Params&", False, None)),
        ("ns::Pair<int, 2> p", ("p", "ns::Pair<int, 2>", False, None)),
        ("void (*f)(int, int)", ("f", "void (*f)(int, int)", True, None)),
        ("[[maybe_unused]] int n", ("n", "int", False, "int32")),
        ("alignas(16) int n", ("n", "int", False, "int32")),
        ("uint8_t* __restrict x", ("x", "uint8_t*", True, "uint8")),
    ],
)
def test_parameters(parameter: str, expected: tuple[str, str, bool, str | None]) -> None:
    assert types(f"__global__ void k({parameter}) {{}}") == [expected]


def test_no_parameters() -> None:
    assert types("__global__ void k() {}") == []
    assert types("__global__ void k(void) {}") == []


def test_template_parameters_are_as_written() -> None:
    signature = only("template <typename T, int N = 4, bool B = (1 > 2)>\n__global__ void k(T* x) {}")
    assert signature.template == ("typename T", "int N = 4", "bool B = (1 > 2)")
    assert signature.parameters[0].dtype is None
    assert signature.line == 2


def test_a_template_header_does_not_reach_the_next_kernel() -> None:
    found = signatures("template <int N> struct S { int a; };\n__global__ void k() {}\n")
    assert found["k"].template == ()


def test_namespaces_belong_to_the_name() -> None:
    source = "namespace a::b { namespace { struct S {}; __global__ void k() {} } }\n__global__ void outside() {}"
    assert list(signatures(source)) == ["a::b::k", "outside"]


def test_a_namespace_alias_opens_nothing() -> None:
    assert list(signatures("namespace cg = cooperative_groups;\n__global__ void k() {}")) == ["k"]


@pytest.mark.parametrize("alias", ["using real = float;", "typedef float real;", "#define real float"])
def test_names_given_to_types_are_followed(alias: str) -> None:
    assert types(f"{alias}\n__global__ void k(const real* x) {{}}") == [("x", "const real*", True, "float32")]


def test_a_circle_of_aliases_ends() -> None:
    assert types("using a = b;\nusing b = a;\n__global__ void k(a x) {}")[0][3] is None


def test_several_kernels_keep_their_order_and_lines() -> None:
    found = signatures("\n__global__ void b() {}\n\n__global__ void a() {}\n__global__ void b(int) {}")
    assert [(s.name, s.line, len(s.parameters)) for s in found.values()] == [("b", 2, 0), ("a", 4, 0)]


@given(st.text() | st.text(alphabet="__global__ void k(){}<>[],;=*&:#\n\"'/\\template "))
def test_any_text_can_be_read(text: str) -> None:
    for source in (text, "__global__ " + text, "template <" + text + "__global__ void k(" + text):
        assert all(1 <= signature.line <= source.count("\n") + 1 for signature in signatures(source).values())
