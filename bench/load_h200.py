"""`gridstride load --compare` on a GPU: the same traffic over HTTP under each policy, in one run.

    python bench/load_h200.py [--requests 1024] [--device cpu]

The 0.6 B Llama shape of bench/decode_h200.py with random weights, which says as many tokens as are asked for. Prompts
and answers of mixed lengths, log-normal with a median of 90 tokens, up to 512. 1024 requests at once: with fewer, the
time until all have come and the last long answers are most of what is measured. `--device cpu` serves a tiny shape, to
try the script. It needs what the extra `serve` installs.
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
import torch
from decode_h200 import SHAPE

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.huggingface import folder as folders
from gridstride.train.config import run_config
from gridstride.train.data import corpus, tokenizer

TINY = {"vocabulary": 3000, "width": 128, "layers": 2, "heads": 4, "kv_heads": 2, "head_width": 64, "hidden": 256,
        "context": 1024}  # fmt: skip
LENGTHS = "lognormal:90:1.1:512"
RUNNING = 256
LEAST_RATIO = 10.0


def write_model(folder: Path, shape: dict[str, Any], device: str) -> None:
    """A folder that `gridstride serve` takes; the tokenizer has fewer words than the model."""
    source = run_config.load().data.source
    texts = (document.text for document, _ in zip(corpus.documents(source), range(100), strict=False))
    words = tokenizer.train(texts, vocabulary=2000)
    torch.manual_seed(0)
    with torch.device(device):
        decoder = Decoder(DecoderConfig(**shape)).to(torch.bfloat16 if device == "cuda" else torch.float32)
    for p in decoder.parameters():
        if p.dim() == 2:
            torch.nn.init.normal_(p, std=0.02)
    files = tokenizer.files(words, context=decoder.config.context)
    files["tokenizer.json"] = with_words(files["tokenizer.json"], decoder.config.vocabulary)
    folders.save(decoder.cpu(), folder, eos=(words.token_to_id(tokenizer.END),), files=files)


def with_words(tokenizer_json: str, vocabulary: int) -> str:
    """The tokenizer with a word for every token of the model: one that says nothing would not be streamed."""
    spelled: dict[str, Any] = json.loads(tokenizer_json)
    words = spelled["model"]["vocab"]
    words |= {f"Ġword{token}": token for token in range(len(words), vocabulary)}
    return json.dumps(spelled)


def compare(folder: Path, requests: int, device: str) -> dict[str, Any]:
    """What `gridstride load --compare` says."""
    command = [
        sys.executable, "-m", "gridstride", "load", str(folder), "--compare", "--device", device, "--json",
        "--requests", str(requests), "--max-running", str(RUNNING), "--temperature", "0",
        "--prompt-tokens", LENGTHS, "--output-tokens", LENGTHS,
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(common.ROOT / "src"), *sys.path[1:]])}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])}: {found.get('error', found)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    parser.add_argument("--requests", type=int, default=1024)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    words = parser.parse_args()
    if words.device == "cuda":
        common.need_gpu("load_h200.py")
    started = common.machine()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "model"
        write_model(folder, SHAPE if words.device == "cuda" else TINY, words.device)
        found = compare(folder, words.requests, words.device)
    figures = found["policies"]
    del found["model"]
    for each in figures.values():
        del each["url"], each["model"]  # of a server that was there for this run
    rows = []
    for other in ("fifo", "static"):
        ratio = found["ratios"][f"continuous over {other}"]["output_tokens_per_second"]
        rates = [figures[policy]["output_tokens_per_second"] for policy in ("continuous", other)]
        waits = [figures[policy]["ttft_ms"]["p95"] / 1e3 for policy in ("continuous", other)]
        said = (
            f"{ratio:.2f}x, {rates[0]:.0f} against {rates[1]:.0f} tok/s, p95 first {waits[0]:.2f} and {waits[1]:.2f} s"
        )
        least = LEAST_RATIO if other == "fifo" else 1.0
        rows.append(common.Row(f"continuous over {other}", said, f"{least:g}x", ratio >= least))
    print(common.table(rows))
    if words.device == "cuda":
        device = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        print(common.save("load_h200", {**device, **found}, started=started, folder=words.results))


if __name__ == "__main__":
    main()
