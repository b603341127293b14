"""Training from text to a model: loss against counted baselines, tokens per second, MFU.

`python bench/training.py [--gpu] [words for gridstride train]`: the default run, ten minutes on two cores, whose
figures go to train_cpu.json; with --gpu the preset gpu-100m on a GPU, two and a half minutes, to train_h200.json.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="the preset gpu-100m on a GPU")
    options, words = parser.parse_known_args()  # what it does not know is for gridstride train
    preset = ["--config", "gpu-100m"] if options.gpu else ["--set", "run.device=cpu"]
    started = common.machine()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "gridstride", "train", *preset, "--json", *words]
        done = subprocess.run(
            [*command, "--set", f"run.folder={folder}", "--set", "run.name=bench"], stdout=subprocess.PIPE, text=True
        )
        if done.returncode:
            sys.exit(f"training failed: {done.stdout}")
        found = figures(Path(folder) / "bench")
    target = Path(os.environ.get("OUT") or common.RESULTS)
    path = common.save("train_h200" if options.gpu else "train_cpu", found, started=started, folder=target)
    print(said(found))
    print(f"all figures in {path}")


def figures(run: Path) -> dict[str, Any]:
    """What a run's folder says of it."""
    record: dict[str, Any] = json.loads((run / "result.json").read_text())
    del record["folder"]
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return {**record, "curve": [curve(entry) for entry in log]}


def curve(entry: dict[str, float]) -> dict[str, float]:
    """What is drawn of an entry of the log."""
    names = ("step", "loss", "validation_loss", "seconds", "tokens_per_second", "mfu")
    return {name: round(entry[name], 4) for name in names if name in entry}


def said(found: dict[str, Any]) -> str:
    below = found["baselines_bits_per_byte"]
    return (
        f"{found['validation_bits_per_byte']:.3f} bits per byte; bytes by frequency {below['byte_entropy']:.3f}, "
        f"trigrams of tokens {below['token_trigram']:.3f}; "
        f"{found['tokens_per_second']:,.0f} tokens/s, MFU {found['mfu']:.1%}"
    )


if __name__ == "__main__":
    main()
