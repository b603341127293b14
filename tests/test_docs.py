"""The documents name what there is: rooms, files, kinds of findings, counters, options, chips."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gridstride as gs
from gridstride.serve.engine.sampling import REQUESTED
from gridstride.virtual import chips
from gridstride.virtual.abi.finding_kinds import KINDS
from gridstride.virtual.observe.counters import Counters

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
VIRTUAL = (ROOT / "docs/virtual-gpu.md").read_text()


SOURCE = ROOT / "src/gridstride"
ROOMS = sorted(room.name for room in SOURCE.iterdir() if room.is_dir() and room.name != "__pycache__")
ROOTED = re.compile(rf"(?<![\w./~-])(?:src|tests|docs|bench|{'|'.join(ROOMS)})/[\w./*-]*\w/?")
"""Paths as pages name them, from the repository's root or from src/gridstride."""
PLACEHOLDERS = re.compile(r"NAME|NNN|…|\.\.\.")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#`]+)\)", re.sub(r"`[^`]*`", "", prose))
    assert links or page.name != "README.md"
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_that_a_page_names_are_there(page: Path) -> None:
    text = re.sub(r"\]\([^)]*\)", "]", page.read_text())  # links have a test of their own
    names = {name for name in ROOTED.findall(text) if not PLACEHOLDERS.search(name)}
    assert {name for name in names if not any([*base.glob(name)] for base in (ROOT, SOURCE))} == set()
    files = {name for span in re.findall(r"`([^`\n]+)`", text) for name in re.findall(r"^[\w/]+\.py$", span)}
    known = {str(path.relative_to(ROOT)) for top in ("src", "tests", "bench") for path in (ROOT / top).rglob("*.py")}
    assert {name for name in files if not any(f"/{path}".endswith(f"/{name}") for path in known)} == set()


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_table_of_rooms_names_every_folder(page: str) -> None:
    named = set(re.findall(r"^\| `([\w/]+)/` \| \S", (ROOT / page).read_text(), re.MULTILINE)) - {"src/gridstride"}
    inner = [each for room in ROOMS for each in sorted((SOURCE / room).iterdir()) if each.is_dir()]
    folders = {str(each.relative_to(SOURCE)) for each in inner if any(each.rglob("*.*")) and each.name != "__pycache__"}
    folders = {name for name in folders if not name.startswith("kernels/")}  # one line stands for all of them
    if page == "README.md":  # there the virtual GPU is shown to two levels, the rest to one
        assert named == {*ROOMS, *(each for each in folders if each.startswith("virtual/"))} - {"virtual"}
    else:
        assert named == {*ROOMS, *folders}


@pytest.mark.parametrize("machine", ["virtual", pytest.param("physical", marks=pytest.mark.gpu)])
def test_the_page_of_arrays_runs_from_top_to_bottom(machine: str) -> None:
    torch = pytest.importorskip("torch")
    if machine == "physical" and not torch.cuda.is_available():
        pytest.skip("this PyTorch is built without CUDA")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/arrays.md").read_text(), re.DOTALL)
    names = {"np": np, "torch": torch, "gs": gs}
    with gs.use(gs.VirtualGPU(workers=1, sanitize=True) if machine == "virtual" else "physical"):
        for block in blocks:
            exec(block, names)
    assert len(blocks) == 5


@pytest.mark.parametrize("chip", chips.names())
def test_every_chip_is_named(chip: str) -> None:
    assert re.search(rf"\b{chip}\b", VIRTUAL.partition("## What runs")[0])


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"interrupted"}))
def test_every_kind_of_finding_is_explained(kind: str) -> None:
    assert f"`{kind}`" in VIRTUAL


def test_counters_have_the_names_they_are_explained_by() -> None:
    section = VIRTUAL.partition("## Counters")[2].partition("\n\n**")[0]
    names = [n for row in section.splitlines() if row.startswith("| `") for n in re.findall(r"`([\w{},]+)`", row)]
    whole = [n for name in names for n in _spelled(name) if n in dir(Counters())]
    assert len(whole) == len([n for name in names for n in _spelled(name)]) > 25


@pytest.mark.parametrize("option", sorted(REQUESTED))
def test_every_sampling_option_of_a_request_is_explained(option: str) -> None:
    assert f"`{option}`" in (ROOT / "docs/serving.md").read_text()


def _spelled(name: str) -> list[str]:
    """The names that braces stand for."""
    head, brace, rest = name.partition("{")
    if not brace:
        return [name]
    words, _, tail = rest.partition("}")
    return [head + word + end for word in words.split(",") for end in _spelled(tail)]
