"""LeetCUDA's files that have a main() and compare nothing: their kernels are called with tensors, as others' launchers.

Each file is included by one that has the launchers, with its main() under another name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from leetcuda import FORMS, POINTWISE, TENSORS, Call, Program, addition, pointwise, product, random

TYPES = {"f32": "float", "f16": "half"}
WIDTHS = {"f32": 1, "f32x4": 4, "f16": 1, "f16x2": 2, "f16x8": 8, "f16x8_pack": 8}
"""Elements of a thread."""
TWO = "torch::Tensor x, torch::Tensor y"


def programs() -> Iterator[Program]:
    """All that are called."""
    for name, calls in (
        ("relu", [pointwise(f"relu_{form}", POINTWISE["relu"]) for form in FORMS]),
        ("elementwise", [addition(form) for form in FORMS]),
    ):
        arrays = ("x", "y") if name == "relu" else ("a", "b", "c")
        launched = {
            call.name: (
                ", ".join(f"torch::Tensor {each}" for each in arrays),
                f"int n = count_of({arrays[0]}); {call.name}_kernel<<<n / {256 * WIDTHS[form]}, 256>>>("
                + ", ".join(f"ptr<{TYPES[form[:3]]}>({each})" for each in arrays) + ", n);",
            )
            for form, call in zip(FORMS, calls, strict=True)
        }  # fmt: skip
        yield Program(f"nvidia-nsight/{name}", [f"nvidia-nsight/{name}.cu"], calls, launched=launched)
    yield Program("swizzle/mat_trans_swizzle", ["swizzle/mat_trans_swizzle.cu"], list(turned()), launched={
        call.name: (TWO, f"{call.name}_kernel<<<dim3(8, 4), dim3(32, 32)>>>(ptr<int>(x), 128, 256, ptr<int>(y));")
        for call in turned()
    })  # fmt: skip
    one = product("mma_simple_swizzle", (16, 8, 16), "f2")
    yield Program("swizzle/mma_simple_swizzle", ["swizzle/mma_simple_swizzle.cu"], [one], launched={
        one.name: (TENSORS, f"mma_simple_swizzle_kernel<16, 8, 16><<<1, 32>>>({HALVES}, 16, 8, 16);"),
    })  # fmt: skip
    forms = {"naive": "", "naive_smem_swizzle": "", "mma2x4_warp4x4": "", "mma2x4_warp4x4_smem_swizzle": "<8>"}
    calls = [product(f"hgemm_mma_m16n8k16_{form}", (256, 256, 128), "f2") for form in forms]
    yield Program("swizzle/hgemm_mma_swizzle", ["swizzle/hgemm_mma_swizzle.cu"], calls, launched={
        call.name: (TENSORS, f"launch_{call.name}{pad}({HALVES}, 256, 256, 128);")
        for call, pad in zip(calls, forms.values(), strict=True)
    })  # fmt: skip


HALVES = "ptr<half>(a), ptr<half>(b), ptr<half>(c)"


def turned() -> Iterator[Call]:
    """Whole numbers, so that nothing is rounded."""
    x = (1000 * random(128, 256)).astype("i4")
    for form in ("naive", "padding", "swizzle"):
        yield Call(f"mat_trans_smem_{form}", [x, np.zeros((256, 128), "i4")], x.T, tolerance=0)
