"""Small faulty kernels: each gets its finding at its line, and its twin that is right (-DRIGHT) gets none.

A file says in comments which kind of finding it must get, which lines may be named for it, and how it is launched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFinding

FOLDER = Path(__file__).parent / "faulty"
SIZE = 1024
WITHOUT_ADDRESS = ("barrier_divergence", "deadlock", "timeout", "member_mask", "inactive_lane")


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


@pytest.mark.parametrize("case", FAULTY, ids=name)
def test_the_fault_is_found_at_its_line(case: Faulty) -> None:
    found = findings(case)
    assert {f.kind for f in found} == {case.kind}, [str(f) for f in found]
    for each in found:
        assert (each.kernel, each.file) == ("k", case.path.name)
        assert each.line in case.lines, str(each)
        assert each.block == (0, 0, 0)
        assert each.thread is not None
        assert (each.address is None) == (case.kind in WITHOUT_ADDRESS)
        assert each.message


@pytest.mark.parametrize("case", FAULTY, ids=name)
def test_its_right_twin_is_silent(case: Faulty) -> None:
    assert findings(case, "-DRIGHT") == ()
