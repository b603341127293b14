"""The engine on a GPU: continuous batching against one request at a time and against static batches, in one run.

    python bench/serving_h200.py [--requests 256] [--policies continuous static fifo] [--op-by-op]

The 0.6 B Llama shape of bench/decode_h200.py, random weights. All requests arrive at once: prompts of 16 to 512 tokens,
16 to 512 new ones, both log-uniform, greedy, none ends early. Every policy gets the same requests and the same runner.
Beside the rates it says where the seconds went: the host's parts, the GPU's kinds of work, and the GPU's idle time.
`--op-by-op` reads prompts without graphs. `--device cpu` runs a tiny shape, to try the script.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
from decode_h200 import SHAPE

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import Batch, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner.cuda.batch_parts import BatchPart
from gridstride.serve.runner.cuda.cuda_runner import CudaRunner, GraphSizes, Inputs
from gridstride.serve.runner.cuda.graph_inputs import GraphInputs
from gridstride.serve.runner.cuda.graphs import Step

REQUESTS, RUNNING, LOW, HIGH, BLOCK = 256, 128, 16, 512, 16
BUDGET = 2048  # tokens of a step, as `gridstride serve` has it
TINY = {"vocabulary": 300, "width": 128, "layers": 2, "heads": 4, "kv_heads": 2, "head_width": 64, "hidden": 256,
        "context": 1024}  # fmt: skip
MOST_REGRET = 0.25  # of a first token's logit below the largest one, in standard deviations of the logits


class Watched(CudaRunner):
    """Notes what it was given, and the GPU's time for each kind of work: two events a part."""

    def watch(self) -> None:
        """Forget what was noted."""
        self.host: defaultdict[str, float] = defaultdict(float)  # seconds
        self.work: Counter[str] = Counter()
        self._spans: list[tuple[str, Any, Any]] = []

    def execute(self, batch: Batch) -> Sampled:
        with clocked(self.host, "runner: queue and wait"):
            return super().execute(batch)

    def gpu(self) -> dict[str, float]:
        """Seconds by kind of work, once all has ended."""
        found: defaultdict[str, float] = defaultdict(float)
        for name, start, end in self._spans:
            found[name] += start.elapsed_time(end) / 1e3
        return dict(found)

    def _queue(self, part: BatchPart, inputs: Inputs, step: Step) -> Any:
        batch, kind = part.batch, "decoding" if part.decoding else "prompts"
        self.work[f"{kind}: calls"] += 1
        self.work[f"{kind}: sequences"] += len(batch.lengths)
        self.work[f"{kind}: tokens"] += len(batch.tokens) * batch.steps
        self.work[f"{kind}: steps"] += batch.steps
        size = inputs.rows * batch.steps if isinstance(inputs, GraphInputs) else inputs.size.tokens
        self.work[f"{kind}: tokens and what fills them up"] += size
        with clocked(self.host, "runner: queue"):
            return super()._queue(part, inputs, step if part.decoding else lambda: self._spanned("prompts", step))

    def _queue_steps(self, static: GraphInputs, step: Step, steps: int, *, greedy: bool) -> None:
        self._spanned("decoding", lambda: super(Watched, self)._queue_steps(static, step, steps, greedy=greedy))

    def _spanned(self, name: str, work: Step) -> None:
        if self._device.type != "cuda":
            work()
            return
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        self._spans.append((name, start, end))


@contextmanager
def clocked(seconds: defaultdict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] += time.perf_counter() - start


def noting(seconds: defaultdict[str, float], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*args: Any, **options: Any) -> Any:
        with clocked(seconds, name):
            return call(*args, **options)

    return noted


def requests(count: int, *, seed: int, vocabulary: int = int(SHAPE["vocabulary"]), high: int = HIGH) -> list[Submit]:
    """Mixed lengths: most are short, a few are long."""
    draw = np.random.default_rng(seed)
    lengths = np.exp(draw.uniform(np.log(LOW), np.log(high), (count, 2))).astype(int)
    return [
        Submit(
            id=str(i), prompt=tuple(map(int, draw.integers(0, vocabulary, prompt))),
            sampling=Sampling(temperature=0.0, max_tokens=int(new), ignore_eos=True), arrived=time.monotonic(),
        )
        for i, (prompt, new) in enumerate(lengths)
    ]  # fmt: skip


def run(runner: Watched, policy: Any, asked: list[Submit]) -> dict[str, Any]:
    """Seconds until all have ended, tokens per second, times to the first token, and where the seconds went."""
    engine = Engine(runner, Batching(policy=policy, max_batch_tokens=BUDGET, max_running=RUNNING, prefix_reuse=False))
    runner.watch()
    scheduler, host = engine._scheduler, runner.host
    scheduler.plan = noting(host, "plan", scheduler.plan)  # type: ignore[method-assign]
    scheduler.tables.batch = noting(host, "batch", scheduler.tables.batch)  # type: ignore[method-assign]
    engine._advance = noting(host, "advance", engine._advance)  # type: ignore[method-assign]
    settle(runner)
    start = time.perf_counter()
    for each in asked:
        engine.submit(each)
    first: dict[str, float] = {}
    tokens = 0
    while not engine.idle:
        for update in engine.step():
            if update.error is not None:
                raise RuntimeError(update.error)
            tokens += len(update.tokens)
            if update.tokens:
                first.setdefault(update.id, time.perf_counter() - start)
    seconds = time.perf_counter() - start
    settle(runner)
    assert tokens == sum(each.sampling.max_tokens for each in asked)
    waits = np.array(sorted(first.values()))
    return {"seconds": seconds, "tokens": tokens, "tokens_per_second": tokens / seconds,
            "ttft_p50_s": float(np.quantile(waits, 0.5)), "ttft_p95_s": float(np.quantile(waits, 0.95)),
            **where(runner, seconds)}  # fmt: skip


def where(runner: Watched, seconds: float) -> dict[str, Any]:
    """The host's seconds, of which waiting is what its parts leave of the runner's, and the GPU's."""
    host, gpu = dict(runner.host), runner.gpu()
    both = host.pop("runner: queue and wait", 0.0)
    host["runner: wait"] = both - host.get("runner: queue", 0.0)
    host["else"] = seconds - sum(host.values())
    gpu["idle"] = seconds - sum(gpu.values())
    return {"host_s": host, "gpu_s": gpu, "work": dict(runner.work)}


def settle(runner: CudaRunner) -> None:
    if runner._device.type == "cuda":
        torch.cuda.synchronize()


def regret(runner: CudaRunner, decoder: Decoder, asked: list[Submit]) -> float:
    """How far the worst first token lies below the likeliest one of PyTorch's own attention over the same weights."""
    engine = Engine(runner, Batching(max_batch_tokens=BUDGET, max_running=RUNNING, prefix_reuse=False))
    for each in asked:
        engine.submit(each)
    drawn: dict[str, int] = {}
    while len(drawn) < len(asked):
        for update in engine.step():
            drawn.setdefault(update.id, update.tokens[0])
    for each in asked:
        engine.abort(each.id)
    worst = 0.0
    with torch.inference_mode():
        for each in asked:
            prompt = torch.tensor([each.prompt], device=decoder.embed_tokens.weight.device)
            logits = decoder.logits(decoder(prompt)[0, -1]).float()
            worst = max(worst, float((logits.max() - logits[drawn[each.id]]) / logits.std()))
    return worst


def made(device: str, shape: dict[str, Any], prompts: dict[str, Any]) -> tuple[Decoder, Watched]:
    torch.manual_seed(0)
    with torch.device(device):
        decoder = Decoder(DecoderConfig(**shape)).to(torch.bfloat16 if device == "cuda" else torch.float32).eval()
    for p in decoder.parameters():
        if p.dim() == 2:
            torch.nn.init.normal_(p, std=0.02)
    runner = Watched(
        decoder, blocks=RUNNING * 2 * HIGH // BLOCK + 64, block_size=BLOCK, sizes=GraphSizes(steps=8, **prompts)
    )
    runner.watch()
    runner.warm(RUNNING)
    settle(runner)
    return decoder, runner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--policies", nargs="+", default=["continuous", "static", "fifo"])
    parser.add_argument("--op-by-op", action="store_true")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    words = parser.parse_args()
    if words.device == "cuda":
        common.need_gpu("serving_h200.py")
    started = common.machine()
    shape, high = (SHAPE, HIGH) if words.device == "cuda" else (TINY, 2 * LOW)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name() if words.device == "cuda" else "cpu",
                             "torch": torch.__version__, "shape": shape, "op_by_op": words.op_by_op}  # fmt: skip
    start = time.perf_counter()
    try:
        decoder, runner = made(words.device, shape, {"prompts": ()} if words.op_by_op else {})
    except Exception as error:  # the machine's time is short: what can be measured is
        traceback.print_exc()
        found["recording_failed"] = f"{type(error).__name__}: {error}"[:400]
        decoder, runner = made(words.device, shape, {"prompts": ()})
    found["made_and_recorded_s"] = time.perf_counter() - start
    of = {"vocabulary": int(shape["vocabulary"]), "high": high}
    found["regret"] = regret(runner, decoder, requests(16, seed=2, **of))
    say(f"made and recorded in {found['made_and_recorded_s']:.1f} s")
    run(runner, "continuous", requests(32, seed=1, **of))  # what is loaded at first use
    found["policies"] = {}
    for policy in words.policies:
        asked = requests(words.requests, seed=0, **of)
        found["policies"][policy] = result = run(runner, policy, asked)
        tell(policy, result)
    if not words.op_by_op and words.device == "cuda" and "recording_failed" not in found:
        found["continuous_prompts_op_by_op"] = op_by_op(words.requests)
    report(found, started, words.results, publish=words.device == "cuda" and not words.op_by_op)


def op_by_op(count: int) -> dict[str, Any]:
    """What the graphs of prompts gain."""
    try:
        _, runner = made("cuda", SHAPE, {"prompts": (), "one_launch": False})
        run(runner, "continuous", requests(8, seed=1))
        result = run(runner, "continuous", requests(count, seed=0))
    except Exception as error:
        traceback.print_exc()
        return {"error": str(error)[:400]}
    tell("continuous, prompts op by op", result)
    return result


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def tell(policy: str, result: dict[str, Any]) -> None:
    """One policy in four lines."""
    say(f"{policy}: {result['seconds']:.3f} s, {result['tokens_per_second']:.0f} tok/s, first token p50 "
        f"{result['ttft_p50_s']:.3f} s, p95 {result['ttft_p95_s']:.3f} s")  # fmt: skip
    for name in ("host_s", "gpu_s", "work"):
        parts = sorted(result[name].items(), key=lambda item: -item[1]) if name != "work" else result[name].items()
        say(
            f"  {name}: "
            + ", ".join(f"{key} {value:.3f}" if name != "work" else f"{key} {value}" for key, value in parts)
        )


def report(found: dict[str, Any], started: dict[str, Any], folder: Path, *, publish: bool) -> None:
    speed = {name: r["tokens_per_second"] for name, r in found["policies"].items()}
    rows = [common.Row("first tokens below the likeliest", f"{found['regret']:.4f} deviations", f"< {MOST_REGRET}",
                       found["regret"] < MOST_REGRET)]  # fmt: skip
    if {"continuous", "fifo"} <= speed.keys():
        found["continuous_over_fifo"] = ratio = speed["continuous"] / speed["fifo"]
        waits = found["policies"]["continuous"]["ttft_p95_s"]
        said = f"{ratio:.1f}x, {speed['continuous']:.0f} against {speed['fifo']:.0f} tok/s, p95 first {waits:.2f} s"
        rows.append(common.Row("continuous over one at a time", said, "10x", ratio >= 10))
    if {"continuous", "static"} <= speed.keys():
        found["continuous_over_static"] = ratio = speed["continuous"] / speed["static"]
        rows.append(common.Row("continuous over static batches", f"{ratio:.2f}x", "1x", ratio >= 1))
    print(json.dumps({name: found[name] for name in found if name not in ("shape",)}, indent=1))
    print(common.table(rows))
    if publish:
        print(common.save("serving_h200", found, started=started, folder=folder))


if __name__ == "__main__":
    main()
