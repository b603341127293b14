"""The faulty kernels of tests/virtual/faulty: what their comments say of them, and what an observed run finds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFinding

FOLDER = Path(__file__).parents[1] / "faulty"
SIZE = 1024


@dataclass(frozen=True)
class Faulty:
    """One file."""

    path: Path
    kind: str
    lines: frozenset[int]
    block: int
    seed: int | None


def faulty(path: Path) -> Faulty:
    text = path.read_text()
    said = dict(re.findall(r"^// (expect|block|seed): (\w+)$", text, re.MULTILINE))
    lines = frozenset(n for n, line in enumerate(text.splitlines(), 1) if line.endswith("// <- here"))
    return Faulty(
        path, said["expect"], lines, int(said.get("block", 64)), int(said["seed"]) if "seed" in said else None
    )


FAULTY = [faulty(path) for path in sorted(FOLDER.glob("*.cu"))]


def findings(case: Faulty, *options: str) -> tuple[KernelFinding, ...]:
    """`out` is memory that nothing wrote, `in` counts from 0."""
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20, time_limit=0.4, seed=case.seed)):
        kernel = gs.cuda(case.path.read_text(), filename=case.path.name, options=options)["k"]
        out, data = gs.empty(SIZE, np.int32), gs.to_device(np.arange(SIZE, dtype=np.int32))
        run = kernel.observe(1, case.block)(out, data, 5)
        assert isinstance(run.findings, tuple)
        return run.findings


def name(case: Faulty) -> str:
    return case.path.stem
