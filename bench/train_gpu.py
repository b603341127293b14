"""A model of about a hundred million parameters on one GPU: loss curve, tokens per second, MFU.

`python bench/train_gpu.py [words for gridstride train]`; on a machine without a GPU it says so and measures nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import common


def main(words: list[str]) -> None:
    import torch

    if not torch.cuda.is_available() and "--anyway" not in words:
        print("no GPU here: nothing is measured (bench/results/train_h200.json has the figures of an H200)")
        return
    words = [word for word in words if word != "--anyway"]
    started = common.machine()
    with tempfile.TemporaryDirectory() as folder:
        run = [f"run.folder={folder}", "run.name=gpu"]
        command = [sys.executable, "-m", "gridstride", "train", "--config", "gpu-100m", "--json", *words]
        for change in run:
            command += ["--set", change]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"training failed: {done.stdout}")
        record = json.loads(done.stdout)
        log = [json.loads(line) for line in (Path(folder) / "gpu" / "log.jsonl").read_text().splitlines()]
    del record["folder"]
    gpu = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__} if torch.cuda.is_available() else {}
    found = {"configuration": "gpu-100m", **gpu, **record, "curve": [curve(entry) for entry in log]}
    target = Path(os.environ.get("OUT") or common.RESULTS)
    path = common.save("train_h200", found, started=started, folder=target)
    print(f"MFU {record['mfu']:.1%}, {record['tokens_per_second']:,.0f} tokens/s,", end=" ")
    print(f"{record['validation_bits_per_byte']:.3f} bits per byte; all figures in {path}")


def curve(entry: dict[str, float]) -> dict[str, float]:
    """What is drawn of an entry of the log."""
    names = ("step", "loss", "validation_loss", "seconds", "tokens_per_second", "mfu")
    return {name: round(entry[name], 4) for name in names if name in entry}


if __name__ == "__main__":
    main(sys.argv[1:])
