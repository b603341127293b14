"""The engine on one thread of a CPU against llama.cpp, and PyTorch's operators alone (fp32): one request, and eight.

python bench/serving_peers.py [rounds]

A Llama of 28 million random weights; the same prompts and number of tokens, greedy, in fp32, bf16 and 8 bits. Each is a
process of its own, and they answer in turn, so that a busy machine is busy for all; medians of the rounds, prompts
included, on the clock and by processor time. llama.cpp is that of the wheel `xllamacpp` in the peers' environment,
which `make bench` makes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import common
import torch
from common import NotMeasured, Row, machine, publish

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.huggingface import folder as folders

MODEL = DecoderConfig(
    vocabulary=4096, width=512, layers=8, heads=8, kv_heads=8, head_width=64, hidden=1408, context=1024, tied=True
)
DEVIATION = 0.02  # of the embedding: with PyTorch's own of 1 a tied model says its input again
PROMPT, TOKENS = 32, 64
GOAL = {1: 0.9, 8: 1.0}  # times llama.cpp's rate in fp32, by requests at a time
GGUF = {"fp32": "F32", "bf16": "BF16", "int8": "Q8_0"}  # llama.cpp's 8 bits have a scale for 32 weights, ours for a row
US, PLAIN, PEER = "gridstride", "PyTorch's operators", "llama.cpp"
RATES = ("rate", "processor_rate")


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
Runs = dict[int, dict[str, list[Run]]]
"""By requests at a time and by who ran."""


def prompts(count: int) -> list[list[int]]:
    return [[(37 * number + 11 * at) % MODEL.vocabulary for at in range(PROMPT)] for number in range(1, count + 1)]


@contextmanager
def server(*command: object, log: Path) -> Iterator[Server]:
    """A process that answers by lines; NotMeasured where it ends."""
    words = [str(word) for word in command]
    with (
        log.open("w") as said,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True) as process,
    ):
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def answer() -> Any:
            if line := stdout.readline():
                return json.loads(line)
            lines = log.read_text().strip().splitlines()
            raise NotMeasured(f"{Path(words[1]).name}: {lines[-1] if lines else 'it ended without a word'}")

        def run(count: int) -> Run:
            print(json.dumps({"prompts": prompts(count), "tokens": TOKENS}), file=stdin, flush=True)
            found = answer()
            return Run(tuple(map(tuple, found["tokens"])), found["seconds"], found["processor_seconds"])

        try:
            print(answer()["system"], file=sys.stderr)
            yield run
        finally:
            stdin.close()


def measured(kind: str, model: Path, rounds: int) -> tuple[Runs, str]:
    """The runs, and why llama.cpp is not among them. All run in turn; the first run of each is not counted."""
    runs: Runs = {count: {} for count in GOAL}
    note = ""
    with ExitStack() as stack:
        ours = {US: "native", PLAIN: "plain"} if kind == "fp32" else {US: "native"}
        servers = {
            name: stack.enter_context(
                server(
                    sys.executable, common.BENCH / "parts/serve_lines.py", model, kind, how, log=model / f"{how}.log"
                )
            )
            for name, how in ours.items()
        }
        script = common.BENCH / "peers/llama_cpp.py"
        try:
            if not common.PEERS.exists():
                raise NotMeasured(f"{common.PEERS.relative_to(common.ROOT)} is not there: `make bench` makes it")
            peer = server(common.PEERS, script, model, GGUF[kind], model, log=model / "peer.log")
            servers[PEER] = stack.enter_context(peer)
        except NotMeasured as reason:
            note = f"no llama.cpp: {reason}"
        for number in range(rounds + 1):
            for count in GOAL:
                for name, run in servers.items():
                    found = run(count)
                    if number:
                        runs[count].setdefault(name, []).append(found)
            print(f"{kind}: round {number} of {rounds}", file=sys.stderr, flush=True)
    return runs, note


def same_share(mine: Run, theirs: Run) -> float:
    """How much of the texts is the same, up to the first token that is not."""
    same = [
        next((i for i, (a, b) in enumerate(zip(text, other, strict=True)) if a != b), len(text))
        for text, other in zip(mine.tokens, theirs.tokens, strict=True)
    ]
    return sum(same) / (len(same) * TOKENS)


def row(kind: str, count: int, runs: dict[str, list[Run]], note: str) -> Row:
    medians = {
        name: {rate: statistics.median(getattr(run, rate) for run in found) for rate in RATES}
        for name, found in runs.items()
    }
    others = [f"{name} {medians[name]['rate']:.0f}" for name in medians if name != US]
    figure, goal = f"{medians[US]['rate']:.0f} tok/s; {', '.join(others)}", GOAL[count] if kind == "fp32" else None
    ratios, detail = {}, {}
    if PEER in runs:
        pairs = list(zip(runs[US], runs[PEER], strict=True))
        ratios = {rate: statistics.median(getattr(a, rate) / getattr(b, rate) for a, b in pairs) for rate in RATES}
        figure += f": {ratios['rate']:.2f}x llama.cpp, {ratios['processor_rate']:.2f}x by processor time"
        detail = {"ratios": ratios, "same_tokens_as_llama_cpp": same_share(*pairs[0])}
    times = {
        name: [{key: value for key, value in asdict(run).items() if key != "tokens"} for run in found]
        for name, found in runs.items()
    }
    return Row(
        name=f"{kind}, {count} at a time",
        figure=figure,
        target="" if goal is None else f">= {goal}x",
        met=min(ratios.values()) >= goal if ratios and goal is not None else None,
        note=note,
        detail={"medians": medians, **detail, "runs": times},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    rounds = parser.parse_args().rounds
    started = machine()
    torch.manual_seed(0)
    decoder = Decoder(MODEL).eval()
    torch.nn.init.normal_(decoder.embed_tokens.weight, std=DEVIATION)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folders.save(decoder, Path(scratch))
        for kind in GGUF:
            runs, note = measured(kind, Path(scratch), rounds)
            rows += [row(kind, count, found, note) for count, found in runs.items()]
    publish("serving_peers", rows, started)


if __name__ == "__main__":
    main()
