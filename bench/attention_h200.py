"""Times every rung of attention and PyTorch's kernels on a physical GPU, each held against float64.

    python bench/attention_h200.py [--out FOLDER] [--seconds 0.2]

Random data, events around batches of launches, rungs and peers in turn, medians; inputs together exceed the L2 cache.
Writes attention_h200.json: milliseconds, TFLOP/s (a causal mask halves the work) and the largest error of each.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torch
import torch.nn.functional as F
from common import RESULTS, save
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from gridstride.judge.find import find
from gridstride.judge.header import KernelFile
from gridstride.judge.symbols import evaluate
from gridstride.kernels.torch_op import launcher, multiprocessors

ROUNDS = 9
SLOW_RUNGS = ("01_thread_per_query", "02_shared_tile", "03_warp_tile")  # timed on the first shape alone
PEERS = ("CUDNN_ATTENTION", "FLASH_ATTENTION")


@dataclass(frozen=True, slots=True)
class Shape:
    """One case: `group` query heads share each head of keys and values."""

    batch: int
    heads: int
    group: int
    queries: int
    keys: int
    width: int
    causal: bool
    dtype: str = "float16"

    @property
    def flops(self) -> int:
        return 4 * self.batch * self.heads * self.queries * self.keys * self.width // (2 if self.causal else 1)


SHAPES = (
    Shape(1, 16, 2, 4096, 4096, 128, False),
    Shape(2, 16, 1, 8192, 8192, 128, True),
    Shape(2, 16, 1, 8192, 8192, 128, False, "bfloat16"),
    Shape(4, 32, 4, 2048, 2048, 64, True),
    Shape(16, 16, 1, 512, 512, 128, True),
    Shape(1, 16, 4, 64, 8192, 128, False),
)
Call = Callable[[], Tensor]


def drawn(shape: Shape) -> tuple[Tensor, Tensor, Tensor]:
    """Random q, k and v."""
    kv = (shape.batch, shape.heads // shape.group, shape.keys, shape.width)
    q = (shape.batch, shape.heads, shape.queries, shape.width)
    return tuple(torch.randn(s, device="cuda", dtype=getattr(torch, shape.dtype)) for s in (q, kv, kv))


def of_rung(file: KernelFile, shape: Shape, given: tuple[Tensor, ...]) -> Call:
    """A launch of one rung, as its header says, for a head of another width, too."""
    macros: dict[str, object] = {"HEAD_WIDTH": shape.width}
    if shape.dtype == "bfloat16":
        macros["BFLOAT16"] = 1
    run = launcher("attention", file.name, given[0].device, **macros)
    heads, scale = shape.batch * shape.heads // shape.group, shape.width**-0.5
    symbols = {"H": heads, "G": shape.group, "Q": shape.queries, "K": shape.keys}
    assert file.launch is not None
    launch = file.launch.shape({**symbols, "SMS": multiprocessors(given[0].device)})
    shared = evaluate(file.launch.shared, symbols) * shape.width // 128
    out, past = torch.empty_like(given[0]), 0 if shape.causal else shape.keys

    def call() -> Tensor:
        run(launch.grid, launch.block[0], *given, out, *symbols.values(), past, scale, shared=shared)
        return out

    return call


def of_torch(backend: str, shape: Shape, given: tuple[Tensor, ...]) -> Call:
    """PyTorch's attention by one backend."""

    def call() -> Tensor:
        with sdpa_kernel(getattr(SDPBackend, backend)):
            q, k, v = given
            return F.scaled_dot_product_attention(q, k, v, is_causal=shape.causal, enable_gqa=shape.group > 1)

    return call


def error(call: Call, shape: Shape, given: tuple[Tensor, ...]) -> float:
    """Largest |error| on 64 queries of every head, in proportion to their largest value."""
    q, k, v = given
    rows = torch.randperm(shape.queries, device="cuda")[:64]
    rows[-1] = shape.queries - 1
    out = call()
    worst = largest = 0.0
    for b in range(shape.batch):
        wide = [x[b].double().repeat_interleave(shape.group, 0) for x in (k, v)]
        scores = q[b][:, rows].double() @ wide[0].mT * shape.width**-0.5
        if shape.causal:
            scores.masked_fill_(torch.arange(shape.keys, device="cuda") > rows[:, None], -torch.inf)
        expected = scores.softmax(-1) @ wide[1]
        worst = max(worst, (out[b][:, rows] - expected).abs().max().item())
        largest = max(largest, expected.abs().max().item())
    return worst / largest


def milliseconds(calls: dict[str, Call], seconds: float) -> dict[str, float]:
    """Median per launch, all in turn."""
    for call in calls.values():
        call()
    batches: dict[str, int] = {}
    for name, call in calls.items():
        batches[name] = max(1, round(seconds / ROUNDS * 1e3 / max(_timed(call, 2), 1e-3)))
    laps = {name: [] for name in calls}  # type: dict[str, list[float]]
    for _ in range(ROUNDS):
        for name, call in calls.items():
            laps[name].append(_timed(call, batches[name]))
    return {name: statistics.median(each) for name, each in laps.items()}


def _timed(call: Call, launches: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(launches):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / launches


def measured(shape: Shape, files: tuple[KernelFile, ...], seconds: float) -> dict[str, Any]:
    """One shape as it goes into the file."""
    given = drawn(shape)
    plain = shape.dtype == "float16"
    calls = {file.name: of_rung(file, shape, given) for file in files if plain or file.name not in SLOW_RUNGS}
    if shape != SHAPES[0]:
        calls = {name: call for name, call in calls.items() if name not in SLOW_RUNGS}
    for backend in PEERS:
        call = of_torch(backend, shape, given)
        try:
            call()
        except RuntimeError as refused:
            print(f"{backend}: {str(refused).splitlines()[0]}")
            continue
        calls[backend.removesuffix("_ATTENTION").lower()] = call
    errors = {name: error(call, shape, given) for name, call in calls.items()}
    times = milliseconds(calls, seconds)
    runs = [
        {"kernel": name, "ms": ms, "tflops": shape.flops / ms / 1e9, "max_error": errors[name]}
        for name, ms in times.items()
    ]
    return {"shape": asdict(shape), "runs": runs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seconds", type=float, default=0.2, help="device time for one kernel on one shape")
    words = parser.parse_args()
    torch.manual_seed(7)
    files, entries = tuple(find("attention").rungs()), []
    for shape in SHAPES:
        entries.append(measured(shape, files, words.seconds))
        print(shape)
        for run in entries[-1]["runs"]:
            print(
                f"  {run['kernel']:22} {run['ms']:9.4f} ms {run['tflops']:7.1f} TFLOP/s  {run['max_error']:.1e}",
                flush=True,
            )
        save("attention_h200", {"gpu": torch.cuda.get_device_name(), "shapes": entries}, folder=words.out)
    return 0 if all(run["max_error"] < 1e-2 for entry in entries for run in entry["runs"]) else 1


if __name__ == "__main__":
    sys.exit(main())
