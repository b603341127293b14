"""How many of the test digits `gridstride train digits` reads, over ten seeds, each with a split of its own.

What it is trained on is so little that rounding decides single images: the seeds are run with each set of instructions
that PyTorch has for this processor, as another processor's would be. tests/train/test_digits.py asks for what the worst
of them leaves.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from common import Row, machine, publish, run_script

SEEDS = range(10)
MEAN, WORST = 0.985, 0.975
INSTRUCTIONS = ("default", "avx2", "avx512")
"""Of ATEN_CPU_CAPABILITY; a processor that lacks one takes the next below."""
LIBRARIES = {"default": "SSE41", "avx2": "AVX2", "avx512": "AVX512_CORE"}
"""What oneDNN, which does the convolutions, calls the same."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accuracies", action="store_true", help="print those of this process as JSON, write nothing")
    if parser.parse_args().accuracies:
        accuracies()
        return
    started = machine()
    rows = [_row(name) for name in INSTRUCTIONS]
    publish("digits", rows, started)


def _row(instructions: str) -> Row:
    limits = {"ATEN_CPU_CAPABILITY": instructions, "ONEDNN_MAX_CPU_ISA": LIBRARIES[instructions]}
    found = run_script("digits.py", "--accuracies", OMP_NUM_THREADS="1", **limits)
    accuracies = found["test_accuracy"]
    mean, worst = sum(accuracies) / len(accuracies), min(accuracies)
    return Row(
        f"test digits right, {instructions}",
        f"mean {mean:.4f}, worst {worst:.4f}",
        target=f"mean {MEAN}, worst {WORST}",
        met=mean >= MEAN and worst >= WORST,
        detail={**found, "mean": mean, "worst": worst},
    )


def accuracies() -> None:
    """In a process of its own, as PyTorch reads its limits when it starts."""
    import torch

    from gridstride.train.digits.fit import FitSettings
    from gridstride.train.digits.run import train

    with tempfile.TemporaryDirectory() as folder:
        records = [
            train(Path(folder), FitSettings(seed=seed), device="cpu", precision="fp32", say=lambda text: None)
            for seed in SEEDS
        ]
    found = {
        "test_accuracy": [record["test_accuracy"] for record in records],
        "seconds": [record["seconds"] for record in records],
        "torch": torch.__version__,
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
