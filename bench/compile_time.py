"""How long kernels take to compile for the virtual GPU, cold: `python bench/compile_time.py [--repeats N] [kernel …]`.

Processor time of one thread, from CUDA C++ to machine code that is loaded, after another kernel has brought LLVM and
the runtime to life: as a first launch has it (`first`: not optimised, where a kernel is long), and as optimised code
(`usual`), which takes its place once that has run for long enough (src/gridstride/virtual/machine/tiers.py). `observed`
are the builds with counters and the sanitizer.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from common import BENCH, ROOT, Row, machine, on_cores, publish

sys.path.insert(0, str(ROOT / "src"))

from gridstride.compiler.cuda.compile_cuda import compile_cuda
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.kernel import lower_kernel
from gridstride.virtual.lowering.observed.counting import Counting
from gridstride.virtual.lowering.observer import Observer
from gridstride.virtual.lowering.program import Lowered
from gridstride.virtual.machine import engine, runtime_objects
from gridstride.virtual.machine.tiers import QUICK_FROM
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.module import PtxModule

T = TypeVar("T")
KERNELS = ROOT / "src" / "gridstride" / "kernels"


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel file, its block and the seconds that its first code may take from CUDA C++ on."""

    file: Path
    limit: float
    block: tuple[int, int, int] | None = None

    def shape(self) -> BlockShape:
        """For the block given, or the file's own."""
        if self.block:
            return BlockShape.of(*self.block)
        line = re.search(r"^// block: (.*)$", self.file.read_text(), re.MULTILINE)
        assert line is not None
        sides = [_product(word) for word in line[1].split()]
        return BlockShape.of(*sides, *[1] * (3 - len(sides)))


CASES = {
    "200 dense lines (attention)": Case(BENCH / "kernels" / "attention.cu", 0.5, (16, 16, 1)),
    "decode_step/01_streamed": Case(KERNELS / "decode_step" / "rungs" / "01_streamed.cu", 5.0),
    "decode_step/02_specialised": Case(KERNELS / "decode_step" / "rungs" / "02_specialised.cu", 5.0),
    "sgemm, 8x8 registers, 80 of k unrolled": Case(BENCH / "kernels" / "unrolled_sgemm.cu", 5.0, (64, 1, 1)),
    "Keccak-f[1600], 24 rounds unrolled": Case(BENCH / "kernels" / "keccak.cu", 5.0, (128, 1, 1)),
    "matmul/08_double_buffer": Case(KERNELS / "matmul" / "rungs" / "08_double_buffer.cu", 5.0),
}


def _product(word: str) -> int:
    """What `32*10` is."""
    total = 1
    for factor in word.split("*"):
        total *= int(ast.literal_eval(factor))
    return total


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--repeats", type=int, default=3)
    words.add_argument("kernel", nargs="*", choices=[[], *CASES])
    asked = words.parse_args()
    started = machine()
    engine.prepare()
    rows = []
    with on_cores(1):
        for name in asked.kernel or CASES:
            print(f"compiling {name} …", file=sys.stderr)
            rows += measure(name, CASES[name], asked.repeats)
    publish("compile_time", rows, started)


def measure(name: str, case: Case, repeats: int) -> list[Row]:
    """A row for the fast build and one for the observed build."""
    source = case.file.read_text()
    nvrtc, ptx = timed(lambda: _nvrtc(source), repeats)
    parsing, module = timed(lambda: parse(ptx, filename=case.file.name), repeats)
    return [_row(name, case, build, {"nvrtc": nvrtc, "parse": parsing}, module, repeats) for build in BUILDS]


BUILDS: dict[str, Callable[[], Observer]] = {"fast": Observer, "observed": Counting}


def _row(name: str, case: Case, build: str, front: dict[str, float], module: PtxModule, repeats: int) -> Row:
    (entry,) = [f for f in module.functions.values() if f.kind == "entry"]
    instructions = sum(1 for _ in entry.instructions)
    lowering, lowered = timed(lambda: lower_kernel(module, entry.name, case.shape(), BUILDS[build]()), repeats)
    lines = lowered.ir.count("\n")
    first = _seconds(lowered, "quick" if lowered.lines >= QUICK_FROM else "usual", repeats)
    parts = {**front, "lower": lowering, "first": first, "usual": _seconds(lowered, "usual", repeats)}
    total = sum(seconds for part, seconds in parts.items() if part != "usual")
    figure = f"{total:.2f} s ({', '.join(f'{part} {seconds:.2f}' for part, seconds in parts.items())})"
    title = f"{name}, {build}: {instructions:,} PTX instructions, {lines:,} lines of IR"
    detail = {**parts, "instructions": instructions, "lines": lines}
    return Row(title, figure, f"{case.limit} s", total <= case.limit, detail=detail)


def _seconds(lowered: Lowered, effort: runtime_objects.Effort, repeats: int) -> float:
    """Of LLVM and the loader."""
    rare = engine.calls_rare(lowered.calls)
    return timed(lambda: engine.MachineCode(engine.compile_object(lowered.ir, effort=effort), rare=rare), repeats)[0]


def _nvrtc(source: str) -> str:
    """PTX from a compiler that has seen nothing of it."""
    with tempfile.TemporaryDirectory(prefix="gridstride-bench-") as folder:
        # A name of its own makes another key of the cache, and so does no kernel in it.
        return compile_cuda(source, filename=f"{Path(folder).name}.cu").ptx


def timed(call: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Median of processor seconds, and what the last call gave."""
    spent = []
    for _ in range(repeats):
        begun = time.process_time()
        result = call()
        spent.append(time.process_time() - begun)
    return statistics.median(spent), result


if __name__ == "__main__":
    main()
