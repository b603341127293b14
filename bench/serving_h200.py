"""The engine on a GPU: continuous batching against one request at a time and against static batches, in one run.

    python bench/serving_h200.py

The 0.6 B Llama shape of bench/decode_h200.py, random weights. All requests arrive at once: prompts of 16 to 512 tokens,
16 to 512 new ones, both log-uniform, greedy, none ends early. Every policy gets the same requests and the same runner.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
from decode_h200 import SHAPE

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.cuda_runner import CudaRunner
from gridstride.serve.engine import Engine
from gridstride.serve.messages import Submit
from gridstride.serve.sampling import Sampling

REQUESTS, RUNNING, LOW, HIGH, BLOCK = 256, 128, 16, 512, 16


def requests(count: int, *, seed: int) -> list[Submit]:
    """Mixed lengths: most are short, a few are long."""
    draw = np.random.default_rng(seed)
    lengths = np.exp(draw.uniform(np.log(LOW), np.log(HIGH), (count, 2))).astype(int)
    return [
        Submit(
            id=str(i), prompt=tuple(map(int, draw.integers(0, SHAPE["vocabulary"], prompt))),
            sampling=Sampling(temperature=0.0, max_tokens=int(new), ignore_eos=True), arrived=time.monotonic(),
        )
        for i, (prompt, new) in enumerate(lengths)
    ]  # fmt: skip


def run(runner: CudaRunner, policy: Any, asked: list[Submit]) -> dict[str, float]:
    """Seconds until all have ended, tokens per second, and times to the first token."""
    engine = Engine(runner, policy=policy, max_batch_tokens=8192, max_running=RUNNING, prefix_reuse=False)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for each in asked:
        engine.submit(each)
    first: dict[str, float] = {}
    tokens = 0
    while not engine.idle:
        for update in engine.step():
            assert update.error is None, update.error
            tokens += len(update.tokens)
            if update.tokens:
                first.setdefault(update.id, time.perf_counter() - start)
    seconds = time.perf_counter() - start
    assert tokens == sum(each.sampling.max_tokens for each in asked)
    waits = np.array(sorted(first.values()))
    return {"seconds": seconds, "tokens": tokens, "tokens_per_second": tokens / seconds,
            "ttft_p50_s": float(np.quantile(waits, 0.5)), "ttft_p95_s": float(np.quantile(waits, 0.95))}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    words = parser.parse_args()
    started = common.machine()
    torch.manual_seed(0)
    with torch.device("cuda"):
        decoder = Decoder(DecoderConfig(**SHAPE)).to(torch.bfloat16).eval()
    for p in decoder.parameters():
        if p.dim() == 2:
            torch.nn.init.normal_(p, std=0.02)
    runner = CudaRunner(decoder, blocks=RUNNING * 2 * HIGH // BLOCK + 64, block_size=BLOCK, steps=8)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "shape": SHAPE, "policies": {}}
    run(runner, "continuous", requests(REQUESTS, seed=1))  # records the graphs
    run(runner, "fifo", requests(2, seed=1))
    for policy in ("continuous", "static", "fifo"):
        found["policies"][policy] = result = run(runner, policy, requests(REQUESTS, seed=0))
        print(policy, {k: round(v, 3) for k, v in result.items()}, file=sys.stderr, flush=True)
    speed = {name: r["tokens_per_second"] for name, r in found["policies"].items()}
    found["continuous_over_fifo"] = ratio = speed["continuous"] / speed["fifo"]
    found["continuous_over_static"] = speed["continuous"] / speed["static"]
    path = common.save("serving_h200", found, started=started, folder=words.results)
    waits = found["policies"]["continuous"]["ttft_p95_s"]
    said = (
        f"{ratio:.1f}x, {speed['continuous']:.0f} against {speed['fifo']:.0f} tok/s, p95 to first token {waits:.2f} s"
    )
    print(json.dumps(found["policies"], indent=1))
    print(common.table([common.Row("continuous over one at a time", said, "10x", ratio >= 10)]), path)


if __name__ == "__main__":
    main()
