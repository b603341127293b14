"""What the engine would take on an H200, without one: its own work is done and timed, the GPU's is added up.

    python bench/engine_model.py [--op-by-op] [--steps 8] [--running 128] [--budget 2048] [--host 1.0]

The traffic of bench/serving_h200.py goes through the real engine over a runner that computes nothing. Decoding steps
take what bench/results/decode_h200.json has for their bucket, and for their tokens in the cache. A pass over prompts
takes an estimate: the launches of a graph, and each token's arithmetic at half of the H200's rate; `--op-by-op` takes
what FIFO and static batches of 2026-11-21 say of passes without graphs. `--host` scales this machine's processor time
to the GPU machine's. All that is printed is a prediction, good for comparing policies and sizes.
"""

from __future__ import annotations

import argparse
import bisect
import json
import time
from collections import Counter, defaultdict
from pathlib import Path

import common
import numpy as np
from decode_h200 import SHAPE
from serving_h200 import BLOCK, HIGH, REQUESTS, requests

from gridstride.serve.engine.batch import Batch, RunnerCode, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner.cuda.batch_parts import parts
from gridstride.serve.runner.cuda.cuda_runner import BUCKETS, PASS
from gridstride.serve.runner.cuda.prompts import TOKENS, needed, recorded

PLACES = 192  # tokens of each sequence in the recorded decoding steps
SMALL_STEP_MS = 1.45  # of 2 sequences, from a graph: the launches; estimated
PASS_MS, TOKEN_MS = 0.7, 0.0019  # of a pass from a graph; estimated
LEAST_PASS_MS = 1.5  # 28 layers of 11 launches of 4 to 5 us; estimated
OP_BY_OP_MS, EACH_PROMPT_MS = 22.0, 4.0  # of a pass without graphs; from bench/results/serving_h200.json of 2026-11-21
QUEUE_MS = 0.05, 0.0012, 0.25  # the runner's host time: of a decoding call, each of its sequences, a pass over prompts


class Decoding:
    """Milliseconds of a step by sequences and tokens in the cache, from what was recorded."""

    def __init__(self, path: Path = common.RESULTS / "decode_h200.json") -> None:
        found = json.loads(path.read_text())
        step = {count: found[f"batch_{count}"]["ours"]["step_ms"] for count in (1, 32, 128)}
        attention = {
            count: found[f"batch_{count}"]["ours"]["breakdown"]["kernels"]["paged_attention_split"]["ms"]
            for count in (32, 128)
        }
        self._one = step[1]
        self._by_token = (attention[128] - attention[32]) / ((128 - 32) * PLACES)
        per_sequence = (step[128] - step[32]) / (128 - 32)
        self._at = [2, 32, 128, 256], [SMALL_STEP_MS, step[32], step[128], step[128] + 128 * per_sequence]

    def ms(self, sequences: int, tokens: int) -> float:
        bucket = BUCKETS[bisect.bisect_left(BUCKETS, sequences)]
        if bucket == 1:
            return float(self._one)
        return float(np.interp(bucket, *self._at) + self._by_token * max(0, tokens - sequences * PLACES))


class Modelled:
    """A runner that computes nothing and adds up what a GPU would have taken."""

    context, vocabulary, block_size = int(SHAPE["context"]), int(SHAPE["vocabulary"]), BLOCK
    width = adapters = 0
    verifies = False
    code = RunnerCode("pytorch", "")

    def __init__(self, *, running: int, steps: int, op_by_op: bool) -> None:
        self.blocks, self.steps, self.steps_alone = running * 2 * HIGH // BLOCK + 64, steps, steps
        self.took: defaultdict[str, float] = defaultdict(float)  # milliseconds
        self.work: Counter[str] = Counter()
        self.own = 0.0  # processor seconds of this stand-in
        self._decoding, self._op_by_op = Decoding(), op_by_op

    def execute(self, batch: Batch) -> Sampled:
        start = time.process_time()
        single = np.diff(batch.starts) == 1
        if single.any():
            count, tokens = int(single.sum()), int(batch.lengths[single].sum())
            self._add("decoding", count, batch.steps, self._decoding.ms(count, tokens) * batch.steps)
            self.took["queueing"] += QUEUE_MS[0] + QUEUE_MS[1] * count
        for part in parts(batch, decoding=BUCKETS[-1], prompts=PASS):
            if not part.decoding:
                self._add("prompts", len(part.batch.lengths), 1, self._pass_ms(part.batch))
                self.took["queueing"] += QUEUE_MS[2]
        drawn = np.full((len(batch.draws), batch.steps), 7, np.int64)
        self.own += time.process_time() - start
        return Sampled(drawn, (None,) * len(drawn))

    def _add(self, kind: str, sequences: int, steps: int, ms: float) -> None:
        self.took[kind] += ms
        self.work.update({f"{kind} calls": 1, f"{kind} steps": steps, f"{kind} rows": sequences * steps})

    def _pass_ms(self, batch: Batch) -> float:
        size = recorded(needed(batch, gathered=True), TOKENS)
        if self._op_by_op or size is None:
            return OP_BY_OP_MS + EACH_PROMPT_MS * len(batch.lengths) + TOKEN_MS * len(batch.tokens)
        return max(LEAST_PASS_MS, PASS_MS + TOKEN_MS * size.tokens)


def predicted(policy: str, words: argparse.Namespace) -> tuple[float, str]:
    """Tokens per second, and a line of where the seconds go."""
    runner = Modelled(running=words.running, steps=words.steps, op_by_op=words.op_by_op)
    engine = Engine(
        runner, Batching(policy=policy, max_batch_tokens=words.budget, max_running=words.running, prefix_reuse=False)
    )
    asked = requests(words.requests, seed=0)
    start, tokens = time.process_time(), 0
    first: dict[str, float] = {}

    def now() -> float:
        host = (time.process_time() - start - runner.own) * 1e3 + runner.took["queueing"]
        return float(host * words.host + runner.took["decoding"] + runner.took["prompts"]) / 1e3

    for each in asked:
        engine.submit(each)
    while not engine.idle:
        for update in engine.step():
            tokens += len(update.tokens)
            first.setdefault(update.id, now())
    seconds, work = now(), runner.work
    gpu = {kind: runner.took[kind] / 1e3 for kind in ("decoding", "prompts")}
    rows = {kind: work[f"{kind} rows"] / work[f"{kind} steps"] for kind in gpu}
    return tokens / seconds, (
        f"{seconds:.2f} s, {tokens / seconds:.0f} tok/s: host {seconds - sum(gpu.values()):.2f}, decoding "
        f"{gpu['decoding']:.2f} ({work['decoding calls']} calls, {rows['decoding']:.0f} sequences), prompts "
        f"{gpu['prompts']:.2f} ({work['prompts calls']} passes, {rows['prompts']:.1f} prompts); "
        f"first token p95 {np.quantile(list(first.values()), 0.95):.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--running", type=int, default=128)
    parser.add_argument("--steps", type=int, default=8, help="in a call")
    parser.add_argument("--budget", type=int, default=2048, help="tokens of a step")
    parser.add_argument("--host", type=float, default=1.0)
    parser.add_argument("--op-by-op", action="store_true")
    words = parser.parse_args()
    speed: dict[str, float] = {}
    for policy in ("continuous", "static", "fifo"):
        speed[policy], said = predicted(policy, words)
        print(f"{policy}, predicted: {said}", flush=True)
    print(f"continuous over fifo, predicted: {speed['continuous'] / speed['fifo']:.1f}x")


if __name__ == "__main__":
    main()
