"""`gridstride train digits`: the smallest pipeline, in seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gridstride.commands.terminal import emit, stdout

ENOUGH = 0.97  # of the test digits right; less, and something is broken


def run(*, as_json: bool) -> bool:
    """Train, evaluate, show; false where fewer digits are right than must be."""
    from gridstride.train.digits.fit import FitSettings
    from gridstride.train.digits.run import train

    record = train(Path("runs") / "digits", FitSettings(), say=lambda text: print(text, file=sys.stderr, flush=True))
    if as_json:
        emit(record)
    else:
        _show(record)
    return bool(record["test_accuracy"] >= ENOUGH)


def _show(record: dict[str, Any]) -> None:
    console, right = stdout(), round(record["test_accuracy"] * record["test_images"])
    console.print("shows  taken for 0 … 9", style="dim")
    for digit, row in enumerate(record["confusion"]):
        console.print(f"{digit:>5}  " + " ".join(f"{count or '·':>3}" for count in row))
    console.print(f"{right} of {record['test_images']} test digits right: {record['test_accuracy']:.1%}", style="bold")
    console.print(f"{record['parameters']:,} weights, trained in {record['seconds']:.1f} s; all in {record['folder']}/")
