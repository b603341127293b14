"""The engine on a CPU: continuous batching against its baselines, cache waste, and the host's share of a step.

python bench/serving_cpu.py [requests]

The model has the size of `gridstride train`'s default one (random weights: speed does not depend on what it says). All
requests are there from the start; their lengths are mixed, as clients' are.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from common import Row, machine, publish

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.batch import Batch, Sampled
from gridstride.serve.build import BLOCK_SIZE
from gridstride.serve.engine import Engine
from gridstride.serve.messages import Submit
from gridstride.serve.runner import TorchRunner
from gridstride.serve.sampling import Sampling

MODEL = DecoderConfig(
    vocabulary=4096, width=256, layers=4, heads=4, kv_heads=4, head_width=64, hidden=704, context=512, tied=True
)
RUNNING = 64
POLICIES = "fifo", "static", "continuous"
REPEATS = 3
HOST_BUDGET_US = {1: 100.0, 128: 1000.0}


@dataclass(frozen=True, slots=True)
class Run:
    """One policy's way through all requests. `waste` is the mean of the steps at full load, None without such."""

    tokens_per_second: float
    cpu_seconds: float
    ttft_p50: float
    ttft_p95: float
    waste: float | None
    preemptions: int
    steps: int


def requests(count: int) -> list[Submit]:
    """Prompts of 8 to 100 tokens; outputs of 4 to 400, most of them short: exponential with a mean of about 90."""
    pick = random.Random(0)
    made = []
    for i in range(count):
        prompt = tuple(pick.randrange(MODEL.vocabulary) for _ in range(pick.randint(8, 100)))
        wished = min(400, 4 + int(pick.expovariate(1 / 90)))
        sampling = Sampling(max_tokens=wished, temperature=1.0, seed=i)
        made.append(Submit(id=str(i), prompt=prompt, sampling=sampling, arrived=0.0))
    return made


def run(decoder: Decoder, policy: str, work: list[Submit], *, block_size: int = BLOCK_SIZE, blocks: int = 0) -> Run:
    runner = TorchRunner(decoder, blocks=blocks or 64 * MODEL.context // block_size, block_size=block_size)
    engine = Engine(runner, policy=policy, max_running=RUNNING, max_batch_tokens=512)
    start, used = time.perf_counter(), time.process_time()
    for submit in work:
        engine.submit(submit)
    first: dict[str, float] = {}
    tokens, waste = 0, []
    while not engine.idle:
        updates = engine.step()
        now = time.perf_counter() - start
        for update in updates:
            first.setdefault(update.id, now)
            tokens += len(update.tokens)
        stats = engine.stats()
        if stats.running == RUNNING:
            waste.append(stats.slots_wasted / (stats.blocks_used * block_size))
    times = sorted(first.values())
    return Run(
        tokens_per_second=tokens / (time.perf_counter() - start),
        cpu_seconds=time.process_time() - used,
        ttft_p50=statistics.median(times),
        ttft_p95=times[int(0.95 * len(times))],
        waste=statistics.mean(waste) if waste else None,
        preemptions=engine.stats().preemptions,
        steps=engine.stats().steps,
    )


if __name__ == "__main__":
    torch.manual_seed(0)
    decoder = Decoder(MODEL).eval()
    print(sum(p.numel() for p in decoder.parameters()))
    work = requests(int(sys.argv[1]))
    for p in sys.argv[2:]:
        print(p, run(decoder, p, work), flush=True)
