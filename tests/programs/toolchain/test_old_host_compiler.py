"""The compiler between nvcc's steps: what it preprocesses for nvcc has managed variables for references."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gridstride.programs.toolchain.old_host_compiler import old_host_compiler
from gridstride.programs.toolchain.texture_references import managed_references
from gridstride.programs.toolchain.wheels import Toolchain

TEXT = "int before;\n\ntexture<float> t;\n"


def preprocessed(tools: Toolchain, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "a.cpp").write_text(TEXT)
    command = [str(old_host_compiler(tools)), "-E", "-x", "c++", "a.cpp", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_nvcc_takes_it_for_the_compiler_that_it_stands_for(tools: Toolchain) -> None:
    assert old_host_compiler(tools).name == tools.host_compiler.name
    assert old_host_compiler(tools) != tools.host_compiler


def test_a_preprocessed_file_has_managed_variables(tools: Toolchain, tmp_path: Path) -> None:
    assert preprocessed(tools, tmp_path, "-o", "a.ii").returncode == 0
    managed = managed_references(TEXT).splitlines()[-1]
    assert managed in (tmp_path / "a.ii").read_text().splitlines()


def test_what_goes_to_stdout_stays_as_it_is(tools: Toolchain, tmp_path: Path) -> None:
    """No step of nvcc's: somebody looks at it."""
    assert "\ntexture<float> t;" in preprocessed(tools, tmp_path).stdout


def test_an_error_is_the_compilers_own(tools: Toolchain, tmp_path: Path) -> None:
    done = preprocessed(tools, tmp_path, "-include", "nothing.h", "-o", "a.ii")
    assert done.returncode == 1
    assert "'nothing.h' file not found" in done.stderr
    assert "Traceback" not in done.stderr
