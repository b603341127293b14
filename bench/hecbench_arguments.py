"""How HeCBench's programs are run on a simulator: bench/hecbench.py."""

from __future__ import annotations

import re

ARGUMENTS: dict[str, str] = {
    "ace": "2",
    "bh": "2000 1",
    "bincount": "100000 1",
    "blas-gemmEx": "256 256 256 1",
    "blockAccess": "1024 1024 1",
    "bsearch": "1048576 1",
    "divergence": "input.txt 1",
    "dwconv": "4 16 56 56 1",
    "ert": "64 64",
    "gamma-correction": "1920 1080 256 1",
    "keogh": "256 100000 1",
    "logprob": "64 8 50257 1",
    "matrix-rotate": "1000 1",
    "moe": "4096 384 1 1",
    "particle-diffusion": "20 1",
    "particlefilter": "-x 128 -y 128 -z 10 -np 2000",
    "rainflow": "10000 1",
    "relu": "1000000 1",
    "ring": "1 1048576 1",
    "scatterThrust": "1000000 1",
    "sddmm-batch": "4 256 256 256 256 1 1",
    "spd2s": "2008 2008 15061 1",
    "split": "1048576 1",
    "spsort": "2008 2008 15061 1",
    "streamUM": "4 40 1",
    "su3": "-i 1 -l 8 -t 128 -v 3 -w 1",
    "thomas": "1024 256 64 1",
    "upsample": "4 64 64 64 1",
    "warpexchange": "1024 1024 1",
}
"""Arguments for those of a run: line that would take too long."""
CONSTANTS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ace": (("main.cu", "SIZE 400", "SIZE 40"),),
    "addBiasResidualLayerNorm": (("main.cu", "m = 4096", "m = 128"), ("main.cu", "n <= 8192", "n <= 512")),
    "bitpermute": (("main.cu", "permute(27", "permute(17"), ("main.cu", "permute(28", "permute(18")),
    "bn": (("main.cu", "ITER = 100", "ITER = 2"),),
    "ert": (("main.cu", "MAX      33554432", "MAX 1048576"),),
    "f16sp": (("kernels.h", "(1024 * 1024)", "(1024)"), ("main.cu", "i < 1000", "i < 1")),
    "graphExecution": (("main.cu", "1<<27", "1<<18"),),
    "grrt": (("constants.h", "#define IMAGE_SIZE\t\t\t\t  1024", "#define IMAGE_SIZE 32"),),
    "hmm": (("HiddenMarkovModel.cu", "= 4096;", "= 256;"), ("HiddenMarkovModel.cu", "nObs = 250", "nObs = 10")),
    "hypterm": (("utils.h", "define D 308", "define D 52"),),
    "mandelbrot": (
        ("mandel.hpp", "row_size = 1080", "row_size = 108"),
        ("mandel.hpp", "col_size = 1920", "col_size = 192"),
    ),
    "pitch": (("main.cu", "i < 11", "i < 3"),),
    "prefetch": (("main.cu", "64 * 1024 * 1024", "1024 * 1024"),),
    "quant3MatMul": (("main.cu", "n = 12288", "n = 256"),),
    "rotary": (("main.cu", "* 10000;", "* 200;"),),
    "ssm": (("main.cu", "kBatch  = 32", "kBatch  = 1"), ("main.cu", "kDim    = 2048", "kDim    = 64")),
}
"""Sizes that stand in a source: file, what it says, and what the copy of it says instead."""
GPUS = {"p2p": 2, "ring": 2}
"""Those whose subject is several GPUs."""
MAKE = {"ace": "EXTRA_CFLAGS=-DVERIFY", "bsearch": "EXTRA_CFLAGS=-DDEBUG"}
"""Words for make beside the program's own: a check that is compiled only where it is asked for."""
_MEANS = "0.597 2.626 6.80 0.696 2.726 6.68 0.697 2.705 6.682 0.72 2.786 6.622"
CHECKED_BY_HAND: dict[str, tuple[str, str]] = {
    "blas-gemmEx": (
        r"(?s)fp64: 86\.669.*fp32: 86\.669.*fp16: 86\.6.*bf16: 86\.5.*int8: 86\.669",
        "one product in five types",
    ),
    "bsearch": (r"\(bs4\)", "the fourth search, and no incorrect result before it"),
    "divergence": (
        r"GPU\n(?:(?:0|-?\d(?:\.\d+)?e-1[5-9])\s+){32}Total",
        "differences from the file's answers, none above 1e-14",
    ),
    "dwconv": (
        "(?s)" + ".*".join(rf"Checksum = {re.escape(each)}" for each in _MEANS.split()),
        "the means of a convolution in float64, with libc's random numbers",
    ),
    "ert": (
        r"(?s)checksum: -524288\.0+\n.*checksum: -262144\.0+\n.*checksum: -131072\.0+\n",
        "-1 in every element, which its kernels keep",
    ),
    "f16sp": (
        r"(?s)\A(?!.*Error rate: (?!\d\.\d+e-0[3-9]|0\.0+e\+00)).*cublasDot.*Error rate",
        "errors of 1 % at most",
    ),
    "sw4ck": (r"Error = 0 %", "the norm of its answer, against the one that it knows"),
    "hypterm": (r"(?s)(?:RMS Error : \d\.\d+e-[12]\d\b.*){5}", "five errors below 1e-9"),
}
"""Of programs that print numbers and leave the check to the reader: what the output must have, and why."""
OPENMP = {"grrt": ("main.cpp", ("Output_task1.txt", "Output_task2.txt"), 1e-3)}
"""Of programs that only write files: the source of the collection's OpenMP version, which runs on the host, the files
whose numbers must be the same, and how much they may differ. `grrt` goes in steps whose lengths follow from what is
rounded: the host's own answers with and without fused multiplications differ by as much."""
THEIRS = {
    "layernorm": "a race of theirs: no barrier between the reads of BlockReduce's result and the next BlockReduce",
    "ssm": "a race of theirs: blocks take what the blocks of the chunk before leave in memory, and wait for nothing",
}
"""Why a program that is wrong here is wrong, where that was looked into and is the program's own."""
ELSEWHERE: dict[str, str] = {}
"""What keeps a drawn one from running here, though its Makefile does not say so."""
NO_DATA = {"tsne": "its data folder's files"}
"""Files that a program opens by a name of its own and that a copy of the collection does not have."""
