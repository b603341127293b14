"""Whole programs of public collections, at sizes that a simulator ends in time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import rodinia
import samples
from main_program import Main


def programs(root: Path) -> Iterator[Main]:
    """Those of a collection."""
    yield from {
        "cuda-samples": samples.programs,
        "llm.c": llm,
        "fast.cu": fast,
        "gpu-rodinia": rodinia.programs,
    }[root.name](root)


CUBLAS = str(Path(__file__).resolve().parent / "cublas")
LLM_EDITS = (
    (r"\b(int|int64_t) B = \d+;", r"\1 B = 2;"), (r"\b(int|int64_t) T = \d+;", r"\1 T = 64;"),
    (r"\b(int|int64_t) V = \d+;", r"\1 V = 1027;"), (r"repeat_times = \d+", "repeat_times = 1"),
    (r"\bint C = (768|1600);", "int C = 256;"), (r"\bint OC = .*?;", "int OC = 4 * C;"),
    (r"\bint NH = 12;", "int NH = 4;"), (r"i < repeats; i\+\+", "i < 1; i++"),
    (r"deviceProp\.l2CacheSize", "4096"), (r"num_parameters = \d+", "num_parameters = 8192"),
    (r"(\bint (?:sqrt_)?block_sizes\[\] = )\{[^}]*\};", r"\1{LLM_BLOCKS};"),
)  # fmt: skip
"""Sizes that a simulator ends in time, each kernel timed once, two sizes of block."""
LLM: dict[str, tuple[int, ...]] = {
    "adamw": (1, 2), "attention_forward": (1, 2, 3, 4, 5, 6), "attention_backward": (1, 2, 3, 4, 5, 6, 7, 8),
    "classifier_fused": (1, 2, 3, 4, 5), "crossentropy_forward": (1,), "crossentropy_softmax_backward": (1,),
    "encoder_forward": (1, 2, 3), "encoder_backward": (1, 2), "fused_residual_forward": (1, 2, 3, 4, 5, 6),
    "gelu_forward": (1, 2), "gelu_backward": (1, 2), "global_norm": (1, 2, 3, 4),
    "layernorm_forward": (1, 2, 3, 4, 5, 6), "layernorm_backward": (2, 3, 4, 5, 6, 7, 8, 9, 10),
    "matmul_forward": (1, 2, 4), "matmul_backward": (1,),
    "matmul_backward_bias": (1, 2, 3, 4, 7, 8, 9), "permute": (1,), "residual_forward": (1, 2),
    "softmax_forward": (1, 2, 3, 4, 5, 6, 7, 8), "trimat_forward": (0, 1, 2, 3, 4),
}  # fmt: skip


LLM_ROWS = {"attention_backward": 256, "fused_residual_forward": 128, "trimat_forward": 128}
"""T of programs whose kernels take whole blocks of 128 or 256 rows."""
LLM_BLOCKS = {"matmul_forward": "8, 16", "global_norm": "512, 1024", "matmul_backward_bias": "768, 1024"}
"""Blocks of programs that take others: global_norm asserts that fewer than 1024 of them fill the GPU, and
matmul_backward_bias has room for the sums of 32, of which smaller ones need more on a chip of 132 multiprocessors.
"""


def llm(root: Path) -> Iterator[Main]:
    """The programs of dev/cuda, each of which compares every version of a kernel with a loop on the CPU."""
    for name, versions in LLM.items():
        rows = ((r"\bint T = \d+;", f"int T = {LLM_ROWS[name]};"),) if name in LLM_ROWS else ()
        blocks = (LLM_EDITS[-1][0], LLM_EDITS[-1][1].replace("LLM_BLOCKS", LLM_BLOCKS.get(name, "64, 256")))
        yield Main(
            name, root / "dev" / "cuda", (f"{name}.cu",), headers=("common.h",), include=(CUBLAS, str(root)),
            runs=tuple((str(each),) for each in versions), right=re.compile("time|All results match|correct"),
            edits=(*LLM_EDITS[:-1], blocks, *rows),
        )  # fmt: skip


FAST_EDITS = (
    (r"long max_size = 8192", "long max_size = 512"), (r"repeat_times = 8", "repeat_times = 1"), (r"sleep\(5\);", ""),
    (r"const int N = 1 << 30", "const int N = 1 << 20"), (r"<<<1024, 1024", "<<<1, 32"),
    (r"#define NUM_(\w*)RUNS \d+", r"#define NUM_\1RUNS 1"),
    # A step of bfloat16 from 16 on is more than its check allows, and plain loops do not sum as cuBLAS does.
    (r"if \(diff > 0\.1\)", "if (diff > 0.1 + 0.008 * std::fabs(__bfloat162float(matRef[i])))"),
    (r"\b16, 8> schedule", "2, 2> schedule"), (r"16/CLUSTER_M, 8/CLUSTER_N", "2/CLUSTER_M, 2/CLUSTER_N"),
)  # fmt: skip


def fast(root: Path) -> Iterator[Main]:
    """The matrix products of an H100, each held against cuBLAS (here: plain loops), and the sums."""
    products = tuple(f"examples/matmul/matmul_{n}.cuh" for n in range(1, 13))
    yield Main("matmul", root, ("matmul.cu",), headers=products, include=(CUBLAS,), edits=FAST_EDITS, limit=600,
               define=("NDEBUG",),
               right=re.compile("KERNEL 12\n(?:.*\n)*?.*Average"))  # fmt: skip
    yield Main("sum", root, ("sum.cu",), edits=FAST_EDITS, limit=300, right=re.compile("(?i)correct|Sum"))
