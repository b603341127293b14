"""A program as files: built, moved, run, and what is said where one of the files is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gridstride.programs.calls.fat_binary import ptx_in_object
from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.device_code import device_code
from gridstride.programs.toolchain.wheels import Toolchain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

PROGRAM = r"""
#include <cuda.h>
#include <cstdio>
int main(int argc, char **argv) {
  CUcontext context; CUmodule module; CUfunction f; CUdeviceptr p; int x = 0;
  cuInit(0); cuCtxCreate(&context, NULL, 0, 0);
  if (cuModuleLoad(&module, argv[1])) return 3;
  cuModuleGetFunction(&f, module, "k"); cuMemAlloc(&p, 4);
  void *parameters[] = {&p};
  cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
  cuMemcpyDtoH(&x, p, 4);
  printf("%d\n", x);
  return x;
}
"""
KERNEL = 'extern "C" __global__ void k(int *x) { *x = NUMBER; }\n'


def gridstride(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gridstride", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=600)


def run(script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(script), *words], cwd=script.parent, capture_output=True, text=True, timeout=600)


def test_a_program_without_a_cuda_file_loads_what_was_built_beside_it(tools: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "prog.cpp").write_text(PROGRAM)
    (tmp_path / "k.cu").write_text(KERNEL)
    gridstride(tmp_path, "build", "prog.cpp", "-o", "prog")
    for form in ("ptx", "fatbin"):
        gridstride(tmp_path, "build", f"--{form}", "-D", "NUMBER=42", "k.cu")
        done = run(tmp_path / "prog", f"k.{form}")
        assert (done.stdout, done.returncode) == ("42\n", 42)
    assert run(tmp_path / "prog", "none.ptx").returncode == 3


def test_a_script_says_what_is_missing_beside_it(tools: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "prog.cu").write_text("int main() {}")
    gridstride(tmp_path, "build", "prog.cu")
    (tmp_path / "prog.so").unlink()
    done = run(tmp_path / "prog")
    assert done.returncode == 1
    assert "prog.so is not there" in done.stderr


def test_device_code_is_ptx_for_the_architecture(tools: Toolchain, tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(KERNEL)
    options = Options(define=("NUMBER=7",))
    ptx = device_code(tools, file, options, arch="sm_80", form="ptx", progress=lambda _: None)
    fatbin = device_code(tools, file, options, arch="sm_80", form="fatbin", progress=lambda _: None)
    assert ".target sm_80" in ptx.decode()
    assert ".visible .entry k(" in ptx_in_object(fatbin)[0]


def test_device_code_that_does_not_compile_has_the_compilers_words(tools: Toolchain, tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(KERNEL)
    with pytest.raises(BuildFailed) as failed:
        device_code(tools, file, Options(), arch="sm_80", form="ptx", progress=lambda _: None)
    assert 'identifier "NUMBER" is undefined' in failed.value.output
