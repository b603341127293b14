"""Serving on a GPU against what its memory allows: a full load over HTTP, half of it, and long prompts.

    python bench/serving_limit_h200.py [--requests 1024] [--repeats 2] [--parts load half prompts] [--device cpu]

The 0.6 B Llama shape of bench/decode_h200.py with random weights and a context of 16,384 tokens; lengths as in
bench/load_h200.py, 256 sequences at a time. The limit reads the weights once for every 256 tokens, and for each token
the keys and values of all before it, at the bandwidth of a large copy: nothing for prompts, and as if all places were
taken to the end. `half` sends half as many requests a second at random times. `prompts` gives the engine alone prompts
of 8,192 tokens, 1 and 8 of them; operations are those of the matrices and of the attention that a causal mask leaves.
`--device cpu` serves a tiny shape, to try the script.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
from decode_h200 import COPY, SHAPE
from load_h200 import LENGTHS, RUNNING, TINY, write_model

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.load import load_run
from gridstride.serve.load.compare import serving
from gridstride.serve.load.lengths import lengths
from gridstride.serve.load.load_run import Load
from gridstride.serve.load.record import RequestRecord
from gridstride.serve.runner.cuda.cuda_runner import CudaRunner

PEAK = 989e12  # bf16 operations/s of an H200, dense, by its data sheet
LEAST_OF_LIMIT, MOST_WAIT_S = 0.5, 1.0
PROMPT, CONTEXT, BUDGET, BLOCK = 8192, 16_384, 2048, 16
PARTS = ("load", "half", "prompts")


def bytes_per_token(shape: dict[str, Any]) -> int:
    """Keys and values of one token in bf16."""
    return int(2 * 2 * shape["layers"] * shape["kv_heads"] * shape["head_width"])


def matrix_elements(shape: dict[str, Any]) -> int:
    """What every token is multiplied with, but the head, which only drawn tokens need."""
    heads = (shape["heads"] + 2 * shape["kv_heads"]) * shape["head_width"] + shape["heads"] * shape["head_width"]
    return int(shape["layers"] * shape["width"] * (heads + 3 * shape["hidden"]))


def limit_seconds(requests: list[tuple[int, int]], shape: dict[str, Any]) -> float:
    """The least time that memory takes to decode these (prompt, output) lengths."""
    weights = 2 * (matrix_elements(shape) + shape["vocabulary"] * shape["width"])
    tokens = sum(new for _, new in requests)
    places = sum(new * prompt + new * (new - 1) // 2 for prompt, new in requests)
    return float(weights * tokens / RUNNING + places * bytes_per_token(shape)) / COPY


def parents() -> dict[int, int]:
    """Of every process, its parent."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def processor_seconds(process: int) -> dict[str, float]:
    """Of a server's process and of its engine's."""
    found = {"server": 0.0, "engine": 0.0}
    for child, parent in parents().items():
        if process in (child, parent):
            with suppress(OSError):
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                found["server" if child == process else "engine"] += used
    return found


@contextmanager
def kept_records() -> Iterator[list[Sequence[RequestRecord]]]:
    """The records of every load that runs meanwhile."""
    kept: list[Sequence[RequestRecord]] = []

    def figures(records: Sequence[RequestRecord], slo: Mapping[str, float]) -> dict[str, Any]:
        kept.append(records)
        return original(records, slo)

    original = load_run.figures  # type: ignore[attr-defined]
    load_run.figures = figures  # type: ignore[attr-defined]
    try:
        yield kept
    finally:
        load_run.figures = original  # type: ignore[attr-defined]


def loads(folder: Path, words: argparse.Namespace, shape: dict[str, Any]) -> dict[str, Any]:
    """A full load some times, then one of half the rate, on one server."""
    options = ["--device", words.device, "--max-running", str(RUNNING)]
    length = lengths(LENGTHS)
    found: dict[str, Any] = {}
    full: list[dict[str, Any]] = []
    wishes: dict[str, Any] = {"prompt_lengths": length, "output_lengths": length, "temperature": 0.0}
    with serving(str(folder), "continuous", options=options) as url, kept_records() as records:
        server = max(child for child, parent in parents().items() if parent == os.getpid())
        for seed in range(words.repeats):  # other prompts each time: those of the time before are in the cache
            load = Load(requests=words.requests, concurrency=words.requests, warmup=16, seed=seed, **wishes)
            before = processor_seconds(server)
            figures = asyncio.run(load_run.run(url, load))
            figures["processor_s"] = {who: s - before[who] for who, s in processor_seconds(server).items()}
            figures["limit_s"] = limit_seconds([(r.prompt_tokens, r.output_tokens) for r in records[-1]], shape)
            figures["of_limit"] = figures["limit_s"] / figures["seconds"]
            full.append(figures)
        found["full"] = full
        if "half" in words.parts:
            rate = statistics.median(each["requests_per_second"] for each in full) / 2
            load = Load(requests=words.requests, rate=rate, seed=words.repeats, **wishes)
            found["half"] = asyncio.run(load_run.run(url, load))
    for each in [*full, *([found["half"]] if "half" in found else [])]:
        del each["url"], each["model"]  # of a server that was there for this run
    return found


def prompt_passes(shape: dict[str, Any], device: str, prompt: int) -> dict[str, Any]:
    """Seconds until 1 and 8 long prompts have their first tokens: the median of three, one before uncounted."""
    with torch.device(device):
        decoder = Decoder(DecoderConfig(**shape)).to(torch.bfloat16 if device == "cuda" else torch.float32)
    torch.manual_seed(0)
    for p in decoder.parameters():
        if p.dim() == 2:
            torch.nn.init.normal_(p, std=0.02)
    runner = CudaRunner(decoder, blocks=8 * (prompt // BLOCK + 2), block_size=BLOCK, device=device, one_launch=False)
    draw, found = np.random.default_rng(0), dict[str, Any]()
    for count in (1, 8):
        times = []
        for _ in range(4):
            engine = Engine(runner, Batching(max_batch_tokens=BUDGET, max_running=8, prefix_reuse=False))
            for i in range(count):
                engine.submit(Submit(
                    id=str(i), prompt=tuple(map(int, draw.integers(0, shape["vocabulary"], prompt))),
                    sampling=Sampling(temperature=0.0, max_tokens=1, ignore_eos=True), arrived=time.monotonic(),
                ))  # fmt: skip
            start = time.perf_counter()
            while not engine.idle:
                engine.step()
            times.append(time.perf_counter() - start)
        seconds = statistics.median(times[1:])
        attention = 4 * shape["layers"] * shape["heads"] * shape["head_width"] * prompt * (prompt + 1) // 2
        operations = count * (2 * matrix_elements(shape) * prompt + attention)
        found[f"{count} of {prompt}"] = {
            "seconds": seconds, "tokens_per_second": count * prompt / seconds, "mfu": operations / seconds / PEAK,
        }  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    parser.add_argument("--requests", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    words = parser.parse_args()
    if words.device == "cuda":
        common.need_gpu("serving_limit_h200.py")
    started, found = common.machine(), dict[str, Any]()
    shape = (SHAPE if words.device == "cuda" else TINY) | {"context": CONTEXT if words.device == "cuda" else 1024}
    rows = []
    if "load" in words.parts:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) / "model"
            write_model(folder, shape, words.device)
            found |= loads(folder, words, shape)
        best = max(found["full"], key=lambda each: float(each["of_limit"]))
        said = f"{best['output_tokens_per_second']:.0f} tok/s, {best['of_limit']:.3f} of the limit"
        met = best["of_limit"] >= LEAST_OF_LIMIT
        rows.append(common.Row(f"{words.requests} at once", said, f"{LEAST_OF_LIMIT:g}", met))
    if "half" in found:
        wait = found["half"]["ttft_ms"]["p95"] / 1e3
        rows.append(common.Row("half of that: p95 to the first token", f"{wait:.3f} s", f"{MOST_WAIT_S:g} s",
                               wait <= MOST_WAIT_S))  # fmt: skip
    if "prompts" in words.parts:
        found["prompts"] = prompt_passes(shape, words.device, PROMPT if words.device == "cuda" else 256)
        for name, each in found["prompts"].items():
            rows.append(common.Row(f"prompts: {name}", f"{each['tokens_per_second']:.0f} tok/s, MFU {each['mfu']:.3f}"))
    print(common.table(rows))
    if words.device == "cuda":
        device = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "shape": shape}
        print(common.save("serving_limit_h200", {**device, **found}, started=started, folder=words.results))


if __name__ == "__main__":
    main()
