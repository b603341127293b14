"""A wheel of an exported kernel: its compilers, its flags, its contents."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib import metadata, util
from pathlib import Path

import pytest

from gridstride.export import wheel
from gridstride.export.export_errors import ExportError
from gridstride.export.package import Package, package, write
from gridstride.judge.find import find
from gridstride.programs.program_errors import MissingToolchain
from gridstride.programs.toolchain.wheels import toolchain

USE = """
import torch, gelu_op
from torch._subclasses import FakeTensorMode
print(torch.ops.gelu_op.gelu.default._schema)
try:
    gelu_op.gelu(torch.ones(3))
except ValueError as refused:
    print(refused)
try:  # what the library itself says: its error has to pass through PyTorch's code, and through its own
    torch.ops.gelu_op.gelu.default.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA), torch.zeros(4))
except RuntimeError as refused:
    print(str(refused).split(", ")[-1])
with FakeTensorMode():
    x = torch.empty(3, 4, device="cuda")
    print(tuple(torch.ops.gelu_op.gelu(x).shape))
"""


@pytest.fixture(scope="module")
def gelu() -> Package:
    folder = find("gelu")
    return package(folder, folder.rungs()[-1])


def needing(what: Package, capability: tuple[int, int] | None) -> Package:
    ops = tuple(replace(op, kernel=replace(op.kernel, needs=capability)) for op in what.ops)
    return replace(what, ops=ops)


def test_code_is_for_gpus_that_have_the_kernels_instructions(gelu: Package) -> None:
    every = wheel.architecture_flags(gelu)
    assert every[1::2] == [
        "arch=compute_75,code=sm_75", "arch=compute_80,code=sm_80", "arch=compute_90,code=sm_90",
        "arch=compute_90,code=compute_90",
    ]  # fmt: skip
    assert wheel.architecture_flags(needing(gelu, (8, 0))) == every[:0] + every[2:]
    assert wheel.architecture_flags(needing(gelu, (9, 0))) == ["-gencode", "arch=compute_90a,code=sm_90a"]


@pytest.mark.parametrize("folder", ["lib64", "lib/x86_64-linux-gnu", "targets/x86_64-linux/lib"])
def test_a_toolkits_runtime_is_found_where_toolkits_have_it(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "libcudart_static.a").write_text("")
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(wheel.shutil, "which", lambda name: str(tmp_path / "bin" / name))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    assert wheel.installed_compilers().runtime[0] == str(tmp_path / folder / "libcudart_static.a")


def test_without_compilers_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingToolchain("whole programs are compiled with ziglang, which is not installed: pip install …")

    monkeypatch.setattr(wheel.shutil, "which", lambda _: None)
    monkeypatch.setattr(wheel, "toolchain", missing)
    with pytest.raises(ExportError, match=r"there is no nvcc with a C\+\+ compiler on PATH, and whole programs are"):
        wheel.installed_compilers()


def test_without_pytorch_and_with_an_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: "2.9.1+cu128")
    with pytest.raises(ExportError, match=r"PyTorch 2.9.1\+cu128 is installed, and its stable interface"):
        wheel.torch_folder()
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    with pytest.raises(ExportError, match="PyTorch, which is not installed: pip install torch"):
        wheel.torch_folder()


def test_what_a_compiler_says_is_told(gelu: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(gelu, tmp_path / "made")
    fails = (sys.executable, "-c", "import sys; print('ops.cu(3): error: no'); sys.exit(2)")
    broken = wheel.Compilers(fails, fails, (), dict(os.environ), "my compilers")
    with pytest.raises(
        ExportError, match=r"building with my compilers failed \(python[\d.]*\):\nops.cu\(3\): error: no"
    ):
        wheel.build(gelu, tmp_path / "made", wheel.torch_folder(), broken)
    assert not (tmp_path / "made" / "dist").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_compilers_that_come_as_wheels_build_one(
    gelu: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loaded here, where PyTorch may have no CUDA: the kernel cannot run, everything else does."""
    pytest.importorskip("ziglang", reason="the extra `programs` is not installed")
    monkeypatch.setattr(wheel.shutil, "which", lambda _: None)
    write(gelu, tmp_path / "made")
    path = wheel.build(gelu, tmp_path / "made", wheel.torch_folder(), wheel.installed_compilers())
    assert path.name.startswith("gelu_op-0.1.0-py3-none-linux_")
    with zipfile.ZipFile(path) as file:
        records = [line.rsplit(",", 2) for line in file.read("gelu_op-0.1.0.dist-info/RECORD").decode().splitlines()]
        assert {name for name, _, _ in records} == set(file.namelist())
        for name, digest, size in records[:-1]:
            data = file.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={expected}", str(len(data)))
        file.extractall(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path / "site", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "gelu_op::gelu(Tensor x) -> Tensor",
        "gelu: x is on cpu, and the kernel is for an NVIDIA GPU",
        "gelu: x is not on a GPU",
        "(3, 4)",
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_compiler_that_brings_its_own_cpp_library_builds_one(
    gelu: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some link it statically, and its streams would mix with those of the process."""
    host = shutil.which("g++")
    if host is None:
        pytest.skip("no g++ on PATH")
    nvcc = toolchain().nvcc
    (tmp_path / "static").write_text(f'#!/bin/sh\nexec {host} "$@" -static-libstdc++\n')
    (tmp_path / "static").chmod(0o755)
    monkeypatch.setenv("CXX", str(tmp_path / "static"))
    monkeypatch.setenv("PATH", f"{nvcc.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(wheel, "ARCHITECTURES", ((9, 0),))
    compilers = wheel.installed_compilers()
    assert compilers.versions == f"{nvcc} and {tmp_path / 'static'}"
    write(gelu, tmp_path / "made")
    with zipfile.ZipFile(wheel.build(gelu, tmp_path / "made", wheel.torch_folder(), compilers)) as file:
        file.extractall(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path / "site", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["gelu: x is not on a GPU", "(3, 4)"]
