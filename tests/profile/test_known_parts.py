"""The claim: of a program that knows how its time is spent, the shares that are accounted are the true ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gridstride

pytest.importorskip("torch")

# Each part takes its time by the clock, and the program adds up what it really took.
PROGRAM = """
import json, sys, time
from collections import Counter
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
spent, now = Counter(), time.perf_counter
a = torch.rand(256, 256)

class Slow(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        time.sleep(0.02)
        return torch.zeros(4)

def multiply(seconds):
    start = now()
    while now() - start < seconds:
        torch.mm(a, a)

def think(seconds):
    start = now()
    while now() - start < seconds:
        sum(range(2000))

end = now()
for batch in DataLoader(Slow(), batch_size=2):
    start = now(); spent["data_loading"] += start - end
    multiply(0.03); middle = now(); spent["operators"] += middle - start
    think(0.02); time.sleep(0.01); end = now(); spent["host"] += end - middle
json.dump(spent, open(sys.argv[1], "w"))
"""


def test_accounted_shares_are_the_true_ones_within_three_points(tmp_path: Path) -> None:
    script, truth = tmp_path / "known.py", tmp_path / "truth.json"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "gridstride", "profile", "--json", "--seconds", "300", str(script), str(truth)],
        capture_output=True, text=True, check=True, env=_environment(),
    )  # fmt: skip
    profile, spent = json.loads(done.stdout), json.loads(truth.read_text())
    accounted = {each["category"]: each["share"] for each in profile["account"]}
    total = sum(spent.values())
    assert profile["steps"]["count"] == 12
    assert sum(accounted.values()) == pytest.approx(1.0, abs=1e-9)
    for part, seconds in spent.items():
        assert accounted[part] == pytest.approx(seconds / total, abs=0.03), (part, accounted, spent)
    assert profile["wall_ms"] == pytest.approx(1e3 * total, rel=0.05)
    lines = {each["kind"]: each["line"] for each in profile["findings"]}
    assert lines["data_loading"].endswith(" in __getitem__")
    assert " in think" in lines["python"] or " in <genexpr>" in lines["python"]


def _environment() -> dict[str, str]:
    import os

    return os.environ | {"PYTHONPATH": str(Path(gridstride.__file__).parent.parent)}
