"""Attention of packed sequences on a GPU: our kernels, PyTorch's for packed sequences, and padded batches.

    python bench/varlen_attention_h200.py [--out FOLDER] [--seconds 0.2] [CASE…]

Random bf16 data; forward and backward passes apart, events around batches of calls behind a kernel that only waits, all
in turn, medians; inputs and outputs are as large as the L2 cache or larger but in the smallest cases. Contenders:
`gridstride.ops.varlen_attention`, `torch.nn.attention.varlen.varlen_attn` (FlashAttention), PyTorch's attention of a
nested tensor by cuDNN, and of a batch padded to the longest sequence by cuDNN, causal alone: padding lies behind the
mask there. What refuses a case is in the file with its reason. Results and gradients are held against float64 for the
first head of keys; gradients of a padded batch are timed alone.
Writes varlen_attention_h200.json: milliseconds, TFLOP/s of the keys that are seen (five products instead of two in a
backward pass), the largest error of each.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torch
import torch.nn.functional as F
from common import RESULTS, need_gpu, save
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from gridstride import ops

ROUNDS = 11
HOST_MS, CYCLES_PER_MS = 0.3, 1_900_000  # most that a call takes Python; of the kernel that only waits
TOLERATED = 2e-2
DOCUMENTS = (8192, 37, 411, 5003, 1290, 64, 129, 2500, 803, 7011, 1, 333, 4096, 950, 1728, 220)  # 32,768 tokens
Triple = tuple[Tensor, Tensor, Tensor]
Call = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Case:
    """Sequences of so many tokens, each of which attends to itself."""

    name: str
    lengths: tuple[int, ...]
    heads: int = 16
    kv_heads: int = 16
    width: int = 128
    causal: bool = True

    @property
    def flops(self) -> int:
        """Of a forward pass, of the keys that each query sees."""
        seen = sum(n * (n + 1) // 2 if self.causal else n * n for n in self.lengths)
        return 4 * self.heads * self.width * seen

    @property
    def scale(self) -> float:
        return float(self.width**-0.5)


CASES = (
    Case("documents", DOCUMENTS),
    Case("documents, all keys", DOCUMENTS, causal=False),
    Case("documents, grouped", DOCUMENTS, heads=32, kv_heads=8),
    Case("documents, d = 64", DOCUMENTS, width=64),
    Case("documents, d = 256", DOCUMENTS, width=256),
    Case("documents, d = 256, all keys", DOCUMENTS, width=256, causal=False),
    Case("16 x 2048", (2048,) * 16),
    Case("16 x 2048, d = 256", (2048,) * 16, heads=8, kv_heads=8, width=256),
    Case("256 x 128", (128,) * 256),
    Case("1 x 16384", (16384,)),
)


class Given:
    """Queries, keys, values and slopes of a case, packed; where each sequence begins."""

    def __init__(self, case: Case, device: str = "cuda", dtype: torch.dtype = torch.bfloat16) -> None:
        self.case, total = case, sum(case.lengths)
        heads = case.heads, case.kv_heads, case.kv_heads, case.heads
        self.q, self.k, self.v, self.dout = (
            torch.randn(total, h, case.width, device=device, dtype=dtype) for h in heads
        )
        starts = [0, *accumulate(case.lengths)]
        self.cu = torch.tensor(starts, dtype=torch.int32, device=device)
        self.slices = [slice(a, b) for a, b in pairwise(starts)]
        self.longest = max(case.lengths)

    @property
    def leaves(self) -> Triple:
        return self.q, self.k, self.v

    def ours(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ops.varlen_attention(q, k, v, self.cu, self.cu, self.longest, self.longest, causal=self.case.causal)

    def flash(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """As PyTorch's `varlen_attn` calls it, whose words differ between versions."""
        cu, most = self.cu, self.longest
        found = torch.ops.aten._flash_attention_forward(
            q, k, v, cu, cu, most, most, 0.0, self.case.causal, False, scale=self.case.scale
        )
        out: Tensor = found[0]
        return out

    def nested(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """cuDNN over sequences of a nested tensor."""
        q, k, v = (torch.nested.nested_tensor_from_jagged(x, self.cu.long()).transpose(1, 2) for x in (q, k, v))
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            grouped = self.case.heads != self.case.kv_heads
            out = F.scaled_dot_product_attention(q, k, v, is_causal=self.case.causal, enable_gqa=grouped)
        return out.transpose(1, 2).values()

    def padded(self) -> Triple:
        """[sequences, heads, longest, width] of q, k and v, zeros behind each sequence."""
        longer = [x.new_zeros(len(self.slices), self.longest, *x.shape[1:]) for x in self.leaves]
        for x, held in zip(self.leaves, longer, strict=True):
            for number, rows in enumerate(self.slices):
                held[number, : rows.stop - rows.start] = x[rows]
        q, k, v = (x.transpose(1, 2).contiguous() for x in longer)
        return q, k, v

    def dense(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """cuDNN over a padded batch."""
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(
                q, k, v, is_causal=True, enable_gqa=self.case.heads != self.case.kv_heads
            )

    def expected(self) -> dict[str, Tensor]:
        """out, dq, dk and dv in float64 of the first head of keys and the first of its queries' heads."""
        group = self.case.heads // self.case.kv_heads
        q, dout = (x[:, :group].double() for x in (self.q, self.dout))
        q, k, v = (x.requires_grad_() for x in (q, self.k[:, :1].double(), self.v[:, :1].double()))
        rows = self.cu, self.cu, self.longest, self.longest
        out = ops.varlen_attention(q, k, v, *rows, causal=self.case.causal, scale=self.case.scale)
        slopes = torch.autograd.grad(out, (q, k, v), dout)
        return dict(zip(("out", "dq", "dk", "dv"), (out.detach(), *slopes), strict=True))


@dataclass(slots=True)
class Contender:
    """One way to compute a case: its forward pass, its tensors, and the slope of its result."""

    call: Call
    leaves: Triple
    dout: Tensor
    padded: bool = False

    def forward(self) -> Tensor:
        with torch.no_grad():
            return self.call(*self.leaves)

    def backward(self) -> Callable[[], tuple[Tensor, ...]]:
        """The backward pass alone, of a forward pass that is kept."""
        leaves = [x.detach().requires_grad_() for x in self.leaves]
        out = self.call(leaves[0], leaves[1], leaves[2])
        return lambda: torch.autograd.grad(out, leaves, self.dout, retain_graph=True)


def contenders(given: Given) -> dict[str, Contender]:
    found = {
        "gridstride": Contender(given.ours, given.leaves, given.dout),
        "varlen_attn": Contender(given.flash, given.leaves, given.dout),
        "nested cuDNN": Contender(given.nested, given.leaves, given.dout),
    }
    if given.case.causal:
        leaves = given.padded()
        found["padded cuDNN"] = Contender(given.dense, leaves, torch.randn_like(leaves[0]), padded=True)
    return found


def errors(given: Given, contender: Contender, expected: dict[str, Tensor]) -> dict[str, float]:
    """Of out and the gradients, in proportion to their largest values; of a padded batch of out alone."""
    out, slopes = contender.forward(), contender.backward()()
    if contender.padded:
        packed = [out[s, :, : r.stop - r.start].transpose(0, 1) for s, r in enumerate(given.slices)]
        found = {"out": torch.cat(packed)}
    else:
        found = dict(zip(("out", "dq", "dk", "dv"), (out, *slopes), strict=True))
    return {name: _error(x, expected[name]) for name, x in found.items()}


def _error(found: Tensor, expected: Tensor) -> float:
    difference = (found[:, : expected.shape[1]].double() - expected).abs().max()
    return float(difference / expected.abs().max())


def _finite(errors: dict[str, float]) -> dict[str, float | None]:
    """None for NaN, which JSON does not have."""
    return {name: None if math.isnan(error) else error for name, error in errors.items()}


def compared(given: Given, ways: dict[str, Contender]) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """The errors of those that run, and why the others do not."""
    expected, wrong, refused = given.expected(), {}, {}
    for name, way in ways.items():
        try:
            wrong[name] = errors(given, way, expected)
        except (RuntimeError, ValueError) as error:
            refused[name] = str(error).splitlines()[0]
    return wrong, refused


def milliseconds(calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Median of one call, all in turn."""
    batches = {}
    for name, call in calls.items():
        call()
        batches[name] = max(1, min(100, round(seconds / ROUNDS * 1e3 / max(_timed(call, 2), 1e-3))))
    laps: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            laps[name].append(_timed(call, batches[name]))
    return {name: statistics.median(each) for name, each in laps.items()}


def _timed(call: Callable[[], object], launches: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(int(HOST_MS * launches * CYCLES_PER_MS))
    begin.record()
    for _ in range(launches):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / launches


def measured(case: Case, seconds: float) -> dict[str, Any]:
    """One case as it goes into the file."""
    given = Given(case)
    ways, runs = contenders(given), []
    wrong, refused = compared(given, ways)
    ways = {name: way for name, way in ways.items() if name in wrong}
    passes = {
        "forward": {n: w.forward for n, w in ways.items()},
        "backward": {n: w.backward() for n, w in ways.items()},
    }
    for way_of, calls in passes.items():
        flops = case.flops * (5 if way_of == "backward" else 2) // 2
        for name, ms in milliseconds(dict(calls), seconds).items():
            runs.append(
                {"pass": way_of, "kernel": name, "ms": ms, "tflops": flops / ms / 1e9, "errors": _finite(wrong[name])}
            )
    told = ops.varlen_attention_kernel(*given.leaves)
    about = {"heads": case.heads, "kv_heads": case.kv_heads, "width": case.width, "causal": case.causal}
    return {"case": case.name, "lengths": case.lengths, **about, "ours": told, "runs": runs, "refused": refused}


def show(entry: dict[str, Any]) -> None:
    print(f"{entry['case']} ({entry['ours']})")
    for run in entry["runs"]:
        errors = run["errors"].values()
        worst = "NaN" if None in errors else f"{max(errors):.1e}"
        print(f"  {run['pass']:9}{run['kernel']:14}{run['ms']:9.4f} ms {run['tflops']:7.1f} TFLOP/s  {worst}")
    for name, reason in entry["refused"].items():
        print(f"  {name} refuses: {reason}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all unless given: a part of its name is enough")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seconds", type=float, default=0.2, help="device time for one pass of one contender")
    words = parser.parse_args()
    chosen = [case for case in CASES if not words.cases or any(part in case.name for part in words.cases)]
    if not chosen:
        parser.error(f"no case has {' or '.join(words.cases)} in its name: {'; '.join(c.name for c in CASES)}")
    need_gpu("bench/varlen_attention_h200.py")
    torch.manual_seed(7)
    entries = []
    for case in chosen:
        entries.append(measured(case, words.seconds))
        show(entries[-1])
        about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "dtype": "bfloat16"}
        save("varlen_attention_h200", {**about, "cases": entries}, folder=words.out)
    found = [run["errors"].values() for entry in entries for run in entry["runs"] if run["kernel"] == "gridstride"]
    right = all(error < TOLERATED for each in found for error in each) and "gridstride" not in entries[0]["refused"]
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
