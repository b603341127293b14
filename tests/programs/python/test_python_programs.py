"""Whole Python programs, unmodified, on the virtual GPU: numba.cuda, cuda.core, cuda.bindings as users write them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from gridstride.programs.toolchain.wheels import Toolchain

from .scripts import BINDINGS, NUMBA, Run, printed

pytest.importorskip("numba_cuda", reason="pip install 'gridstride[numba]'")

pytestmark = pytest.mark.timeout(600)  # the first one builds the runtime library


# -- what is the interpreter's ----------------------------------------------------------------------------------------
def test_a_script_is_main_with_its_arguments_folder_and_status(script: Run, tmp_path: Path) -> None:
    done = script(
        "import sys, os\nprint(__name__, __file__, sys.argv[1:], sys.path[0] == os.getcwd(), file=sys.stderr)\n"
        "print([p for p in sys.path if 'programs' in p])\nsys.exit(7)",
        arguments=("--json", "4"),
    )
    assert (done.returncode, done.stdout) == (7, "[]\n")
    assert f"__main__ {tmp_path / 'prog.py'} ['--json', '4'] True" in done.stderr


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="in no virtual environment, beside which to start")
def test_a_command_that_only_its_folder_knows_has_a_gpu_all_the_same(libraries: Path, tmp_path: Path) -> None:
    """`python -m gridstride` in a checkout's src: the script's process is started in no such folder."""
    (tmp_path / "prog.py").write_text("from cuda.bindings import driver\nprint(driver.cuInit(0))")
    command = [sys._base_executable, "-m", "gridstride", "run", str(tmp_path / "prog.py")]  # type: ignore[attr-defined]
    environment = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")}
    source = Path(__file__).parents[3] / "src"
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, timeout=600)
    assert printed(done) == ["(<CUresult.CUDA_SUCCESS: 0>,)"]


def test_an_exception_that_nobody_catches_is_the_interpreters_traceback_and_status_1(script: Run) -> None:
    done = script("def f():\n    raise ValueError('no')\nf()")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: no"
    assert "gridstride" not in done.stderr.replace("gridstride/prog.py", "")


def test_an_import_that_fails_has_a_hint_behind_its_traceback(script: Run) -> None:
    done = script("import cupy_that_is_not_there, sys")
    assert "hint" not in done.stderr
    done = script("raise ModuleNotFoundError(\"No module named 'cupy'\", name='cupy')")
    assert done.stderr.splitlines()[-2:] == [
        "ModuleNotFoundError: No module named 'cupy'",
        "gridstride: hint: CuPy is linked with NVIDIA's static runtime, which the virtual GPU cannot stand in for",
    ]


def test_a_process_that_the_script_starts_has_a_gpu_too_and_ctrl_c_is_pythons(script: Run) -> None:
    done = script(
        "import os, signal, subprocess, sys\n"
        "code = 'from cuda.bindings import driver; driver.cuInit(0); print(driver.cuDeviceGetCount()[1])'\n"
        "print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout, end='')\n"
        "try:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    print('caught')"
    )
    assert printed(done) == ["1", "caught"]


def test_a_process_that_is_forked_behind_cuinit_has_none(script: Run) -> None:
    done = script(
        """
import os
from cuda.bindings import driver

for before in (False, True):
    if before:
        driver.cuInit(0)
    if (child := os.fork()) == 0:
        os._exit(int(driver.cuInit(0)[0]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    assert printed(done) == ["0", "3"]  # CUDA_ERROR_NOT_INITIALIZED


# -- options ----------------------------------------------------------------------------------------------------------
def test_a_call_fails_by_name_and_counts_are_those_of_a_program(script: Run) -> None:
    text = BINDINGS + (
        "print(*(runtime.cudaEventCreate()[0].name for _ in range(2)))\nprint(runtime.cudaMalloc(2**26)[0].name)"
    )
    done = script(text, "--fail", "cudaEventCreate=2", "--memory", "32MiB")
    assert printed(done) == ["cudaSuccess cudaErrorUnknown", "cudaErrorMemoryAllocation"]
    done = script(text, "--chip", "a100", "--json")
    assert json.loads(done.stdout)["activity"]["allocations"] == 1


def test_events_tell_predicted_times(script: Run) -> None:
    text = NUMBA + (
        "begin, end = cuda.event(), cuda.event()\nbegin.record()\ncuda.to_device(np.zeros(1 << 20))\nend.record()\n"
        "end.synchronize()\nprint(round(begin.elapsed_time(end), 4))"
    )
    first, second = (script(text, "--predict") for _ in range(2))
    assert printed(first) == printed(second)  # a clock would not say the same twice
    assert float(first.stdout) > 0.1


def test_the_time_limit_ends_a_script(script: Run) -> None:
    done = script("import time\ntime.sleep(60)", "--time-limit", "3")
    assert done.returncode == 124
    assert "the program had not ended after 3 s (--time-limit)" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-I", "include", "prog.py"), "-I is for the compilers of .cu files, and prog.py is a Python program"),
        (("--nvcc", "-G", "prog.py"), "--nvcc is for the compilers of .cu files"),
        (("--ptx", "prog.py"), "--ptx is for the compilers of .cu files"),
        (("prog.py", "a.cu"), "prog.py is a Python program, and is run alone"),
        (("nowhere.py",), "there is no file nowhere.py"),
        (("folder.py",), "folder.py is no file"),
    ],
)
def test_what_cannot_be_with_a_script_is_said_in_a_sentence(
    words: tuple[str, ...], said: str, tools: Toolchain, tmp_path: Path
) -> None:
    (tmp_path / "prog.py").touch()
    (tmp_path / "a.cu").touch()
    (tmp_path / "folder.py").mkdir()
    command = [sys.executable, "-m", "gridstride", "run", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
