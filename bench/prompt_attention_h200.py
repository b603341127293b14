"""Attention of prompts on a GPU: our kernel in the paged cache against FlashAttention-2 behind a gather of keys.

    python bench/prompt_attention_h200.py [--out FOLDER] [--rungs]

The attention of the 0.6 B Qwen3 shape: 16 heads, 8 key heads of 128 elements, bf16, blocks of 16 tokens anywhere in the
cache. Each contender is recorded as a CUDA graph of LAYERS layers with caches of their own; a time is that of a graph
over its layers, the median of ROUNDS replays, all in turn. "flash" gets keys that are gathered already, "flash and
gather" is what the runner does where our kernel does not run. All are held against float64 on some rows first.
Writes prompt_attention_h200.json: milliseconds, TFLOP/s of the keys that are seen, and the largest error of each.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import numpy as np
import torch
from common import RESULTS, save
from torch import Tensor

from gridstride.judge.find import find
from gridstride.kernels.prompt_attention.op import piece_queries, prompt_attention
from gridstride.kernels.torch_op import launcher
from gridstride.serve.runner.cuda.packed_attention import PIECE, Pieces, packed_attention
from gridstride.serve.runner.cuda.pieces import cut
from gridstride.serve.runner.cuda.prompt_keys import slots_of

HEADS, KV_HEADS, WIDTH, BLOCK = 16, 8, 128, 16
GROUP, SCALE = HEADS // KV_HEADS, WIDTH**-0.5
LAYERS, ROUNDS, CHECKED = 8, 15, 48
Call = Callable[[int], Tensor]  # of a layer
DTYPE = torch.bfloat16


@dataclass(frozen=True, slots=True)
class Case:
    """So many sequences with as many new tokens each, behind `past` in the cache."""

    sequences: int
    new: int
    past: int = 0

    def __str__(self) -> str:
        return f"{self.sequences} x {self.new}" + (f" behind {self.past}" if self.past else "")

    @property
    def flops(self) -> int:
        """Of the keys that each query sees."""
        seen = self.new * self.past + self.new * (self.new + 1) // 2
        return 4 * self.sequences * HEADS * seen * WIDTH

    @property
    def lengths(self) -> np.ndarray[Any, Any]:
        return np.full(self.sequences, self.past + self.new, np.int32)

    @property
    def starts(self) -> np.ndarray[Any, Any]:
        return np.arange(self.sequences + 1, dtype=np.int32) * self.new


CASES = (Case(1, 2048), Case(16, 128), Case(100, 20), Case(1, 2048, 6144), Case(1, 8192), Case(4, 512), Case(1, 128))


class Given:
    """Queries, caches of all layers and tables of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        width = -(-int(case.lengths[0]) // BLOCK)
        blocks = case.sequences * width
        self.q = torch.randn(case.sequences * case.new, HEADS, WIDTH, device="cuda", dtype=DTYPE)
        shape = LAYERS, blocks, KV_HEADS, BLOCK, WIDTH
        self.keys, self.values = (torch.randn(shape, device="cuda", dtype=DTYPE) for _ in range(2))
        self.blocks = np.random.default_rng(1).permutation(blocks).astype(np.int32).reshape(case.sequences, width)
        self.tables = torch.from_numpy(self.blocks).cuda()

    def pieces(self, most: int) -> Tensor:
        """As PagedKeys gives them, the longest first."""
        made = cut(self.case.starts, self.case.lengths, most)
        longest = np.argsort(-made.visible_keys, kind="stable")
        return torch.from_numpy(
            np.stack((made.first, made.count, made.owner, made.visible_keys), axis=1)[longest]
        ).cuda()

    def ours(self) -> Call:
        pieces = self.pieces(piece_queries(GROUP))
        return lambda layer: prompt_attention(
            self.q, self.keys[layer], self.values[layer], self.tables, pieces, scale=SCALE
        )

    def of_rung(self, name: str) -> Call:
        """A rung that has a block for each piece and head of keys."""
        (file,) = (file for file in find("prompt_attention").rungs() if file.name == name)
        run = launcher("prompt_attention", name, self.q.device, GROUP=GROUP, BLOCK_SIZE=BLOCK, BFLOAT16=1)
        pieces, out = self.pieces(piece_queries(GROUP)), torch.empty_like(self.q)
        assert file.launch is not None
        shape = file.launch.shape({"P": len(pieces), "K": KV_HEADS, "SMS": 1})

        def call(layer: int) -> Tensor:
            run(
                shape.grid, shape.block[0], self.q, self.keys[layer], self.values[layer], self.tables, pieces, out,
                KV_HEADS, len(pieces), self.tables.stride(0), SCALE, shared=shape.shared,
            )  # fmt: skip
            return out

        return call

    def flash(self, *, gathering: bool) -> Call:
        """The runner's other way: keys of all sequences one behind the other, and FlashAttention-2 over pieces."""
        made = cut(self.case.starts, self.case.lengths, PIECE)
        begins = (np.cumsum(self.case.lengths) - self.case.lengths)[made.owner]
        numbers = np.append(made.first, self.case.starts[-1]), np.append(begins, 0), made.visible_keys
        pieces = Pieces(*(torch.from_numpy(n.astype(np.int32)).cuda() for n in numbers))
        slots = torch.from_numpy(slots_of(self.blocks, self.case.lengths, BLOCK)).cuda()
        head = torch.arange(KV_HEADS, device="cuda")
        rows = ((slots[:, None] // BLOCK * KV_HEADS + head) * BLOCK + slots[:, None] % BLOCK).flatten()

        def gather(layer: int) -> list[Tensor]:
            return [
                cache[layer].view(-1, WIDTH).index_select(0, rows).view(-1, KV_HEADS, WIDTH)
                for cache in (self.keys, self.values)
            ]

        gathered = None if gathering else [gather(layer) for layer in range(LAYERS)]

        def call(layer: int) -> Tensor:
            k, v = gather(layer) if gathered is None else gathered[layer]
            return packed_attention(self.q, k, v, pieces, scale=SCALE)

        return call

    def error(self, call: Call) -> float:
        """Largest |error| on some rows of the last layer, in proportion to their largest value."""
        rows = torch.randperm(len(self.q))[:CHECKED].tolist()
        rows[0] = len(self.q) - 1
        out, worst, largest = call(LAYERS - 1), 0.0, 0.0
        for row in rows:
            sequence, query = divmod(row, self.case.new)
            blocks = self.tables[sequence].long()
            k, v = (
                cache[-1][blocks].transpose(1, 2).flatten(0, 1)[: self.case.past + query + 1].double()
                for cache in (self.keys, self.values)
            )
            q = self.q[row].double().view(KV_HEADS, GROUP, WIDTH)
            weights = (torch.einsum("kgd,tkd->kgt", q, k) * SCALE).softmax(-1)
            expected = torch.einsum("kgt,tkd->kgd", weights, v).view(HEADS, WIDTH)
            worst = max(worst, (out[row].double() - expected).abs().max().item())
            largest = max(largest, expected.abs().max().item())
        return worst / largest


def milliseconds(calls: dict[str, Call]) -> dict[str, float]:
    """Per layer, of recorded graphs in turn."""
    graphs: dict[str, torch.cuda.CUDAGraph] = {}
    for name, call in calls.items():
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for layer in range(LAYERS):
                call(layer)
    laps: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, graph in graphs.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graph.replay()
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            laps[name].append(begin.elapsed_time(end) / LAYERS)
    return {name: statistics.median(each) for name, each in laps.items()}


def measured(case: Case, *, rungs: bool) -> dict[str, Any]:
    """One case as it goes into the file."""
    given = Given(case)
    calls = {
        "03_ping_pong": given.ours(),
        **({"02_mma": given.of_rung("02_mma")} if rungs else {}),
        "flash": given.flash(gathering=False),
        "flash and gather": given.flash(gathering=True),
    }
    errors = {name: given.error(call) for name, call in calls.items()}
    runs = [
        {"kernel": name, "ms": ms, "tflops": case.flops / ms / 1e9, "max_error": errors[name]}
        for name, ms in milliseconds(calls).items()
    ]
    return {"case": str(case), "sequences": case.sequences, "new": case.new, "past": case.past, "runs": runs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rungs", action="store_true", help="rung 02, too")
    words = parser.parse_args()
    torch.manual_seed(7)
    entries = []
    with torch.inference_mode():
        for case in CASES:
            entries.append(measured(case, rungs=words.rungs))
            print(case)
            for run in entries[-1]["runs"]:
                print(
                    f"  {run['kernel']:18} {run['ms']:9.4f} ms {run['tflops']:7.1f} TFLOP/s  {run['max_error']:.1e}",
                    flush=True,
                )
            shape = {"heads": HEADS, "kv_heads": KV_HEADS, "width": WIDTH, "block_size": BLOCK, "dtype": "bfloat16"}
            result = {"gpu": torch.cuda.get_device_name(), "shape": shape, "cases": entries}
            save("prompt_attention_h200", result, folder=words.out)
    return 0 if all(run["max_error"] < 2e-2 for entry in entries for run in entry["runs"]) else 1


if __name__ == "__main__":
    sys.exit(main())
