"""The engine on a CPU: continuous batching against its baselines, cache waste, and the host's share of a step.

python bench/serving_cpu.py [requests]

The model has the size of `gridstride train`'s default one (random weights: speed does not depend on what it says). All
requests are there from the start; their lengths are mixed, as clients' are. Waste and host time need no model: there a
runner that computes nothing stands in.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from common import Row, machine, publish

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import Batch, Runner, RunnerCode, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner.build import BLOCK_SIZE
from gridstride.serve.runner.torch.torch_runner import TorchRunner

MODEL = DecoderConfig(
    vocabulary=4096, width=256, layers=4, heads=4, kv_heads=4, head_width=64, hidden=704, context=512, tied=True
)
RUNNING = 64
REPEATS = {"fifo": 1, "static": 2, "continuous": 2}
FIFO_SHARE = 4  # FIFO gets the first quarter of the requests: its rate hangs on no queue, its waiting would be longer
LEAST_RATIO = 4.0
MOST_WASTE = 0.04
HOST_BUDGET_US = {1: 100.0, 128: 1000.0}


@dataclass(frozen=True, slots=True)
class Run:
    """One policy's way through all requests."""

    tokens_per_second: float
    tokens_per_cpu_second: float
    ttft_p50: float
    ttft_p95: float
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


def run(decoder: Decoder, policy: str, work: list[Submit]) -> Run:
    runner = TorchRunner(decoder, blocks=RUNNING * MODEL.context // BLOCK_SIZE, block_size=BLOCK_SIZE)
    engine = Engine(runner, Batching(policy=policy, max_running=RUNNING, max_batch_tokens=512))
    start, used = time.perf_counter(), time.process_time()
    for submit in work:
        engine.submit(submit)
    first: dict[str, float] = {}
    tokens = 0
    while not engine.idle:
        updates = engine.step()
        now = time.perf_counter() - start
        for update in updates:
            first.setdefault(update.id, now)
            tokens += len(update.tokens)
    times = sorted(first.values())
    return Run(
        tokens_per_second=tokens / (time.perf_counter() - start),
        tokens_per_cpu_second=tokens / (time.process_time() - used),
        ttft_p50=statistics.median(times),
        ttft_p95=times[int(0.95 * len(times))],
        preemptions=engine.stats().preemptions,
        steps=engine.stats().steps,
    )


class Nothing:
    """A runner that computes nothing: what is left is the engine."""

    context, vocabulary = 2048, MODEL.vocabulary
    width = adapters = 0
    verifies = False
    code = RunnerCode("pytorch", "")

    def __init__(self, *, block_size: int, steps: int = 1) -> None:
        self.block_size, self.blocks = block_size, 600_000 // block_size
        self.steps = self.steps_alone = steps

    def execute(self, batch: Batch) -> Sampled:
        rows = len(batch.draws)
        return Sampled(np.full((rows, batch.steps), 7), (None,) * rows)


def waste(block_size: int) -> tuple[float, float]:
    """Mean and largest share of used places that hold no token, over the steps at full load."""
    runner: Runner = Nothing(block_size=block_size)
    engine = Engine(runner, Batching(max_running=RUNNING, max_batch_tokens=512))
    for submit in requests(1000):
        engine.submit(submit)
    shares = []
    while not engine.idle:
        engine.step()
        stats = engine.stats()
        if stats.running == RUNNING:
            shares.append(stats.slots_wasted / (stats.blocks_used * block_size))
    return statistics.mean(shares), max(shares)


def host_us(sequences: int, steps: int) -> float:
    """Median processor time of a step with that many decoding sequences, in microseconds per token of each."""
    engine = Engine(Nothing(block_size=16, steps=steps), Batching(max_running=sequences, max_batch_tokens=8192))
    for i in range(sequences):
        prompt = tuple(range(i, i + 300))
        engine.submit(Submit(id=str(i), prompt=prompt, sampling=Sampling(max_tokens=1500), arrived=0.0))
    times = []
    for number in range(140):
        start = time.process_time()
        engine.step()
        if number >= 40:
            times.append(time.process_time() - start)
    return statistics.median(times) * 1e6 / steps


def policy_rows(count: int) -> Iterator[Row]:
    torch.manual_seed(0)
    decoder, work = Decoder(MODEL).eval(), requests(count)
    run(decoder, "continuous", work[:8])
    runs: dict[str, list[Run]] = {policy: [] for policy in REPEATS}
    taken = {policy: count // FIFO_SHARE if policy == "fifo" else count for policy in REPEATS}
    for number in range(max(REPEATS.values())):
        for policy, repeats in REPEATS.items():
            if number < repeats:
                runs[policy].append(run(decoder, policy, work[: taken[policy]]))
                print(policy, runs[policy][-1], file=sys.stderr, flush=True)
    middle = {policy: _median(found) for policy, found in runs.items()}
    base = middle["fifo"]
    for policy, found in middle.items():
        ratio = found.tokens_per_second / base.tokens_per_second
        of_cpu = found.tokens_per_cpu_second / base.tokens_per_cpu_second  # what a busy machine leaves as it is
        held = policy == "continuous"
        yield Row(
            name=f"{policy}, {taken[policy]} requests, at most {1 if policy == 'fifo' else RUNNING} at a time",
            figure=f"{found.tokens_per_second:.0f} tokens/s, {ratio:.1f}x FIFO ({of_cpu:.1f}x by processor time); "
            f"first token p50 {found.ttft_p50:.2f} s, p95 {found.ttft_p95:.2f} s",
            target=f">= {LEAST_RATIO:.0f}x FIFO" if held else "",
            met=min(ratio, of_cpu) >= LEAST_RATIO if held else None,
            detail={
                "ratio": ratio,
                "ratio_of_cpu_time": of_cpu,
                "threads": torch.get_num_threads(),
                "median": asdict(found),
                "runs": [asdict(each) for each in runs[policy]],
            },
        )


def _median(runs: list[Run]) -> Run:
    return sorted(runs, key=lambda each: each.tokens_per_second)[len(runs) // 2]


def waste_rows() -> Iterator[Row]:
    for size in (4, 8, 16):
        mean, most = waste(size)
        default = size == BLOCK_SIZE
        yield Row(
            name=f"cache places without a token, blocks of {size}{' (default)' if default else ''}",
            figure=f"{mean:.2%} of those used",
            target=f"< {MOST_WASTE:.0%}" if default else "",
            met=mean < MOST_WASTE if default else None,
            detail={"mean": mean, "max": most},
        )


def host_rows() -> Iterator[Row]:
    for sequences in (1, 32, 128, 256):
        single, ahead = host_us(sequences, 1), host_us(sequences, 8)
        budget = HOST_BUDGET_US.get(sequences)
        yield Row(
            name=f"host time of a step, {sequences} sequences",
            figure=f"{single:.0f} us; {ahead:.0f} us a token at 8 steps a call",
            target=f"< {budget:.0f} us" if budget else "",
            met=single < budget if budget else None,
            detail={"us_per_step": single, "us_per_token_at_8": ahead},
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", type=int, nargs="?", default=96)
    requests = parser.parse_args().requests
    started: dict[str, Any] = machine()
    publish("serving_cpu", [*host_rows(), *waste_rows(), *policy_rows(requests)], started)


if __name__ == "__main__":
    main()
