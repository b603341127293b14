"""Decode speed of a 0.6 B Llama shape on a GPU: the compiled `transformers` loop and ours, in one run.

    python bench/decode_h200.py [--batches 1 32 128] [--skip-peer] [--serial]

Both start from 128 tokens in the cache and decode 128 greedy ones per sequence, random weights of one seed. The peer is
transformers' own Llama with a static cache, its step (argmax included) under torch.compile with mode="reduce-overhead",
which records CUDA graphs. Its attention reads all places of the cache, used or not: 256 are as many as these sequences
need, 1024 what a server sets aside that does not know how long they get.

The breakdown of our step comes from PyTorch's profiler. A kernel that begins before the one in front has ended
(kernels/torch_op.py) counts that time, too, though it mostly waits: its own figure is not its price. `kernels_ms` is
the time in which at least one ran, `overlap_ms` what they count twice. What early starts are worth says `--serial`,
which launches every kernel behind the end of the one in front: compare `graph_ms`.
"""

from __future__ import annotations

import argparse
import bisect
import gc
import json
import math
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch

from gridstride.kernels import torch_op
from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import Batch, Draw
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.runner.cuda.cuda_runner import CudaRunner, GraphSizes

PROMPT, NEW, STEPS, BLOCK = 128, 128, 16, 16
COPY = 4.26e12  # bytes/s of a large device-to-device copy on this GPU, bench of the first baselines
SHAPE: dict[str, Any] = {
    "vocabulary": 151_936, "width": 1024, "layers": 28, "heads": 16, "kv_heads": 8, "head_width": 128, "hidden": 3072,
    "context": 4096, "tied": True,
}  # fmt: skip
REPEATS = 3


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def timed(work: Callable[[], None]) -> float:
    """Seconds on the host's clock, the GPU idle before and after."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


# -- the peer ----------------------------------------------------------------------------------------------------------
def peer(batch: int, places: int) -> dict[str, float]:
    """transformers with a static cache of so many places, torch.compile and CUDA graphs."""
    try:
        return _peer(batch, places)
    finally:
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()


def _peer(batch: int, places: int) -> dict[str, float]:
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

    config = LlamaConfig(
        hidden_size=1024, num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
        intermediate_size=3072, vocab_size=151_936, tie_word_embeddings=True, max_position_embeddings=4096,
        attn_implementation="sdpa",
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
    model.requires_grad_(False)
    parameters = sum(p.numel() for p in model.parameters())
    cache = StaticCache(config=config, max_cache_len=places)

    def forward(tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        rows = positions[None].expand(tokens.shape[0], -1)
        out = model(
            input_ids=tokens, position_ids=rows, cache_position=positions, past_key_values=cache, use_cache=True
        )
        return out.logits[:, -1].argmax(dim=-1, keepdim=True)

    step = torch.compile(forward, mode="reduce-overhead", fullgraph=True)
    prompt = torch.randint(0, 151_936, (batch, PROMPT), device="cuda")
    times = []
    with torch.inference_mode():
        for turn in range(REPEATS + 1):
            cache.reset()
            token = forward(prompt, torch.arange(PROMPT, device="cuda"))
            position = torch.tensor([PROMPT], device="cuda")

            def decode(token: torch.Tensor = token, position: torch.Tensor = position) -> None:
                for _ in range(NEW - 1):
                    torch.compiler.cudagraph_mark_step_begin()
                    token = step(token.clone(), position)
                    position += 1

            taken = timed(decode)
            say(f"  transformers, {places} places, batch {batch}, turn {turn}: {taken / (NEW - 1) * 1e3:.3f} ms a step")
            if turn:
                times.append(taken)
    seconds = statistics.median(times) / (NEW - 1)
    return {"tokens_per_second": batch / seconds, "step_ms": seconds * 1e3, "parameters": parameters}


# -- ours --------------------------------------------------------------------------------------------------------------
def runner(most: int, **options: Any) -> CudaRunner:
    config = DecoderConfig(**SHAPE)
    torch.manual_seed(0)
    with torch.device("cuda"):
        decoder = Decoder(config).to(torch.bfloat16).eval()
    for p in decoder.parameters():
        if p.dim() == 2:
            torch.nn.init.normal_(p, std=0.02)
    blocks = most * -(-(PROMPT + NEW + STEPS) // BLOCK)
    return CudaRunner(decoder, sizes=GraphSizes(steps=STEPS), blocks=blocks, block_size=BLOCK, **options)


def decode_batch(tokens: np.ndarray[Any, Any], position: int, table: np.ndarray[Any, Any], steps: int) -> Batch:
    """Every sequence's next token at `position`."""
    count = len(tokens)
    slots = table[:, position // BLOCK].astype(np.int64) * BLOCK + position % BLOCK
    draw = Draw(Sampling(temperature=0.0, max_tokens=NEW), 0, (), ())
    return Batch(
        tokens=tokens.astype(np.int64), positions=np.full(count, position, np.int64), slots=slots,
        starts=np.arange(count + 1, dtype=np.int32), lengths=np.full(count, position + 1, np.int32),
        blocks=table[:, : -(-(position + steps) // BLOCK)], sampled=np.arange(count, dtype=np.int32),
        draws=(draw,) * count, steps=steps,
    )  # fmt: skip


def prefill(engine: CudaRunner, count: int, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    prompt = np.random.default_rng(0).integers(0, SHAPE["vocabulary"], (count, PROMPT))
    places = np.arange(PROMPT)
    first = []
    for s in range(count):
        slots = table[s, places // BLOCK].astype(np.int64) * BLOCK + places % BLOCK
        batch = Batch(
            tokens=prompt[s], positions=places, slots=slots, starts=np.array([0, PROMPT], np.int32),
            lengths=np.array([PROMPT], np.int32), blocks=table[s : s + 1, : PROMPT // BLOCK],
            sampled=np.array([PROMPT - 1], np.int32), draws=(Draw(Sampling(temperature=0.0), 0, (), ()),),
        )  # fmt: skip
        first.append(engine.execute(batch).tokens[0, 0])
    return np.array(first)


def ours(engine: CudaRunner, count: int) -> dict[str, Any]:
    """Tokens per second through `execute`, host included, and where a step's time goes."""
    table = table_of(count)
    first = prefill(engine, count, table)

    def decode() -> None:
        tokens = first
        for at in range(PROMPT, PROMPT + NEW, ahead(engine, count)):
            tokens = engine.execute(decode_batch(tokens, at, table, ahead(engine, count))).tokens[:, -1]

    decode()
    times = [timed(decode) for _ in range(REPEATS)]
    step = statistics.median(times) / NEW
    found: dict[str, Any] = {"tokens_per_second": count / step, "step_ms": step * 1e3}
    say(f"  ours, batch {count}: {step * 1e3:.4f} ms a step, {count / step:.0f} tok/s")
    try:
        found["breakdown"] = breakdown(engine, count, first, table, step * 1e3)
    except Exception:
        traceback.print_exc()
    return found


def ahead(engine: CudaRunner, count: int) -> int:
    """Tokens of a call."""
    return engine.steps_alone if count == 1 else STEPS


def breakdown(
    engine: CudaRunner, count: int, first: np.ndarray[Any, Any], table: np.ndarray[Any, Any], step_ms: float
) -> dict[str, Any]:
    """Milliseconds of a step by kernel, from one profiled call in the middle of the stretch."""
    from torch.profiler import ProfilerActivity, profile

    steps = ahead(engine, count)
    batch = decode_batch(first, PROMPT + NEW // 2, table, steps)
    engine.execute(batch)
    graph_ms = replay_ms(engine, count)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        engine.execute(batch)
        torch.cuda.synchronize()
    kernels: dict[str, list[float]] = {}
    spans = []
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            kernels.setdefault(event.name, []).append(event.time_range.elapsed_us())
            spans.append((event.time_range.start, event.time_range.end))
    rows = {name[:90]: {"count": len(t) / steps, "ms": sum(t) / 1e3 / steps} for name, t in kernels.items()}
    rows = dict(sorted(rows.items(), key=lambda item: -item[1]["ms"])[:16])
    busy = covered(spans) / 1e3 / steps
    overlap = sum(sum(t) for t in kernels.values()) / 1e3 / steps - busy
    return {"graph_ms": graph_ms, "kernels_ms": busy, "overlap_ms": overlap, "gaps_ms": graph_ms - busy,
            "host_ms": step_ms - graph_ms, "kernels": rows}  # fmt: skip


def covered(spans: list[tuple[float, float]]) -> float:
    """Time within at least one of (start, end)."""
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def replay_ms(engine: CudaRunner, count: int) -> float:
    """Milliseconds of one step on the GPU when calls follow each other."""
    bucket = engine._buckets[bisect.bisect_left(engine._buckets, count)]
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    steps = ahead(engine, count)
    with torch.inference_mode():
        static, step = engine._decoder(bucket)
        batch = decode_batch(np.zeros(count, np.int64), PROMPT + NEW // 2, table_of(count), steps)
        static.fill(batch)
        torch.cuda.synchronize()
        start.record()
        engine._queue_steps(static, step, steps, greedy=True)
        end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / steps


def table_of(count: int) -> np.ndarray[Any, Any]:
    """Blocks of `count` sequences, one after the other."""
    return np.arange(count * -(-(PROMPT + NEW + STEPS) // BLOCK), dtype=np.int32).reshape(count, -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32, 128])
    parser.add_argument("--skip-peer", action="store_true")
    parser.add_argument("--many-launches", action="store_true", help="batch 1 from a graph as the others")
    parser.add_argument("--serial", action="store_true", help="no kernel begins before the one in front has ended")
    parser.add_argument("--places", type=int, nargs="+", default=[1024, 256], help="of the peer's static cache")
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    words = parser.parse_args()
    common.need_gpu("decode_h200.py")
    torch_op.DEPENDENT = not words.serial
    started = common.machine()
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "shape": SHAPE}
    engine = runner(max(words.batches), one_launch=not words.many_launches)
    parameters = DecoderConfig(**SHAPE).parameters() + 28 * 2 * 1024 + 1024
    limit = COPY / (2 * parameters)
    rows = []
    for count in words.batches:
        mine = ours(engine, count)
        found[f"batch_{count}"] = {"ours": mine}
        rows.append((count, mine))
    del engine
    gc.collect()
    torch.cuda.empty_cache()
    table = []

    def keep() -> Path:  # what there is, should the machine's time end
        return common.save("decode_h200", found, started=started, folder=words.results)

    for count, mine in rows:
        if count == 1:
            reached = found["batch_1"]["of_limit"] = mine["tokens_per_second"] / limit
            table.append(
                common.Row("batch 1, of the limit", f"{reached:.1%} of {limit:.0f} tok/s", "78 %", reached >= 0.78)
            )
    keep()
    for places in [] if words.skip_peer else words.places:
        for count, mine in rows:
            name = f"transformers_{places}"
            try:
                theirs = found[f"batch_{count}"][name] = peer(count, places)
            except Exception as error:
                traceback.print_exc()
                found[f"batch_{count}"][name] = {"error": str(error)[:400]}
                continue
            ratio = theirs["ratio"] = mine["tokens_per_second"] / theirs["tokens_per_second"]
            said = f"{mine['tokens_per_second']:.0f} tok/s, {ratio:.2f}x of {theirs['tokens_per_second']:.0f}"
            goal = "3x" if count == 1 else "5x"
            table.append(common.Row(f"batch {count}, peer's cache {places}", said, goal, ratio >= int(goal[0])))
            keep()
    path = keep()
    print(json.dumps({k: v for k, v in found.items() if k.startswith("batch")}, indent=1)[:6000])
    print(common.table(table))
    print(path)


if __name__ == "__main__":
    main()
