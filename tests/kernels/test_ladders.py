"""The ladders on the virtual GPU: every rung passes, every wrong kernel is rejected for its own fault."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridstride.judge.cases.case_list import all_cases, public_cases
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import Folder, find, problem_names
from gridstride.judge.header import KernelFile
from gridstride.judge.ladder import Ladder
from gridstride.judge.reference.prepared_cases import PreparedCases, prepare
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.submission import check
from gridstride.judge.verdict import Rejection
from gridstride.judge.verify import verify
from gridstride.virtual.gpu import VirtualGPU

FOLDERS = [find(name) for name in problem_names()]
# Ends of ladders that take over ten seconds, and ladders all of whose rungs do.
LONG = {
    ("canny", "01_rounds"),
    ("canny", "03_whole_tiles"),
    ("conjugate_gradients", "01_three_barriers"),
    ("conjugate_gradients", "04_walking_rows"),
    ("convolution", "06_overlapping_loads"),
    ("convolution_half", "01_direct"),
    ("convolution_half", "07_shared_rows"),
    ("fft_long", "01_rounds"),
    ("fft_long", "02_four_steps"),
    ("fft_long", "03_ring"),
    ("layer_norm_backward", "03_bulk_ring"),
    ("matmul", "08_double_buffer"),
    ("matmul_fp8", "05_async_store"),
    ("matmul_half", "09_async_store"),
    ("matmul_tf32", "04_async_store"),
    ("paged_attention", "01_thread_per_head"),
    ("paged_attention", "04_bulk_ring"),
    ("radix_sort", "01_bit_by_bit"),
    ("radix_sort", "06_predicates"),
    ("rms_norm_backward", "05_bulk_ring"),
    ("rotary_cache", "01_thread_per_head"),
    ("rotary_cache", "03_warp_per_head"),
    ("sample", "03_eight_ways"),
    ("skinny_gemm", "08_push"),
    ("softmax", "06_cluster"),
    ("softmax_backward", "05_cluster"),
    *(
        (name, file.name)
        for name in ("attention", "attention_backward", "prompt_attention")
        for file in find(name).rungs()
    ),
}


def rungs(folder: Folder) -> Iterator[object]:
    """Parameters of a test: the first and the last rung of a ladder as they are, those between and long ones slow."""
    files = folder.rungs()
    for file in files:
        quick = file in (files[0], files[-1]) and (folder.problem.name, file.name) not in LONG
        yield pytest.param(folder, file, marks=() if quick else pytest.mark.slow)


RUNGS = [each for folder in FOLDERS for each in rungs(folder)]
QUICK_TWINS = {("vector_add", "triton_blocks.py"), ("reduction", "numba_shared.py")}
"""One of each language."""
TWINS = [
    pytest.param(path, marks=[pytest.mark.slow] * ((folder.problem.name, path.name) not in QUICK_TWINS))
    for folder in FOLDERS
    for path in sorted((folder.path / "twins").glob("*.py"))
]
"""triton_….py and numba_….py: a rung in another language, on the same problem."""
WRONG = [(folder, file) for folder in FOLDERS for file in folder.wrong()]
LIMIT = 60.0  # seconds for one launch, on a machine that is busy with other tests


def name(case: object) -> str:
    return case.problem.name if isinstance(case, Folder) else getattr(case, "name", "")


@pytest.fixture(scope="module")
def gpu() -> VirtualGPU:
    return VirtualGPU("h200", time_limit=LIMIT)


@pytest.fixture(scope="module")
def impatient() -> VirtualGPU:
    """For kernels that may never end."""
    return VirtualGPU("h200", time_limit=2.0)


@functools.lru_cache(1)  # those of one ladder at a time: all of them are gigabytes
def cases(folder: str) -> PreparedCases:
    problem = find(folder).problem
    return prepare(problem, all_cases(problem, seed=20_240_229))


@pytest.mark.timeout(600)  # a hundred cases under the sanitizer, on a machine that may be busy
@pytest.mark.parametrize(("folder", "file"), RUNGS, ids=name)
def test_every_rung_is_right_and_safe(folder: Folder, file: KernelFile, gpu: VirtualGPU) -> None:
    wanted = cases(folder.problem.name)
    result = verify(folder.problem, build(folder.problem, file, gpu), wanted)
    assert result.findings == ()
    assert result.cases == len(wanted)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", TWINS, ids=lambda path: f"{path.parents[1].name}/{path.name}")
def test_every_twin_in_another_language_is_right_and_safe(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDSTRIDE_TIME_LIMIT", str(LIMIT))  # for the judge's worker, on a busy machine
    if reason := why_not():
        pytest.skip(reason)
    pytest.importorskip(path.stem.partition("_")[0])
    assert check(path, find(path.parents[1].name), device=VirtualGPU("h200", time_limit=LIMIT), seed=5).findings == ()


@pytest.mark.first_of("folder")
@pytest.mark.parametrize(("folder", "file"), WRONG, ids=name)
def test_every_wrong_kernel_is_rejected_for_its_fault(folder: Folder, file: KernelFile, impatient: VirtualGPU) -> None:
    prepared = prepare(folder.problem, public_cases(folder.problem))
    findings = verify(folder.problem, build(folder.problem, file, impatient), prepared).findings
    assert file.expect is not None
    rejection = Rejection(file.name, file.title, str(file.expect), file.expect.lines, findings)
    assert rejection.match, [(f.kind, f.pattern, f.line, f.message) for f in findings]


def test_a_gpu_without_bulk_copies_climbs_without_the_rung_that_needs_them() -> None:
    folder = find("paged_attention")
    old, new = (Ladder(folder, device=VirtualGPU(chip)) for chip in ("a100", "h200"))
    assert [file.name for file in old.left_out] == ["04_bulk_ring"]
    assert [file.name for file in old.files] == ["01_thread_per_head", "02_warp_per_head", "03_split"]
    assert old.json()["left_out"] == ["04_bulk_ring"]
    assert new.left_out == ()
    assert {file.name for file in new.wrong} - {file.name for file in old.wrong} == {
        "bytes_forgotten",
        "phase_forgotten",
        "phase_skipped",
        "slot_reused_too_early",
    }
    asked = Ladder(folder, device=VirtualGPU("a100"), rungs=["04"])
    assert [file.name for file in asked.files] == ["04_bulk_ring"]
