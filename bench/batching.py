"""What continuous batching gains: `gridstride load --compare`, the same traffic on one engine under three policies.

`python bench/batching.py [--shape default|0.6b] [--device cpu|cuda] [--threads N] [-- words for gridstride load]`; the
weights are random, as speed does not depend on them. `default` is the shape that `gridstride train` makes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import common

SHAPE_06B: dict[str, Any] = {
    "vocabulary": 151_936, "width": 1024, "layers": 28, "heads": 16, "kv_heads": 8, "head_width": 128, "hidden": 3072,
    "context": 4096, "tied": True,
}  # fmt: skip
TRAFFIC = ["-n", "128", "--max-running", "32", "--prompt-tokens", "lognormal:24:0.6:96",
           "--output-tokens", "lognormal:24:1.2:150"]  # fmt: skip
TRAFFIC_GPU = ["-n", "256", "--max-running", "128", "--prompt-tokens", "lognormal:128:0.8:1024",
               "--output-tokens", "lognormal:128:1.0:1024"]  # fmt: skip
VOCABULARY = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=("default", "0.6b"), default="default")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, help="of the engine's matrix products; PyTorch's choice by default")
    parser.add_argument("words", nargs="*", help="for gridstride load, in place of the usual traffic")
    given = parser.parse_args()
    started = common.machine()
    cuda = given.device.startswith("cuda")
    words = given.words or (TRAFFIC_GPU if cuda else TRAFFIC)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "model", given.shape, given.device)
        found = compare(Path(folder) / "model", given.device, given.threads, words)
    name = f"batching_{'h200' if cuda else 'cpu'}"
    target = 10.0 if cuda else 4.0
    rows = [row(found, "fifo", target), row(found, "static", None), *map(wait, found["policies"].items())]
    result = {"shape": given.shape, "device": given.device, "threads": given.threads, "traffic": words, **found}
    common.save(name, result, started=started, folder=Path(os.environ.get("OUT") or common.RESULTS))
    print(common.table(rows))


def write(folder: Path, shape: str, device: str) -> None:
    """A model folder of random weights with a byte-level BPE of the standard library's source."""
    import torch

    from gridstride.models.config import DecoderConfig
    from gridstride.models.decoder import Decoder
    from gridstride.models.huggingface import folder as folders
    from gridstride.serve.load.prompts import library_source
    from gridstride.train import model
    from gridstride.train.config import run_config
    from gridstride.train.data import tokenizer

    bpe = tokenizer.train([library_source()], vocabulary=VOCABULARY)
    sizes = DecoderConfig(**SHAPE_06B) if shape == "0.6b" else model.shape(run_config.load(), VOCABULARY)
    with torch.device("cuda" if device.startswith("cuda") else "cpu"):
        decoder = Decoder(sizes)
    model.initialise(decoder)
    decoder.to(torch.bfloat16 if device.startswith("cuda") else torch.float32)
    folders.save(decoder, folder, files=tokenizer.files(bpe, context=sizes.context))


def compare(folder: Path, device: str, threads: int | None, words: list[str]) -> dict[str, Any]:
    environment = os.environ | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)})
    command = [sys.executable, "-m", "gridstride", "load", "--compare", str(folder), "--json", "--device", device]
    done = subprocess.run([*command, *words], stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        sys.exit(f"the load failed: {done.stdout}")
    found: dict[str, Any] = json.loads(done.stdout)
    for figures in found["policies"].values():
        del figures["url"]
    return {"policies": found["policies"], "ratios": found["ratios"]}


def row(found: dict[str, Any], other: str, target: float | None) -> common.Row:
    ratio = found["ratios"][f"continuous over {other}"]["output_tokens_per_second"]
    wanted = "" if target is None else f">= {target:g}x"
    return common.Row(
        f"continuous over {other}, tokens/s", f"{ratio:.1f}x", wanted, None if target is None else ratio >= target
    )


def wait(policy: tuple[str, dict[str, Any]]) -> common.Row:
    name, figures = policy
    first, rate = figures["ttft_ms"]["p95"], figures["output_tokens_per_second"]
    return common.Row(f"{name}: tokens/s, p95 of the first token", f"{rate:.0f}, {first:.0f} ms")


if __name__ == "__main__":
    main()
