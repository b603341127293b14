"""Few rows times a weight matrix on an H200: rungs and cuts against float64 and cuBLAS, and whole chains of layers.

    python bench/skinny_gemm_h200.py [--rows 1 2 4 8 16 32 64 128] [--seconds 100] [--results FOLDER]

Shapes of a 0.6 B Llama in bf16. A product is timed in a CUDA graph of launches that follow each other, each with its
own copy of the weights, more than 200 MB of them, so that L2 holds none. A chain is 28 layers of qkv, output, gate_up
and down, each fed by the one before, in one graph: cuBLAS with and without silu_mul behind gate_up, the op launched
plainly, launched early (programmatic stream serialisation), and early with the gate inside. Last comes a whole decode
step of bench/decode_h200.py. What no longer fits into the time is left out and said.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import common
import torch
import torch.nn.functional as F
from skinny_gemm_table import MARKS, MMA, SHAPES, copies, label, some_cuts, table
from torch import Tensor

from gridstride.judge.find import find
from gridstride.judge.header import KernelFile
from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.cut import STEP, Cut, cuts
from gridstride.kernels.skinny_gemm.op import RUNG, launch, skinny_gemm
from gridstride.kernels.torch_op import launcher
from gridstride.serve import linear

LAYER = ("qkv", "output", "gate_up", "down")
LAYERS = 28
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
SWEPT = (32, 128, 8)  # rows for which other cuts are timed, too,
SWEEP = 8  #   and how many
ERROR = {torch.float16: 1e-3, torch.bfloat16: 4e-3}  # relative 2-norm: one rounding to the result's type, no more
RESERVE = 5  # seconds that a measurement may take: it is not begun with fewer left

Variant = tuple[Cut, str]  # and a rung
Work = Callable[[], None]
Product = Callable[[Tensor, Tensor, bool], Tensor]


def normal(rows: int, columns: int, dtype: torch.dtype = torch.bfloat16, *, scale: float = 1.0) -> Tensor:
    return (torch.randn(rows, columns, device="cuda") * scale).to(dtype)


def weight(name: str) -> Tensor:
    """One matrix, scaled so that what goes through it neither grows nor fades."""
    n, k = SHAPES[name]
    return normal(n, k, scale=k**-0.5)


def off(y: Tensor, x: Tensor, w: Tensor, bias: Tensor | None = None, *, gated: bool = False) -> float:
    """Relative 2-norm of the distance from float64; NaN where y has one."""
    exact = F.linear(x.double(), w.double(), None if bias is None else bias.double())
    if gated:
        gate, up = exact.chunk(2, dim=-1)
        exact = F.silu(gate) * up
    return float((y.double() - exact).norm() / exact.norm())


def graph_us(work: Work, *, samples: int = 5, budget_us: float = 10_000) -> float:
    """Median microseconds of one replay of everything that `work` launches."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def once(repeats: int) -> float:
        start.record()
        for _ in range(repeats):
            graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / repeats

    once(1)
    repeats = max(1, min(50, int(budget_us / max(once(2), 1.0))))
    return statistics.median(once(repeats) for _ in range(samples))


class Bench:
    """What is measured, and the seconds left for it."""

    def __init__(self, rows: list[int], seconds: float) -> None:
        self.rows, self.end = rows, time.monotonic() + seconds
        self.swept, self.failed = [m for m in SWEPT if m in rows], set[Variant]()
        self.found: dict[str, Any] = {
            "device": torch.cuda.get_device_name(), "torch": torch.__version__, "errors": {}, "chains": {},
            "products": {}, "rungs": {}, "decode": {}, "marks": {}, "seconds": {}, "notes": [],
        }  # fmt: skip
        torch.manual_seed(0)
        self.weights = {name: [weight(name) for _ in range(copies(*SHAPES[name]))] for name in SHAPES}
        self.layers = [{name: weight(name) for name in LAYER} for _ in range(LAYERS)]
        self.multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count

    def say(self, text: str) -> None:
        self.found["notes"].append(text[:400])
        print(text, file=sys.stderr, flush=True)

    def late(self, before: str, *, seconds: float = RESERVE) -> bool:
        """Whether there is no time left for something that takes so long."""
        if time.monotonic() + seconds < self.end:
            return False
        self.say(f"out of time before {before}")
        return True

    def variants(self, name: str, m: int, count: int) -> list[Variant]:
        """The op's own cut and the next ones, then its own with mma.sync; without those that could not be launched."""
        found = some_cuts(m, *SHAPES[name], self.multiprocessors, count)
        both = [(each, RUNG) for each in found] + [(each, MMA) for each in found[:1]]
        return [each for each in both if each not in self.failed]

    def warm(self, wanted: Iterable[tuple[str, int, Variant, bool]]) -> None:
        """Compile side by side; a cut that cannot be launched is said, and not timed."""

        def attempt(one: tuple[str, int, Variant, bool]) -> None:
            name, m, (chosen, rung), gated = one
            n, k = SHAPES[name]
            try:
                y, w = torch.empty(m, n, device="cuda", dtype=torch.bfloat16), self.weights[name][0]
                launch(chosen, normal(m, k), w, None, y, gated=gated, fixed_weights=False, rung=rung)
            except Exception as error:
                self.failed.add((chosen, rung))
                self.say(f"{name} M={m} {label(chosen, rung)}: {error}")

        with ThreadPoolExecutor(max(1, min(12, len(common.CORES)))) as pool:
            list(pool.map(attempt, wanted))
        torch.cuda.synchronize()

    # -- sections ------------------------------------------------------------------------------------------------------
    def check(self) -> None:
        """The op in bf16 and every rung in float16, with and without a tail, on results that were poisoned."""
        errors, gates = self.found["errors"], {"gate_up": (False, True)}
        every = [(name, m, g) for name, m in product(LAYER, self.rows) for g in gates.get(name, (False,))]
        self.warm((name, m, one, gated) for name, m, gated in every for one in self.variants(name, m, 1)[:1])
        for (name, m, gated), early in product(every, (False, True)):
            w, x, bias = self.weights[name][0], normal(m, SHAPES[name][1]), normal(1, SHAPES[name][0])[0]
            y = skinny_gemm(x, w, bias, gated=gated, fixed_weights=early)
            errors[f"op {name} M={m} gated={gated} early={early}"] = off(y, x, w, bias, gated=gated)
        for m, file in product((1, 13, 32, 77), find("skinny_gemm").rungs()):
            n, k = 1000, 2080
            x, w, bias = normal(m, k, torch.float16), normal(n, k, torch.float16, scale=k**-0.5), normal(1, n)[0].half()
            y = torch.full((m, n), torch.nan, device="cuda", dtype=torch.float16)
            run_rung(file, x, w, bias, y)
            errors[f"{file.name} M={m}"] = off(y, x, w, bias)
        most = {True: ERROR[torch.bfloat16], False: ERROR[torch.float16]}
        wrong = {name: value for name, value in errors.items() if not value <= most[name.startswith("op")]}
        self.found["right"] = not wrong
        for name, value in wrong.items():
            self.say(f"WRONG {name}: {value:.2e}")

    def chains(self) -> None:
        """Microseconds of a layer's four products."""
        for m in (*self.swept, *(m for m in self.rows if m not in self.swept)):
            x = normal(m, 1024)
            for name, each in products().items():
                if self.late(f"chain {name} M={m}"):
                    return
                self.found["chains"].setdefault(str(m), {})[name] = graph_us(chain(x, self.layers, each)) / LAYERS

    def own(self) -> None:
        self._products(self.rows, 1)

    def sweep(self) -> None:
        self._products(self.swept, SWEEP)

    def _products(self, rows: Iterable[int], count: int) -> None:
        every = list(product(rows, SHAPES))
        self.warm((name, m, one, False) for m, name in every for one in self.variants(name, m, count))
        for m, name in every:
            if self.late(f"{name} M={m}"):
                return
            self.found["products"].setdefault(name, {})[str(m)] = self._product(name, m, count)

    def _product(self, name: str, m: int, count: int) -> dict[str, float]:
        n, k = SHAPES[name]
        x, y, many = normal(m, k), torch.empty(m, n, device="cuda", dtype=torch.bfloat16), self.weights[name]
        times = {"cuBLAS": graph_us(lambda: [torch.mm(x, w.T, out=y) for w in many] and None) / len(many)}
        for chosen, rung in self.variants(name, m, count):
            start = partial(launch, chosen, rung=rung, gated=False)

            def work(start: Callable[..., None] = start) -> None:
                for w in many:
                    start(x, w, None, y, fixed_weights=True)

            word = label(chosen, rung)
            times[word] = graph_us(work) / len(many)
            y.fill_(torch.nan)
            start(x, many[0], None, y, fixed_weights=False)
            if not (error := off(y, x, many[0])) <= ERROR[torch.bfloat16]:
                self.say(f"WRONG {name} M={m} {word}: {error:.2e}")
                times[word] = float("nan")
        return times

    def marks(self) -> None:
        """Cycles of the first block of each product of a chain, from mark to mark; medians of the layers."""
        for m in (32, 128):
            kept: list[tuple[int, Tensor]] = []

            def marked(x: Tensor, w: Tensor, gate: bool, m: int = m, kept: list[tuple[int, Tensor]] = kept) -> Tensor:
                (n, k), y = w.shape, x.new_empty(m, len(w))
                launch(cuts(m, n, k, multiprocessors=self.multiprocessors)[0], x, w, None, y, gated=False,
                       fixed_weights=True, TIMES=1)  # fmt: skip
                kept.append((n * k, y))
                return y

            if self.late(f"marks M={m}"):
                return
            graph_us(chain(normal(m, 1024), self.layers, marked), samples=1)
            for name, (n, k) in ((name, SHAPES[name]) for name in LAYER):
                read = [y.flatten()[:14].view(torch.float32) for size, y in kept[-4 * LAYERS :] if size == n * k]
                cycles = torch.stack(read).median(dim=0).values.tolist()
                self.found["marks"][f"{name} M={m}"] = dict(zip(MARKS, map(int, cycles), strict=True))

    def rungs(self) -> None:
        """Each rung at 32 rows, float16."""
        for name, file in product(LAYER, find("skinny_gemm").rungs()):
            if self.late(f"{file.name} {name}"):
                return
            n, k = SHAPES[name]
            many = [w.half() for w in self.weights[name][: 2 if file.name.startswith("01") else None]]
            x, bias, y = normal(32, k, torch.float16), normal(1, n)[0].half(), normal(32, n, torch.float16)

            def work(file: KernelFile = file, many: list[Tensor] = many, given: tuple[Tensor, ...] = (bias, y),
                     x: Tensor = x) -> None:  # fmt: skip
                for w in many:
                    run_rung(file, x, w, *given)

            self.found["rungs"].setdefault(file.name, {})[name] = graph_us(work, samples=3) / len(many)


@torch.inference_mode(False)
def decode(bench: Bench) -> None:
    """Milliseconds of a whole decode step of bench/decode_h200.py at 32 sequences, cuBLAS and the op."""
    import decode_h200

    for name, faster in (("cuBLAS", ()), ("skinny_gemm", ((128, 1 << 26),))):
        if bench.late(f"decode with {name}", seconds=20):
            return
        linear.FASTER = faster
        engine = decode_h200.runner(32, one_launch=False)
        bench.found["decode"][name] = decode_h200.ours(engine, 32)
        del engine
        gc.collect()
        torch.cuda.empty_cache()


def run_rung(file: KernelFile, x: Tensor, w: Tensor, bias: Tensor, y: Tensor) -> None:
    """One launch as the rung's header says."""
    (m, k), n = x.shape, len(w)
    assert file.launch is not None
    shape = file.launch.shape({"M": m, "N": n, "steps": k // STEP})
    run = launcher("skinny_gemm", file.name, x.device)
    run.serial(shape.grid, shape.block[0], x, w, bias, y, m, n, k // STEP, shared=shape.shared)


def products() -> dict[str, Product]:
    """What is compared: (x, weight, whether a gate belongs behind it) -> what the next product is fed with."""
    return {
        "cuBLAS": lambda x, w, gate: F.linear(x, w),
        "plain": lambda x, w, gate: skinny_gemm(x, w),
        "early": lambda x, w, gate: skinny_gemm(x, w, fixed_weights=True),
        "cuBLAS+silu": lambda x, w, gate: silu_mul(F.linear(x, w)) if gate else F.linear(x, w),
        "early+silu": lambda x, w, gate: skinny_gemm(x, w, gated=gate, fixed_weights=True),
    }


def chain(x: Tensor, layers: list[dict[str, Tensor]], each: Product) -> Work:
    """All layers; of a result that is wider than the next product wants, as many elements as that takes."""

    def part(y: Tensor, width: int) -> Tensor:
        return y.view(-1, width)[: len(x)]

    def work() -> None:
        state = x
        for layer in layers:
            seen = part(each(state, layer["qkv"], False), 2048)
            state = each(seen, layer["output"], False)
            state = each(part(each(state, layer["gate_up"], True), 3072), layer["down"], False)

    return work


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="of x; at most 128")
    parser.add_argument("--seconds", type=float, default=100, help="for everything")
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    words = parser.parse_args()
    common.need_gpu("skinny_gemm_h200.py")
    started = common.machine()
    bench = Bench(words.rows, words.seconds)
    with torch.inference_mode():
        for name, section in (
            ("check", bench.check), ("chains", bench.chains), ("own", bench.own), ("marks", bench.marks),
            ("decode", lambda: decode(bench)), ("rungs", bench.rungs), ("sweep", bench.sweep),
        ):  # fmt: skip
            begun = time.monotonic()
            try:
                section()
            except Exception as error:
                traceback.print_exc()
                bench.say(f"{name}: {error}")
            bench.found["seconds"][name] = round(time.monotonic() - begun, 1)
    path = common.save("skinny_gemm_h200", bench.found, started=started, folder=words.results)
    print("\n".join(table(bench.found)))
    print(json.dumps(bench.found["seconds"]), path)


if __name__ == "__main__":
    main()
