"""The pytest plugin: GPU tests of a project of ten lines, run by a pytest of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "testing"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The example project of the documentation, in a folder of its own."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__", "*.md")))


def run(project: Path, *options: str, file: str = "") -> tuple[int, str]:
    """Exit code and output of pytest over the project or one file of it."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(project / file)]
    if not any(each.name == "gridstride" for each in entry_points(group="pytest11")):
        command[3:3] = ["-p", "gridstride.testing.plugin"]  # the package is on the path and not installed
    done = subprocess.run(command, capture_output=True, text=True, cwd=project)
    return done.returncode, done.stdout + done.stderr


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_the_example_of_the_documentation_is_ten_lines_and_passes(project: Path) -> None:
    lines = [line for line in (project / "test_saxpy.py").read_text().splitlines() if line]
    assert len(lines) <= 10
    code, output = run(project)
    assert code == 0, output
    assert "1 passed" in output


def test_a_missing_guard_fails_with_the_kernels_line_and_the_tests(project: Path) -> None:
    edit(project / "saxpy.cu", "if (i < n) ", "")
    code, output = run(project)
    assert code == 1
    assert ">    3 |     y[i] = a * x[i] + y[i];" in output
    assert "saxpy.cu:3: out of bounds in kernel saxpy: read of 4 bytes" in output
    assert ">       saxpy[4, 256](1000, 2.0, x, y)" in output
    assert "device/launch/kernel.py" not in output
    assert "launch.py" not in output


RACE = """
import numpy as np
import gridstride as gs

SOURCE = '''
__global__ void reverse(float* x) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x];
}'''

def test_reverse(gpu):
    x = np.arange(64, dtype=np.float32)
    gs.cuda(SOURCE)["reverse"][1, 64](x)

def test_observed(gpu):
    x = np.arange(64, dtype=np.float32)
    run = gs.cuda(SOURCE)["reverse"].observe(1, 64)(x)

def test_expected(gpu):
    x = np.arange(64, dtype=np.float32)
    run = gs.cuda(SOURCE)["reverse"].observe(1, 64)(x)
    assert run.findings[0].kind == "race"
    gpu.faults.clear()
"""


def test_a_race_fails_the_test_though_its_result_may_be_right(project: Path) -> None:
    (project / "test_race.py").write_text(RACE)
    code, output = run(project, "-k", "reverse", file="test_race.py")
    assert code == 1
    assert ">    5 |     x[threadIdx.x] = tile[63 - threadIdx.x];" in output
    assert "is a __syncthreads() missing?" in output


def test_what_observe_found_fails_the_test_at_its_end_unless_it_was_taken(project: Path) -> None:
    (project / "test_race.py").write_text(RACE)
    code, output = run(project, "-k", "observed or expected", file="test_race.py")
    assert code == 1
    assert "2 passed, 1 deselected, 1 error" in output, output
    assert "ERROR at teardown of test_observed" in output
    assert "found by kernel.observe:" in output
    assert "pluggy/_" not in output
    assert ">    5 |     x[threadIdx.x] = tile[63 - threadIdx.x];" in output


def test_the_chip_is_an_option_and_a_mark_says_more(project: Path) -> None:
    (project / "test_chip.py").write_text(
        "import pytest\n"
        "def test_option(gpu): assert gpu.chip == 'a100' and gpu.sanitize\n"
        "@pytest.mark.virtual_gpu(chip_name='t4', time_limit=3)\n"
        "def test_mark(gpu): assert gpu.chip == 't4' and gpu.time_limit == 3\n"
        "@pytest.mark.virtual_gpu('rtx4090')\n"
        "def test_place(gpu): assert gpu.chip == 'rtx4090'\n"
    )
    assert run(project, "--gpu-chip=a100", file="test_chip.py")[0] == 0
    (project / "pytest.ini").write_text("[pytest]\ngpu_chip = a100\naddopts = --strict-markers\n")
    assert run(project, file="test_chip.py")[0] == 0


def test_an_unknown_chip_is_one_message(project: Path) -> None:
    code, output = run(project, "--gpu-chip=h300")
    assert code != 0
    assert "h300" in output
    assert "h200" in output
    assert "chips/__init__.py" not in output


def test_a_kernel_that_does_not_compile_shows_its_line(project: Path) -> None:
    edit(project / "saxpy.cu", "a * x[i]", "a * z[i]")
    code, output = run(project)
    assert code == 1
    assert 'identifier "z" is undefined' in output
    assert "compiler/nvrtc/" not in output


def test_a_physical_gpu_that_is_not_there_skips_with_the_reason(project: Path) -> None:
    code, output = run(project, "--gpu=physical", "-rs")
    assert code == 0, output
    assert "1 passed" in output or "--gpu=physical: " in output


def test_the_plugin_costs_a_pytest_without_gpu_tests_nothing(project: Path) -> None:
    (project / "test_none.py").write_text(
        "import sys\ndef test_none(): assert not {'numpy', 'llvmlite', 'cuda'} & set(sys.modules)\n"
    )
    code, output = run(project, file="test_none.py")
    assert code == 0, output


def test_the_guide_shows_the_example_as_it_is() -> None:
    assert (EXAMPLE / "test_saxpy.py").read_text() in (EXAMPLE / "README.md").read_text()


THREADS = RACE.replace(
    "def test_reverse(gpu):",
    """
import threading
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor(1)
pool.submit(int).result()  # its thread is there before any test

def launched():
    gs.cuda(SOURCE)["reverse"][1, 64](np.arange(64, dtype=np.float32))

def test_thread(gpu):
    thread = threading.Thread(target=launched)
    thread.start()
    thread.join()

def test_pool(gpu):
    pool.submit(launched).exception()

def test_device(gpu):
    assert pool.submit(gs.device).result() is gpu
    other = gs.VirtualGPU()
    def own():
        with gs.use(other):
            return gs.device()
    assert pool.submit(own).result() is other

def test_taken(gpu):
    assert pool.submit(launched).exception() is gpu.faults[0]
    gpu.faults.clear()

def test_after():
    assert not gs.device().sanitize if gs.device().kind == "virtual" else True
    assert pool.submit(gs.device).result() is gs.device()

def test_reverse(gpu):""",
)


def test_the_device_holds_for_every_thread_of_the_test_and_what_they_raise_fails_it(project: Path) -> None:
    (project / "test_launches.py").write_text(THREADS)
    code, output = run(project, "-p", "no:threadexception", "-k", "thread or pool", file="test_launches.py")
    assert code == 1
    assert "2 errors" in output, output
    assert "raised in another thread:" in output
    assert ">    5 |     x[threadIdx.x] = tile[63 - threadIdx.x];" in output


def test_a_thread_may_choose_another_device_and_a_test_may_take_what_a_thread_raised(project: Path) -> None:
    (project / "test_launches.py").write_text(THREADS)
    code, output = run(project, "-k", "device or taken or after", file="test_launches.py")
    assert code == 0, output
    assert "3 passed" in output
