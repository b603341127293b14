"""NVIDIA's samples with kernels: what of each differs, and what tells that one is right that does not check itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from main_program import Main, c_random

import programs as public_samples

HEADERS = tuple(filter(None, os.environ.get("PUBLIC_INCLUDE", "").split(os.pathsep)))
"""Folders with headers of the vendor's that the wheels of `gridstride[programs]` do not bring (nvidia-curand's)."""
_CHECK = re.compile(r"\?\s*EXIT_SUCCESS\s*:\s*EXIT_FAILURE")
_KERNEL = re.compile(r"\b__global__\b|^\s*\.(?:visible )?entry\b", re.MULTILINE)
_SOURCES = (".cu", ".cuh", ".c", ".cpp", ".ptx")


def programs(root: Path) -> Iterator[Main]:
    """Those that have a kernel, built and run as their CMakeLists.txt says."""
    for each in public_samples.samples(root):
        sources = (path for path in each.folder.rglob("*") if path.suffix in _SOURCES)
        if any(_KERNEL.search(_text(path)) for path in sources):
            yield _program(each, root)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _program(each: public_samples.Sample, root: Path) -> Main:
    if each.elsewhere:
        return Main(each.name, each.folder, (), theirs=f"needs {each.elsewhere}")
    assert each.executable is not None
    files = tuple(word for word in each.executable[1] if word.endswith((".cu", ".cpp", ".c")))
    tells = any(_CHECK.search(_text(each.folder / name)) for name in files)
    include = (str(root / "Common"), str(each.folder / "inc"), *HEADERS)
    given = {"files": files, "status_tells": tells, **SAMPLES.get(each.name.rpartition("/")[2], {})}
    return Main(each.name, each.folder, include=include, libraries=each.libraries,
                prepare=partial(public_samples.prepare, each, root), **given)  # fmt: skip


# -- what programs print that do not check themselves -----------------------------------------------------------------
def printf_is_right(folder: Path, said: str) -> str:
    """Four blocks of eight threads say their numbers and the value."""
    found = set(re.findall(r"\[(\d), (\d)\]:\s*Value is:10", said))
    return "" if len(found) == 32 else f"{len(found)} of 32 threads printed"


def groups_are_right(folder: Path, said: str) -> str:
    """It prints what it expects beside each sum."""
    pairs = re.findall(r"is (\d+) \(expected (\d+)\)", said)
    return "" if len(pairs) == 5 and all(a == b for a, b in pairs) else f"sums and expected sums: {pairs}"


def odds_are_right(folder: Path, said: str) -> str:
    values = c_random(102400) % 50
    odd = values[values % 2 == 1]
    expected = [len(values), len(odd), odd.sum(), values.sum() - odd.sum()]
    found = [int(each) for each in re.findall(r"[=s] (\d+)", said.partition("Array size")[2])]
    return "" if found == expected else f"{found}, not {expected}"


def nested_blocks_are_right(folder: Path, said: str) -> str:
    """Every block of every launch has a number of its own, and says which block launched it."""
    expected = int(re.findall(r"=(\d+) blocks are launched", said)[0])
    blocks = re.findall(r"BLOCK (\d+) launched by (?:the host|thread \d of block (\d+))", said)
    parents = [int(parent) for _, parent in blocks if parent]
    numbers = sorted(int(number) for number, _ in blocks)
    right = numbers == list(range(expected)) and max(map(parents.count, parents)) <= 4
    return "" if right else f"blocks {numbers}, launched by {parents}"


def conditions_are_right(folder: Path, said: str) -> str:
    """How often each body of a conditional node runs."""
    expected = {
        "The condition was true": 2, "The condition was false": 1, "GPU: doWhileEmptyKernel": 20,
        **{f"from switchGraphKernel{each}": 1 for each in "CDEF"},
    }  # fmt: skip
    found = {each: said.count(each) for each in expected}
    counters = [int(each) for each in re.findall(r"GPU: counter = (\d+)", said)]
    right = [*range(9, -1, -1), 0, *range(10, 0, -1)]
    return "" if found == expected and counters == right else f"{found}, counters {counters}"


def graph_sums_are_right(folder: Path, said: str) -> str:
    """Each launch of each graph prints the same sum."""
    size = int(re.findall(r"(\d+) elements", said)[0])
    values = ((c_random(size) & 0xFF) / np.float32(2**31 - 1)).astype(np.float32)
    found = [float(each) for each in re.findall(r"reduced sum = ([\d.]+)", said)]
    expected = float(values.sum(dtype="f8"))
    return "" if len(found) == 12 and all(abs(each - expected) < 1e-5 for each in found) else f"{found}, not {expected}"


SIGNAL = 1024


def signal() -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).standard_normal(SIGNAL).astype(np.float32)


def haar() -> np.ndarray[Any, Any]:
    """The wavelet transform of the signal: the mean of all first, then details from coarse to fine."""
    means, details = signal().astype("f8"), []
    while len(means) > 1:
        details.insert(0, (means[::2] - means[1::2]) / np.sqrt(2))
        means = (means[::2] + means[1::2]) / np.sqrt(2)
    return np.concatenate([means, *details])


def text(numbers: np.ndarray[Any, Any]) -> bytes:
    return "".join(f"{each:.7f}\n" for each in numbers).encode()


TENSOR_CORES: dict[str, Any] = {
    "define": ("CPU_DEBUG=1",), "right": re.compile("Verifying correctness"),
    "edits": ((r"#define (M|N|K)_TILES \d+", r"#define \1_TILES 16"),),
}  # fmt: skip
"""Of a quarter of the size or less, and with the comparison that they have for debugging."""
MONTE_CARLO: dict[str, Any] = {"right": re.compile("Performance = ")}
"""They say so where a result does not match."""
REDUCTIONS = tuple(
    (f"--kernel={number}", f"--type={kind}", "--n=65536") for kind in ("int", "float", "double") for number in range(10)
)
COPIES = tuple((f"-kernel={number}", *(f"-{side}=128" for side in ("wA", "hA", "wB", "hB"))) for number in range(8))
FORGOTTEN = ((r"\A", "#include <iostream>\n#include <thrust/tuple.h>\n"),)
"""Headers that they take for included and that newer CCCL does not bring along."""


def kernels(count: int) -> tuple[tuple[str], ...]:
    """A run for each of the kernels that a program has."""
    return tuple((f"-kernel={number}",) for number in range(count))


def poisson_is_right(folder: Path, said: str) -> str:
    """It computes the solution by formula too, and compares nothing: their differences from the first value are."""
    worst = float(said.rpartition("Worst ")[2].split()[0])
    return "" if worst < 1e-3 else f"off by {worst:g} from the formula"


def least_is_right(folder: Path, said: str) -> str:
    """Each of 64 blocks found the least of the same numbers, which is 3."""
    found = re.findall(r"Least (\S+)", said)
    return "" if found == ["3"] * 64 else f"{len(found)} blocks: {sorted(set(found))}"


def least(copied: str) -> dict[str, Any]:
    """A sample that times a reduction and does not look at what it found: it prints that too."""
    printed = f'float least[NUM_BLOCKS]; {copied}; for (float each : least) printf("Least %g ", each);'
    numbers = (r"input\[i\]\s*= \(float\)i;", "input[i] = (float)((i * 211 + 7) % 509 + 3);")
    return {
        "edits": (numbers, (r"(?=checkCudaErrors\(cu(?:da|Mem)Free\(dinput\)\))", printed)),
        "check": least_is_right,
    }


_WORST = """float worst = 0;
    for (int i = 0; i < N * N; i++) worst = fmaxf(worst, fabsf(out[i] - out[0] - u_a[i] + u_a[0]));
    printf("Worst %g ", worst);
    // cleanup memory"""
POISSON = {"gpus": 2, "edits": ((r"// cleanup memory", _WORST),), "check": poisson_is_right}
NEVER = re.compile("(?!)")
TIMES = "prints times alone"
SAMPLES: dict[str, dict[str, Any]] = {
    "matrixMul": {"runs": (("-wA=64", "-hA=64", "-wB=64", "-hB=64"),)},
    "simplePrintf": {"check": printf_is_right},
    "simpleCooperativeGroups": {"check": groups_are_right},
    "simpleAssert": {"right": re.compile("returned OK"), "wrong": NEVER},
    "simpleAssert_nvrtc": {"right": re.compile("failed as expected"), "wrong": NEVER},
    "clock": least("cudaMemcpy(least, doutput, sizeof(least), cudaMemcpyDeviceToHost)"),
    "clock_nvrtc": least("cuMemcpyDtoH(least, doutput, sizeof(least))"),
    "StreamPriorities": {"status_tells": True},
    "p2pBandwidthLatencyTest": {"unchecked": TIMES},
    "MC_EstimatePiInlineP": MONTE_CARLO, "MC_EstimatePiInlineQ": MONTE_CARLO, "MC_EstimatePiP": MONTE_CARLO,
    "MC_EstimatePiQ": MONTE_CARLO, "MC_SingleAsianOptionP": MONTE_CARLO,
    "convolutionTexture": {"edits": ((r"3072", "512"), (r"iterations\s+= 10", "iterations = 1"))},
    "simpleP2P": {"gpus": 2}, "simpleMultiGPU": {"gpus": 2}, "streamOrderedAllocationP2P": {"gpus": 2},
    "simpleCUFFT_MGPU": {"gpus": 2}, "simpleCUFFT_2d_MGPU": POISSON,
    "UnifiedMemoryPerf": {
        "edits": ((r"maxSampleSizeInMb = 64", "maxSampleSizeInMb = 1"), (r"numKernelRuns\s+= 20", "numKernelRuns = 2")),
        "late": True, "status_tells": True,
    },
    "scan": {"edits": ((r"iCycles\s*= 100", "iCycles = 1"),)},
    "reduction": {"runs": REDUCTIONS}, "threadFenceReduction": {"runs": ((), ("--multipass",))},
    "segmentationTreeThrust": {"edits": FORGOTTEN, "limit": 300}, "cdpQuadtree": {"edits": FORGOTTEN},
    "globalToShmemAsyncCopy": {"runs": COPIES, "edits": ((r"nIter = 100", "nIter = 1"),)},
    "alignedTypes": {"edits": ((r"50000000", "500000"), (r"(NUM_ITERATIONS\s*=?\s*)32", r"\g<1>1"))},
    "NV12toBGRandResize": {"unchecked": "writes pictures, and compares none", "limit": 300},
    "binaryPartitionCG": {"check": odds_are_right},
    "cdpSimplePrint": {"check": nested_blocks_are_right},
    "cdpSimpleQuicksort": {"right": re.compile(r"Validating results: OK")},
    "cdpBezierTessellation": {"unchecked": "prints nothing of its lines"},
    "graphConditionalNodes": {"check": conditions_are_right},
    "graphMemoryFootprint": {"limit": 300, "right": re.compile("all graphs use a different virtual address")},
    "simpleCudaGraphs": {"check": graph_sums_are_right, "edits": ((r"1 << 24", "1 << 18"),)},
    "cudaTensorCoreGemm": TENSOR_CORES, "immaTensorCoreGemm": TENSOR_CORES,
    "bf16TensorCoreGemm": {**TENSOR_CORES, "runs": kernels(3)},
    "tf32TensorCoreGemm": {**TENSOR_CORES, "runs": kernels(3)},
    "dmmaTensorCoreGemm": {**TENSOR_CORES, "runs": kernels(4)},
    "conjugateGradient": {"right": re.compile(r"Error amount = 0\.00")},
    "conjugateGradientCudaGraphs": {"right": re.compile(r"Error amount = 0\.00")},
    "dwtHaar1D": {
        "inputs": {"signal": text(signal()), "gold": text(haar())}, "right": re.compile("Test success"),
        "runs": (("--signal=signal", "--result=result", "--gold=gold"),),
    },
}  # fmt: skip
"""What differs for a sample, by its name: arguments and edits for sizes that a simulator ends in time; what tells."""
