"""What compute-sanitizer finds in the faulty kernels on an H200 (bench/sanitizer.py) the virtual GPU finds, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from faulty_kernels import FAULTY, Faulty, findings, name

TABLE = Path(__file__).parents[1] / "fixtures" / "compute_sanitizer_h200.json"

KINDS = {
    "memcheck": {"out_of_bounds", "misaligned", "use_after_free", "invalid_free", "uninitialised_read"},
    "initcheck": {"uninitialised_read"},
    "racecheck": {"race", "unwaited_copy"},
    "synccheck": {"barrier_divergence", "member_mask", "deadlock", "inactive_lane", "timeout"},
}
"""What a tool's complaint may be in the virtual GPU's words."""


def recording() -> dict[str, Any]:
    if not TABLE.is_file():
        pytest.skip("no recording: `python bench/sanitizer.py record` makes it on a machine with a GPU")
    kernels = json.loads(TABLE.read_text())["kernels"]
    assert isinstance(kernels, dict)
    return kernels


def complaints(case: Faulty) -> dict[str, dict[str, Any]]:
    """The tools that complain of a kernel, with what they say.

    initcheck's complaint of the host, which copies an output of which the kernel wrote a part, is not about the kernel.
    """
    tools = recording().get(name(case), {}).get("tools", {})
    host = "Host API memory access error"
    return {tool: said for tool, said in tools.items() if said and (said["says"] or host)[: len(host)] != host}


@pytest.mark.parametrize("case", FAULTY, ids=name)
def test_what_a_tool_finds_is_found(case: Faulty) -> None:
    told = complaints(case)
    if not told:
        return  # only the virtual GPU finds it
    found = {f.kind for f in findings(case)}
    assert found == {case.kind}
    assert any(found & KINDS[tool] for tool in told), told


def test_it_covers_every_faulty_kernel() -> None:
    assert set(recording()) == {name(case) for case in FAULTY}


def test_unset_shared_and_local_memory_is_found_by_the_virtual_gpu_alone() -> None:
    """initcheck looks at global memory."""
    alone = {name(case) for case in FAULTY if not complaints(case)}
    assert {"unset_shared", "unset_local"} <= alone
