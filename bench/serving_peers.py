"""The engine on one thread of a CPU against llama.cpp, and PyTorch's operators alone: one request, and eight at a time.

python bench/serving_peers.py [rounds]

A Llama of 28 million random weights; the same prompts and number of tokens, greedy, in fp32, bf16 and 8 bits. Who is
measured runs in turn, so that a busy machine is busy for all; medians of the rounds, prompts included, on the clock and
by processor time. llama.cpp is that of the wheel `xllamacpp` in the peers' environment, which `make bench` makes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import common
import torch
from common import NotMeasured, Row, machine, publish

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.huggingface import folder as folders
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.runner import build
from gridstride.serve.runner.torch.torch_runner import TorchRunner

MODEL = DecoderConfig(
    vocabulary=4096, width=512, layers=8, heads=8, kv_heads=8, head_width=64, hidden=1408, context=1024, tied=True
)
DEVIATION = 0.02  # of the embedding: with PyTorch's own of 1 a tied model says its input again
PROMPT, TOKENS = 32, 96
REQUESTS = (1, 8)
GOAL = {1: 0.9, 8: 1.0}
KINDS: dict[str, dict[str, Any]] = {
    "fp32": {"dtype": torch.float32}, "bf16": {"dtype": torch.bfloat16},
    "int8": {"dtype": torch.float32, "quantization": "int8"},
}  # fmt: skip
GGUF = {"fp32": "F32", "bf16": "BF16", "int8": "Q8_0"}
PEER = "peers/llama_cpp.py"


@dataclass(frozen=True, slots=True)
class Run:
    """All requests, from their submission to the last token."""

    tokens: tuple[tuple[int, ...], ...]
    seconds: float
    processor_seconds: float

    @property
    def rate(self) -> float:
        return sum(map(len, self.tokens)) / self.seconds

    @property
    def processor_rate(self) -> float:
        return sum(map(len, self.tokens)) / self.processor_seconds


Server = Callable[[int], Run]
"""Answers so many requests."""


def prompts(count: int) -> list[list[int]]:
    return [
        [(37 * number + 11 * place) % MODEL.vocabulary for place in range(PROMPT)] for number in range(1, count + 1)
    ]


def engine(runner: Any) -> Server:
    def run(count: int) -> Run:
        served = Engine(runner, max_running=max(REQUESTS), max_batch_tokens=512, prefix_reuse=False)
        said: dict[str, list[int]] = {}
        start, used = time.perf_counter(), time.process_time()
        for number, prompt in enumerate(prompts(count)):
            sampling = Sampling(max_tokens=TOKENS, temperature=0.0, ignore_eos=True)
            served.submit(Submit(id=str(number), prompt=tuple(prompt), sampling=sampling, arrived=time.monotonic()))
        while not served.idle:
            for update in served.step():
                said.setdefault(update.id, []).extend(update.tokens)
        seconds, processor = time.perf_counter() - start, time.process_time() - used
        return Run(tuple(tuple(said[str(number)]) for number in range(count)), seconds, processor)

    return run


@contextmanager
def llama_cpp(folder: Path, kind: str, work: Path) -> Iterator[Server]:
    """NotMeasured where the peers' environment has none."""
    if not common.PEERS.exists():
        raise NotMeasured(f"{common.PEERS.relative_to(common.ROOT)} is not there: `make bench` makes it")
    command = [str(common.PEERS), str(common.BENCH / PEER), str(folder), GGUF[kind], str(work)]
    path = work / f"{kind}.log"
    with (
        path.open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def answer() -> Any:
            if line := stdout.readline():
                return json.loads(line)
            lines = path.read_text().strip().splitlines()
            raise NotMeasured(f"{PEER}: {lines[-1] if lines else 'it ended without a word'}")

        def run(count: int) -> Run:
            print(json.dumps({"prompts": prompts(count), "tokens": TOKENS}), file=stdin, flush=True)
            found = answer()
            return Run(tuple(map(tuple, found["tokens"])), found["seconds"], found["processor_seconds"])

        try:
            print(answer()["system"], file=sys.stderr)
            yield run
        finally:
            stdin.close()


def same_share(ours: Run, theirs: Run) -> float:
    """How much of the texts is the same up to the first token that is not."""
    same = [
        next((i for i, (a, b) in enumerate(zip(mine, other, strict=True)) if a != b), len(mine))
        for mine, other in zip(ours.tokens, theirs.tokens, strict=True)
    ]
    return sum(same) / (len(same) * TOKENS)


def measured(servers: dict[str, Server], rounds: int) -> dict[int, dict[str, list[Run]]]:
    """Runs by number of requests and by who ran, all in turn; the first of each is not counted."""
    runs: dict[int, dict[str, list[Run]]] = {count: {name: [] for name in servers} for count in REQUESTS}
    for number in range(rounds + 1):
        for count in REQUESTS:
            for name, server in servers.items():
                found = server(count)
                if number:
                    runs[count][name].append(found)
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
    return runs


def rows(kind: str, runs: dict[int, dict[str, list[Run]]], note: str) -> Iterator[Row]:
    for count, by_name in runs.items():
        rates = {name: statistics.median(run.rate for run in found) for name, found in by_name.items()}
        processor = {name: statistics.median(run.processor_rate for run in found) for name, found in by_name.items()}
        ours = f"{rates['gridstride']:.0f} tok/s"
        beside = [f"{name} {rates[name]:.0f}" for name in rates if name != "gridstride"]
        ratio, target = None, ""
        detail: dict[str, Any] = {"rates": rates, "processor_rates": processor}
        if "llama.cpp" in rates:
            pairs = zip(by_name["gridstride"], by_name["llama.cpp"], strict=True)
            ratio = statistics.median(mine.rate / other.rate for mine, other in pairs)
            of_processor = processor["gridstride"] / processor["llama.cpp"]
            same = same_share(by_name["gridstride"][0], by_name["llama.cpp"][0])
            ours += f", {ratio:.2f}x llama.cpp ({of_processor:.2f}x by processor time)"
            detail |= {"ratio": ratio, "ratio_of_processor_time": of_processor, "same_tokens": same}
            target = f">= {GOAL[count]}x" if kind == "fp32" else ""
        detail["runs"] = {
            name: [{key: value for key, value in asdict(run).items() if key != "tokens"} for run in found]
            for name, found in by_name.items()
        }
        yield Row(
            name=f"{kind}, {count} request{'s' if count > 1 else ''}",
            figure=f"{ours}; {', '.join(beside)}" if beside else ours,
            target=target,
            met=ratio >= GOAL[count] if ratio is not None and target else None,
            note=note,
            detail=detail,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=9)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    started = machine()
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        torch.manual_seed(0)
        decoder = Decoder(MODEL).eval()
        torch.nn.init.normal_(decoder.embed_tokens.weight, std=DEVIATION)
        folders.save(decoder, work / "model")
        for kind, options in KINDS.items():
            runner = build.runner(work / "model", device="cpu", memory=256 << 20, **options)
            servers = {"gridstride": engine(runner)}
            if kind != "int8":
                plain = folders.load(work / "model", dtype=options["dtype"])
                servers["PyTorch's operators"] = engine(TorchRunner(plain, blocks=1024, block_size=build.BLOCK_SIZE))
            try:
                with llama_cpp(work / "model", kind, work) as peer:
                    found += rows(kind, measured(servers | {"llama.cpp": peer}, rounds), "")
            except NotMeasured as reason:
                found += rows(kind, measured(servers, rounds), f"llama.cpp: {reason}")
    publish("serving_peers", found, started)


if __name__ == "__main__":
    main()
