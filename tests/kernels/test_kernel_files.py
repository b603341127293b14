"""Every kernel file by itself: it compiles, its header fits its problem, and it says what it must say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gridstride.compiler import compile_cuda, signatures
from gridstride.judge.cases.case_list import all_cases
from gridstride.judge.find import Folder, find, problem_names
from gridstride.judge.header import MULTIPROCESSORS, KernelFile

FOLDERS = [find(name) for name in problem_names()]
RUNGS = [(folder, file) for folder in FOLDERS for file in folder.rungs()]
WRONG = [(folder, file) for folder in FOLDERS for file in folder.wrong()]
KINDS = {
    "wrong_result",
    "out_of_bounds",
    "race",
    "misaligned",
    "deadlock",
    "timeout",
    "barrier_divergence",
    "uninitialised_read",
    "unwaited_copy",
    "exited_block",
    "proxy_fence",
}


def name(case: object) -> str:
    return f"{case.problem.name}" if isinstance(case, Folder) else getattr(case, "name", "")


every = pytest.mark.parametrize(("folder", "file"), RUNGS + WRONG, ids=name)


@every
def test_it_compiles_for_the_oldest_gpu_supported(folder: Folder, file: KernelFile) -> None:
    compiled = compile_cuda(file.source, arch="sm_75", filename=file.filename)
    assert f".entry {file.entry}" in compiled.ptx
    assert compiled.warnings == ()


@every
def test_its_parameters_are_the_problems(folder: Folder, file: KernelFile) -> None:
    source = re.sub(r"\b[A-Z]+_PARAMETERS? ", "", file.source)  # macros that are empty unless an op asks for more
    signature = signatures(source)[file.entry or ""]
    assert [p.name for p in signature.parameters] == [p.name for p in folder.problem.parameters]
    held = ["uint8" if str(p.dtype).startswith("float8") else p.dtype for p in signature.parameters]
    assert held == [p.dtype for p in folder.problem.parameters]


@every
def test_its_launch_fits_every_case(folder: Folder, file: KernelFile) -> None:
    assert file.launch is not None
    for case in (*all_cases(folder.problem, seed=11),):
        shape = file.launch.shape({**case.sizes, MULTIPROCESSORS: 132})
        assert shape.block[0] * shape.block[1] * shape.block[2] <= 1024


@every
def test_its_name_is_in_its_entry(folder: Folder, file: KernelFile) -> None:
    assert file.entry is not None
    assert file.entry.endswith(re.sub(r"^\d+_", "", file.name))


@pytest.mark.parametrize(("folder", "file"), RUNGS, ids=name)
def test_a_rung_says_what_moves_and_which_thread_does_what(folder: Folder, file: KernelFile) -> None:
    number, _, rest = file.name.partition("_")
    assert file.title.startswith(f"{number} {rest.replace('_', ' ')[:6]}")
    assert "// Moves: " in file.source
    assert "// Mapping: " in file.source
    assert file.expect is None


@pytest.mark.parametrize(("folder", "file"), WRONG, ids=name)
def test_a_wrong_kernel_says_what_must_be_found_and_where(folder: Folder, file: KernelFile) -> None:
    assert file.expect is not None
    assert file.expect.kind in KINDS
    assert bool(file.expect.lines) == (file.expect.kind != "wrong_result")


@every
def test_lines_fit_a_screen(folder: Folder, file: KernelFile) -> None:
    assert max(len(line) for line in file.source.splitlines()) <= 120


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_every_rung_has_its_place_in_the_notes(folder: Folder) -> None:
    notes = Path(folder.path / "notes.md").read_text()
    for file in folder.rungs():
        assert file.name in notes
