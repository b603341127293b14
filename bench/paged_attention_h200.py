"""Decoding's attention on a GPU: rungs 03 and 04 of paged_attention over batches, lengths and settings, in one run.

    python bench/paged_attention_h200.py [--sequences 1 8 32 64 128] [--tokens 64 192 512 2048 mixed] [--deadline 45]

The attention of the 0.6 B Llama shape of bench/decode_h200.py: 16 heads, 8 key heads of 128 elements, bf16, blocks of
16 tokens anywhere in the cache. `mixed` lengths are log-uniform from 16 to 2,048. Each setting is timed as a CUDA graph
of as many layers as read 128 MB of caches of their own, more than the GPU's L2: the time of one is that of the graph
over their number, so the way from one launch to the next is in it. Before rung 04 is timed it is held against float32,
for shapes that the table does not have, and the published figures stand beside those of this run. What there is at the
deadline is kept, whatever is still running then.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import statistics
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from gridstride.device.physical.physical_gpu import PhysicalGPU
from gridstride.kernels import torch_op
from gridstride.kernels.paged_attention import op
from gridstride.kernels.paged_attention.ring import Ring, RingTuning, cut

HEADS, KV_HEADS, WIDTH, BLOCK = 16, 8, 128, 16
COPY = 4.2e12  # bytes/s of a large copy within an H200's memory
COLD = 128_000_000  # bytes that a graph reads: the L2 of an H200 holds 60 MB
MOST_LAYERS, REPLAYS = 512, 11
LOW, HIGH = 16, 2048  # tokens of mixed lengths
LEAST = (256, 64)  # tokens of a split of rung 03, swept
CHANGES: tuple[dict[str, Any], ...] = (
    {}, {"part": 16}, {"part": 64}, {"snap": 32, "slack": 32}, {"least": 64}, {"resident": 3},
    {"resident": 1, "warps": 8}, {"least": 64, "part": 0, "snap": 128, "slack": 4, "even": 0},
)  # fmt: skip
"""Settings of rung 04: what each changes of those that `cut` would take."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# -- cases -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Case:
    """So many sequences of one length, or of mixed ones."""

    sequences: int
    tokens: str

    def __str__(self) -> str:
        return f"{self.sequences} x {self.tokens}"

    @property
    def lengths(self) -> np.ndarray[Any, Any]:
        """Tokens of each sequence, the same in every run."""
        if self.tokens != "mixed":
            return np.full(self.sequences, int(self.tokens), np.int32)
        draw = np.random.default_rng(self.sequences)
        return np.exp(draw.uniform(math.log(LOW), math.log(HIGH + 1), self.sequences)).astype(np.int32)

    @property
    def moved(self) -> int:
        """Bytes of keys and values that one layer reads."""
        return int(self.lengths.sum()) * 2 * KV_HEADS * WIDTH * 2

    @property
    def layers(self) -> int:
        """Of a graph that reads COLD bytes; at least two, so that none finds its own cache in L2."""
        return min(MOST_LAYERS, max(2, math.ceil(COLD / self.moved)))

    @property
    def blocks(self) -> np.ndarray[Any, Any]:
        """Of the cache, for each sequence."""
        return -(-self.lengths // BLOCK)

    def tables(self) -> np.ndarray[Any, Any]:
        """int32 [layers, sequences, W]: no block twice, no two that follow each other."""
        used = np.arange(self.blocks.max()) < self.blocks[:, None]
        tables = np.zeros((self.layers, *used.shape), np.int32)
        count = self.layers * int(self.blocks.sum())
        tables[:, used] = np.random.default_rng(0).permutation(count).reshape(self.layers, -1)
        return tables


def cases(sequences: Sequence[int], tokens: Sequence[str]) -> list[Case]:
    return [Case(count, length) for length in tokens for count in sequences]


def pool(chosen: Sequence[Case]) -> int:
    """Blocks of a cache that is large enough for each of the cases."""
    return max(case.layers * int(case.blocks.sum()) for case in chosen)


# -- settings ----------------------------------------------------------------------------------------------------------
Launch = Callable[[op.PagedQueries, Tensor, float], None]


def rings(shared_per_block: int, shared_per_multiprocessor: int) -> dict[str, Ring]:
    """Rung 04's settings that fit, by what they change; those that come out the same once."""
    found: dict[str, Ring] = {}
    for change in CHANGES:
        ring = cut(
            WIDTH, HEADS // KV_HEADS, BLOCK, shared_per_block=shared_per_block,
            shared_per_multiprocessor=shared_per_multiprocessor, tuning=RingTuning(**change),
        )  # fmt: skip
        if isinstance(ring, Ring) and ring not in found.values():
            found[", ".join(f"{name} {value}" for name, value in change.items()) or "as it is"] = ring
    return found


def by_splits(least: int, *given: Any) -> None:
    """Rung 03 as the op launches it, but for the least tokens of a split."""
    kept, op._LEAST = op._LEAST, least
    try:
        op._by_splits(*given)
    finally:
        op._LEAST = kept


def launches() -> Iterator[tuple[str, str, Launch]]:
    """Rung, setting, and how it is launched."""
    for least in LEAST:
        yield "03", f"least {least}", functools.partial(by_splits, least)
    gpu = PhysicalGPU(0).properties
    for name, ring in rings(gpu.shared_per_block_optin, gpu.shared_per_multiprocessor).items():
        yield "04", name, functools.partial(op._by_ring, ring)


# -- right -------------------------------------------------------------------------------------------------------------
SHAPES = [  # heads of a key head, head width, block size, type
    (2, 128, 16, torch.bfloat16), (1, 128, 16, torch.float16), (4, 64, 16, torch.bfloat16),
    (8, 128, 32, torch.bfloat16), (16, 128, 16, torch.bfloat16), (6, 256, 16, torch.float16),
    (3, 192, 8, torch.bfloat16), (5, 80, 5, torch.float16), (2, 64, 1, torch.bfloat16),
]  # fmt: skip
CHECKED = (0, 1, 15, 16, 17, 191, 700, 2048, 3000, 0, 5), (700,) * 12
"""Lengths: of all kinds, and equal ones, which have a rule of their own."""


def wrong() -> dict[str, float]:
    """Rung 04's largest difference from float32, in its type's eps: of each shape, and of each setting to be timed."""
    gpu = PhysicalGPU(0).properties
    shared = gpu.shared_per_block_optin, gpu.shared_per_multiprocessor
    found = {}
    for group, width, size, dtype in SHAPES:
        ring = cut(width, group, size, shared_per_block=shared[0], shared_per_multiprocessor=shared[1])
        assert isinstance(ring, Ring), ring
        found[f"{group} of {width}, blocks of {size}, {dtype}"] = difference(ring, dtype, CHECKED[0])
    for name, ring in rings(*shared).items():
        found[name] = max(difference(ring, torch.bfloat16, lengths) for lengths in CHECKED)
    return found


def difference(ring: Ring, dtype: torch.dtype, lengths: Sequence[int]) -> float:
    """In eps of the type; infinity where two runs differ."""
    torch.manual_seed(0)
    blocks = [-(-length // ring.block_size) for length in lengths]
    names = torch.randperm(sum(blocks)).split(blocks)
    tables = torch.nn.utils.rnn.pad_sequence(list(names), batch_first=True).int().cuda()
    keys, values = torch.randn(2, sum(blocks), 2, ring.block_size, ring.width, device="cuda").to(dtype)
    q = torch.randn(len(lengths), 2 * ring.group, ring.width, device="cuda").to(dtype)
    on_gpu = torch.tensor(lengths).int().cuda()
    expected = op._cpu(q.float(), keys.float(), values.float(), tables, on_gpu, ring.width**-0.5)
    outs = torch.full((3, *q.shape), torch.nan, device="cuda", dtype=dtype)
    for out in outs:  # again: counters of the merge must be back at zero
        op._by_ring(ring, op.PagedQueries(q, keys, values, tables, on_gpu), out, ring.width**-0.5)
    worst = float((outs.float() - expected).abs().max()) / torch.finfo(dtype).eps
    same = torch.equal(outs[0], outs[1]) and torch.equal(outs[0], outs[2])
    return worst if same and worst == worst else math.inf


# -- fast --------------------------------------------------------------------------------------------------------------
def microseconds(case: Case, keys: Tensor, values: Tensor, launch: Launch) -> float:
    """Of one layer: the median of several replays."""
    tables, lengths = torch.from_numpy(case.tables()).cuda(), torch.from_numpy(case.lengths).cuda()
    q = torch.randn(case.sequences, HEADS, WIDTH, device="cuda", dtype=keys.dtype)
    out = torch.empty_like(q)
    launch(
        op.PagedQueries(q, keys, values, tables[0], lengths), out, WIDTH**-0.5
    )  # compiled and loaded before it is captured
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for table in tables:
            launch(op.PagedQueries(q, keys, values, table, lengths), out, WIDTH**-0.5)
    return statistics.median(replayed(graph) for _ in range(REPLAYS)) * 1e3 / case.layers


def replayed(graph: torch.cuda.CUDAGraph) -> float:
    """Milliseconds of a replay."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


# -- told --------------------------------------------------------------------------------------------------------------
def best(times: dict[str, float], rung: str) -> tuple[str, float]:
    """The setting of a rung that took least, and its time; infinity where none was timed."""
    mine = {name: time for name, time in times.items() if name.startswith(rung)}
    name = min(mine, key=mine.__getitem__, default="")
    return name.partition(", ")[2], mine.get(name, math.inf)


LETTERS = "abcdefghijklmnop"


def published() -> dict[str, dict[str, float]]:
    """Rung 04's times in the last run that was published, as it was then; empty where there is none."""
    path = common.RESULTS / "paged_attention_h200.json"
    times = json.loads(path.read_text())["microseconds"] if path.exists() else {}
    return {case: {"before": row["04, as it is"]} for case, row in times.items()}


def shown(case: Case, times: dict[str, float], before: float) -> common.Row:
    """A case's line, microseconds: rung 03's best, rung 04 as it was and in each setting; then the best one's speed."""
    each = {name: time for name, time in times.items() if name.startswith("04")}
    new, letter = min(zip(each.values(), LETTERS, strict=False), default=(math.inf, "-"))
    speed = f"{letter} {case.moved / new / 1e3:5.0f} GB/s {case.moved / new / 1e-6 / COPY:4.0%}"
    old, all_new = best(times, "03")[1], " ".join(f"{time:6.1f}" for time in each.values())
    met = each.get("04, as it is", math.inf) < old
    return common.Row(str(case), f"03 {old:6.1f}  was {before:6.1f}  04 {all_new}  {speed}", "04 < 03", met)


def legend(times: dict[str, float]) -> str:
    """Which letter stands for which setting of rung 04, in the order of the columns."""
    names = [name for name in times if name.startswith("04")]
    return "\n".join(f"{letter}: {name}" for letter, name in zip(LETTERS, names, strict=False))


def ratios(times: dict[str, dict[str, float]], base: Callable[[dict[str, float]], float]) -> dict[str, float]:
    """Each setting's time over the base, the geometric mean over the cases that all settings were timed for."""
    names = {name for row in times.values() for name in row}
    whole = [row for row in times.values() if set(row) == names]
    logs = {name: [math.log(row[name] / base(row)) for row in whole] for name in names}
    means = {name: math.exp(statistics.mean(each)) for name, each in logs.items() if each}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def report(found: dict[str, Any], chosen: Sequence[Case], started: Any, folder: Path) -> None:
    """The table on the screen, all else in a file."""
    times, before = found["microseconds"], published()
    found["over_03"] = ratios(times, lambda row: best(row, "03")[1])
    found["bytes"] = {str(case): case.moved for case in chosen}
    both = {case: row | before[case] for case, row in times.items() if case in before}
    over_before = ratios(both, lambda row: row["before"])
    path = common.save("paged_attention_h200", found, started=started, folder=folder)
    rows = [(case, times[str(case)]) for case in chosen if str(case) in times]
    print(common.table([shown(case, row, before.get(str(case), {}).get("before", math.nan)) for case, row in rows]))
    print(legend(next(iter(times.values()), {})))
    for against, means in (("rung 03's best", found["over_03"]), ("rung 04 as published", over_before)):
        print(f"over {against}, geometric mean:", {name: round(ratio, 3) for name, ratio in means.items()})
    print(path, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sequences", type=int, nargs="+", default=[1, 8, 32, 64, 128])
    parser.add_argument("--tokens", nargs="+", default=["64", "192", "512", "2048", "mixed"])
    parser.add_argument("--deadline", type=float, default=45, help="seconds after which what there is must do")
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    words = parser.parse_args()
    common.need_gpu("paged_attention_h200.py")
    started, chosen = common.machine(), cases(words.sequences, words.tokens)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "microseconds": {}}

    def late() -> None:
        found["stopped"] = f"after {words.deadline:g} s"
        report(found, chosen, started, words.results)
        os._exit(3)  # a kernel that hangs is not to be waited for

    torch_op.DEPENDENT = False  # else each layer begins within the one before, which reads nothing that it writes
    watch = threading.Timer(words.deadline, late)
    watch.start()
    try:
        measure(found, chosen)
    except Exception as error:  # what was timed before it is kept
        traceback.print_exc()
        found["stopped"] = f"{type(error).__name__}: {error}"
    watch.cancel()
    report(found, chosen, started, words.results)
    sys.exit("stopped" in found)


def measure(found: dict[str, Any], chosen: Sequence[Case]) -> None:
    """Fills `found`, setting by setting: rung 03 first, which is known to run."""
    shape = pool(chosen), KV_HEADS, BLOCK, WIDTH
    keys, values = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for rung, setting, launch in launches():
        if rung == "04" and "wrong" not in found:
            found["wrong"] = wrong()
            say(json.dumps(found["wrong"], indent=1))
            if max(found["wrong"].values()) > 4:
                say("rung 04 is wrong: it is not timed")
                return
        for case in chosen:
            row = found["microseconds"].setdefault(str(case), {})
            row[f"{rung}, {setting}"] = round(microseconds(case, keys, values, launch), 3)
        say(f"{rung}, {setting}: {[row[f'{rung}, {setting}'] for row in found['microseconds'].values()]}")


if __name__ == "__main__":
    main()
