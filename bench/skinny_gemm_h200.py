"""Few rows times a weight matrix on an H200: rungs and cuts against float64 and cuBLAS, and whole chains of layers.

    python bench/skinny_gemm_h200.py [--rows 1 4 8 16 32 64] [--swept 8 16 32] [--seconds 100] [--results FOLDER]

Shapes of a 0.6 B Llama in bf16. A product is timed in a CUDA graph of launches that follow each other, each with its
own copy of the weights, more than 200 MB of them, so that L2 holds none; gate_up with its gate, for cuBLAS silu_mul. A
chain is 28 layers of qkv, output, gate_up and down, each fed by the one before, in one graph: cuBLAS, the op launched
plainly and early (programmatic stream serialisation), what serve/runner/cuda/linear.py takes, and at the `swept` rows
the op by each of the rules that cut.py names. Whole decode steps of bench/decode_h200.py come with cuBLAS, as served,
and with the op by the rule that this run says is best. The table names each case in which a rule chose badly. What no
longer fits into the time is left out and said.
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import common
import torch
import torch.nn.functional as F
from skinny_gemm_chains import Work, by, chain, products
from skinny_gemm_table import MARKS, SHAPES, best, copies, rule_at, rule_label, some_cuts, table
from torch import Tensor

from gridstride.judge.find import find
from gridstride.judge.header import KernelFile
from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm import cut as cutting
from gridstride.kernels.skinny_gemm.cut import CANDIDATES, MOST_ROWS, STEP, Tiling, TilingRule
from gridstride.kernels.skinny_gemm.op import launch, skinny_gemm
from gridstride.kernels.torch_op import launcher
from gridstride.serve.runner.cuda import linear

LAYER = ("qkv", "output", "gated", "down")
LAYERS = 28
ROWS = (1, 4, 8, 16, 32, 64)
SWEPT = (32, 16, 8)  # rows for which other cuts are timed, too
ERROR = {torch.float16: 1e-3, torch.bfloat16: 4e-3}  # relative 2-norm: one rounding to the result's type, no more
RESERVE = 5  # seconds that a measurement may take: it is not begun with fewer left


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
        return float(start.elapsed_time(end)) * 1e3 / repeats

    once(1)
    repeats = max(1, min(50, int(budget_us / max(once(2), 1.0))))
    return statistics.median(once(repeats) for _ in range(samples))


class Bench:
    """What is measured, and the seconds left for it."""

    def __init__(self, rows: list[int], swept: list[int], seconds: float) -> None:
        self.rows, self.swept, self.end = rows, swept, time.monotonic() + seconds
        self.failed = set[Tiling]()
        self.found: dict[str, Any] = {
            "device": torch.cuda.get_device_name(), "torch": torch.__version__, "errors": {}, "chains": {},
            "rules": {}, "products": {}, "rungs": {}, "decode": {}, "marks": {}, "seconds": {}, "notes": [],
        }  # fmt: skip
        torch.manual_seed(0)
        self.weights = {name: [weight(name) for _ in range(copies(*SHAPES[name]))] for name in SHAPES}
        self.layers = [{name: weight(name) for name in LAYER} for _ in range(LAYERS)]
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.multiprocessors = self.found["multiprocessors"] = torch.cuda.get_device_properties(0).multi_processor_count

    def say(self, text: str) -> None:
        self.found["notes"].append(text[:400])
        print(text, file=sys.stderr, flush=True)

    def late(self, before: str, *, seconds: float = RESERVE) -> bool:
        """Whether there is no time left for something that takes so long."""
        if time.monotonic() + seconds < self.end:
            return False
        self.say(f"out of time before {before}")
        return True

    def variants(self, name: str, m: int) -> list[Tiling]:
        """The op's own cut and, for rows that are swept, all others; without those that could not be launched."""
        found = some_cuts(m, *SHAPES[name], self.multiprocessors)
        return [
            each for each in (found if m in self.swept and name != "head" else found[:1]) if each not in self.failed
        ]

    def warm(self) -> None:
        """Compile side by side; a cut that cannot be launched is said, and not timed."""

        def attempt(one: tuple[str, int, Tiling]) -> None:
            name, m, chosen = one
            (n, k), gated = SHAPES[name], name == "gated"
            try:
                y = torch.empty(m, n // 2 if gated else n, device="cuda", dtype=torch.bfloat16)
                launch(chosen, normal(m, k), self.weights[name][0], None, y, gated=gated, fixed_weights=False)
            except Exception as error:
                self.failed.add(chosen)
                self.say(f"{name} M={m} {chosen.label}: {error}")

        def compile_rung(name: str) -> None:
            torch.empty(1, device=self.device)  # the thread has a context then
            launcher("skinny_gemm", name, self.device)

        every = [(name, m, one) for m, name in product(self.rows, SHAPES) for one in self.variants(name, m)]
        wanted = {(name == "gated", one): (name, m, one) for name, m, one in every}.values()
        with ThreadPoolExecutor(max(1, min(12, len(common.CORES)))) as pool:
            rungs = [pool.submit(compile_rung, file.name) for file in find("skinny_gemm").rungs()]
            list(pool.map(attempt, wanted))
            _ = [each.result() for each in rungs]
        torch.cuda.synchronize()

    # -- sections ------------------------------------------------------------------------------------------------------
    def check(self) -> None:
        """The op in bf16 and every rung in float16, with and without a tail, on results that were poisoned."""
        errors = self.found["errors"]
        for name, m, early in product(LAYER, self.rows, (False, True)):
            (n, k), w, gated = SHAPES[name], self.weights[name][0], name == "gated"
            x, bias = normal(m, k), normal(1, n)[0]
            y = skinny_gemm(x, w, bias, gated=gated, fixed_weights=early)
            errors[f"op {name} M={m} early={early}"] = off(y, x, w, bias, gated=gated)
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

    def rules(self) -> None:
        """The same by each candidate, whose cuts are all launched early."""
        for m in self.swept:
            x = normal(m, 1024)
            for rule in dict.fromkeys((rule_at(m), *CANDIDATES)):
                if self.late(f"rule {rule_label(rule)} M={m}"):
                    return
                each = by(rule, self.multiprocessors)
                try:
                    us = graph_us(chain(x, self.layers, each), samples=3) / LAYERS
                except Exception as error:
                    self.say(f"rule {rule_label(rule)} M={m}: {error}")
                    us = float("nan")
                self.found["rules"].setdefault(str(m), {})[rule_label(rule)] = us

    def products(self) -> None:
        """Each product by itself, the swept rows first."""
        for m, name in product((*self.swept, *(m for m in self.rows if m not in self.swept)), SHAPES):
            if self.late(f"{name} M={m}"):
                return
            self.found["products"].setdefault(name, {})[str(m)] = self._product(name, m)

    def _product(self, name: str, m: int) -> dict[str, float]:
        (n, k), many, gated = SHAPES[name], self.weights[name], name == "gated"
        x, out = normal(m, k), torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        y = torch.empty(m, n // 2, device="cuda", dtype=torch.bfloat16) if gated else out

        def cublas() -> None:
            for w in many:
                torch.mm(x, w.T, out=out)
                if gated:
                    silu_mul(out)

        times = {"cuBLAS": graph_us(cublas) / len(many)}
        for chosen in self.variants(name, m):
            start = partial(launch, chosen, gated=gated)

            def work(start: Callable[..., None] = start) -> None:
                for w in many:
                    start(x, w, None, y, fixed_weights=True)

            times[chosen.label] = graph_us(work, samples=3) / len(many)
            y.fill_(torch.nan)
            start(x, many[0], None, y, fixed_weights=False)
            if not (error := off(y, x, many[0], gated=gated)) <= ERROR[torch.bfloat16]:
                self.say(f"WRONG {name} M={m} {chosen.label}: {error:.2e}")
                times[chosen.label] = float("nan")
        return times

    def best_rule(self, m: int) -> TilingRule:
        """What was fastest for a chain of so many rows, or the op's own where nothing was timed."""
        word = best(self.found["rules"].get(str(m), {}))
        return next((rule for rule in CANDIDATES if rule_label(rule) == word), rule_at(m))

    def marks(self) -> None:
        """Cycles of the first block of each product of a chain, from mark to mark; medians of the layers."""
        m, kept = 32, list[tuple[int, Tensor]]()
        rule = self.best_rule(m)
        if self.late(f"marks of {rule_label(rule)}", seconds=8):
            return
        graph_us(chain(normal(m, 1024), self.layers, by(rule, self.multiprocessors, kept)), samples=1)
        for name, (n, k) in ((name, SHAPES[name]) for name in LAYER):
            read = [y.flatten()[:14].view(torch.float32) for size, y in kept[-4 * LAYERS :] if size == n * k]
            cycles = torch.stack(read).median(dim=0).values.tolist()
            self.found["marks"][f"{name} {rule_label(rule)}"] = dict(zip(MARKS, map(int, cycles), strict=True))

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


def decode(bench: Bench) -> None:
    """Milliseconds of a whole decode step of bench/decode_h200.py at 32 sequences."""
    import decode_h200

    rules, rows, fastest = cutting.RULES, linear.MOST_ROWS, bench.best_rule(32)
    for name, most, cut_by in (
        ("cuBLAS", 0, rules), ("served", rows, rules), ("best rule, always", MOST_ROWS, ((MOST_ROWS, fastest),)),
    ):  # fmt: skip
        if bench.late(f"decode with {name}", seconds=8):
            break
        linear.MOST_ROWS, cutting.RULES = most, cut_by
        with torch.inference_mode(False):
            engine = decode_h200.runner(32, one_launch=False)
            bench.found["decode"][name] = decode_h200.ours(engine, 32)
        del engine
        gc.collect()
        torch.cuda.empty_cache()
    linear.MOST_ROWS, cutting.RULES = rows, rules


def run_rung(file: KernelFile, x: Tensor, w: Tensor, bias: Tensor, y: Tensor) -> None:
    """One launch as the rung's header says."""
    (m, k), n = x.shape, len(w)
    assert file.launch is not None
    shape = file.launch.shape({"M": m, "N": n, "steps": k // STEP})
    run = launcher("skinny_gemm", file.name, x.device)
    run.serial(shape.grid, shape.block[0], x, w, bias, y, m, n, k // STEP, shared=shape.shared)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="of x; at most 128")
    parser.add_argument("--swept", type=int, nargs="*", default=list(SWEPT), help="of these, with which all cuts are")
    parser.add_argument("--seconds", type=float, default=100, help="for everything")
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    words = parser.parse_args()
    common.need_gpu("skinny_gemm_h200.py")
    started = common.machine()
    bench = Bench(words.rows, [m for m in words.swept if m in words.rows], words.seconds)
    with torch.inference_mode():
        for name, section in (
            ("warm", bench.warm), ("check", bench.check), ("rules", bench.rules), ("products", bench.products),
            ("decode", lambda: decode(bench)), ("chains", bench.chains), ("marks", bench.marks),
            ("rungs", bench.rungs),
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
