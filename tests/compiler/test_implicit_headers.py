"""What nvcc gives a source that includes nothing, or <cuda_runtime.h> alone, is there."""

from __future__ import annotations

import pytest

from gridstride.compiler import compile_cuda

TYPES = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "uintptr_t", "uint",
         "ushort", "ulong", "size_t")  # fmt: skip
VALUES = ("INFINITY", "NAN", "HUGE_VALF", "M_PI", "INT_MAX", "INT_MIN", "UINT_MAX", "LLONG_MAX", "CHAR_BIT",
          "std::sqrt(x[0])", "std::isnan(x[0])")  # fmt: skip


@pytest.mark.parametrize("header", ["", "#include <cuda_runtime.h>\n", "#include <stdint.h>\n#include <climits>\n"])
def test_types_and_macros_are_there(header: str) -> None:
    uses = "".join(f"{name} v{i} = x[0]; x[1] += v{i};" for i, name in enumerate(TYPES))
    uses += "".join(f"x[{i}] += {value};" for i, value in enumerate(VALUES))
    compiled = compile_cuda(f"{header}__global__ void k(float* x) {{ {uses} }}")
    assert not compiled.warnings


def test_infinity_is_a_constant_expression() -> None:
    source = (
        "constexpr float low = -INFINITY; __constant__ float start[2] = {-INFINITY, NAN};\n"
        "const double huge = HUGE_VAL;\n"
        "__global__ void k(float* x) { x[0] = low + start[0] + huge; }"
    )
    assert "ff800000" in compile_cuda(source).ptx.lower()


@pytest.mark.parametrize("own", ["typedef unsigned long uint64_t;", "struct uint { int a; };",
                                 "typedef unsigned int uint;", "#define INFINITY 1e30f",
                                 "#define uint unsigned int"])  # fmt: skip
def test_a_source_may_have_its_own(own: str) -> None:
    assert ".entry" in compile_cuda(f"{own}\n__global__ void k(float* x) {{ x[0] = 1; }}").ptx


def test_cuda_h_has_its_types_and_the_guard_of_nvidias() -> None:
    kernel = "__global__ void k(CUtexObject t, CUtensorMap m, CUdeviceptr p, float* x) { x[0] = t + p; }"
    guard = "#ifndef __cuda_cuda_h__\n#error NVIDIA's own would be read behind it\n#endif\n"
    assert ".entry" in compile_cuda(f"#include <cuda.h>\n#include <cudaTypedefs.h>\n{guard}{kernel}").ptx
