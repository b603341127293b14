"""Programs on this machine's GPU: what the toolkit is asked, and how the program ends. Its nvcc is a script here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gridstride.commands import run as command
from gridstride.commands.options.program_options import RunOptions
from gridstride.commands.terminal import WrongUse
from gridstride.programs import physical_run
from gridstride.programs.program_errors import BuildFailed, MissingToolchain
from gridstride.programs.sources import Options


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CUDA_HOME whose nvcc writes down its words, and makes a copy of the source executable."""
    compiler = tmp_path / "cuda" / "bin" / "nvcc"
    compiler.parent.mkdir(parents=True)
    compiler.write_text(f"""#!/bin/sh
echo "$@" > {tmp_path}/words
while [ $# -gt 1 ]; do case $1 in *.cu) source=$1 ;; -o) target=$2 ;; esac; shift; done
grep -q "^syntax" $source && echo "line 1: error" && exit 2
cp $source $target && chmod +x $target
""")
    compiler.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    return tmp_path


def ended(toolkit: Path, text: str, *, time_limit: float | None = None) -> physical_run.Ended:
    source = toolkit / "prog.cu"
    source.write_text(f"#!/bin/sh\n{text}\n")
    options = Options(include=("here",), define=("N=3",), libraries=("cublas",), std="c++20", relocatable=True)
    return physical_run.build_and_run(
        [source], options, ["prog", "a b"], time_limit=time_limit, stdout=None, progress=lambda _: None
    )


def test_the_toolkit_compiles_for_the_gpu_that_is_there(toolkit: Path) -> None:
    assert ended(toolkit, 'test "$1" = "a b" && exit 7').status == 7
    said = (toolkit / "words").read_text().split()
    for words in ("-arch=native", "-I here", "-DN=3", "-std=c++20", "-rdc=true", "-lcublas"):
        assert words in " ".join(said)


def test_it_ends_as_the_program_does(toolkit: Path) -> None:
    assert ended(toolkit, "kill -SEGV $$").signal == 11
    late = ended(toolkit, "exec sleep 100", time_limit=0.2)
    assert (late.timed_out, late.status) == (True, 124)


def test_what_does_not_compile_is_said_by_the_compiler(toolkit: Path) -> None:
    with pytest.raises(BuildFailed, match="does not compile") as failed:
        ended(toolkit, "syntax")
    assert failed.value.output == "line 1: error\n"


def test_without_a_toolkit_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(physical_run, "_USUAL", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolchain, match="CUDA_HOME"):
        physical_run.nvcc()


def run_physical(**more: Any) -> int:
    compilers, as_json = more.pop("options", {}), more.pop("as_json", False)
    return command.run(["prog.cu"], [], RunOptions(device="physical", **more), options=compilers, as_json=as_json)


def test_options_of_the_virtual_gpu_do_not_go_with_it() -> None:
    for option, value in (("sanitize", True), ("seed", 0), ("gpus", 2), ("chip", "a100"), ("fails", ["copy=1"])):
        with pytest.raises(WrongUse, match="cannot be with --device physical"):
            run_physical(**{option: value})


def test_without_a_gpu_it_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridstride.device.physical.driver.physical_count", lambda: 0)
    with pytest.raises(WrongUse, match="no NVIDIA GPU here"):
        run_physical()


@pytest.mark.gpu
def test_a_program_runs_on_hardware(tmp_path: Path) -> None:
    source = tmp_path / "prog.cu"
    source.write_text("""
#include <cstdio>
__global__ void twice(int* x) { *x *= 2; }
int main() {
    int *x;
    if (cudaMallocManaged(&x, 4)) return 1;
    *x = 21;
    twice<<<1, 1>>>(x);
    if (cudaDeviceSynchronize()) return 2;
    printf("%d\\n", *x);
    return 3;
}
""")
    words = [sys.executable, "-m", "gridstride", "run", str(source), "--device", "physical"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("42\n", 3), done.stderr
