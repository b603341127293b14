"""Finding the compilers, and what is said where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gridstride.programs.program_errors import MissingToolchain, ProgramError
from gridstride.programs.toolchain import wheels as module


@pytest.fixture(autouse=True)
def not_remembered() -> Iterator[None]:
    module.toolchain.cache_clear()
    yield
    module.toolchain.cache_clear()


def installed(root: Path, *files: str) -> None:
    for file in files:
        (root / "nvidia" / "cu13" / file).parent.mkdir(parents=True, exist_ok=True)
        (root / "nvidia" / "cu13" / file).write_text("")


def found_below(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.setattr(module, "_folders", lambda package: iter([root / package]))


def test_nothing_installed_gives_the_one_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found_below(monkeypatch, tmp_path)
    with pytest.raises(MissingToolchain) as error:
        module.toolchain()
    assert "ziglang, nvidia-cuda-nvcc" in str(error.value)
    assert "pip install 'gridstride[programs]'" in str(error.value)


def test_only_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(tmp_path, *(file for file in module._WHEELS if "cicc" not in file))
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "zig").write_text("")
    found_below(monkeypatch, tmp_path)
    with pytest.raises(MissingToolchain, match="compiled with nvidia-nvvm, which is not installed"):
        module.toolchain()


def test_the_host_compiler_is_called_as_nvcc_expects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "cache"))
    installed(tmp_path, *module._WHEELS)
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "zig").write_text("")
    found_below(monkeypatch, tmp_path)
    script = module.toolchain().host_compiler
    assert script.name == "clang++"
    assert script.stat().st_mode & 0o111
    assert f"{tmp_path}/ziglang/zig c++ -target" in script.read_text()


def test_a_cache_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRIDSTRIDE_CACHE", "/dev/null/cache")
    installed(tmp_path, *module._WHEELS)
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "zig").write_text("")
    found_below(monkeypatch, tmp_path)
    with pytest.raises(ProgramError, match=r"/dev/null/cache cannot be written \(Not a directory\).*GRIDSTRIDE_CACHE"):
        module.toolchain()


def test_another_system_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(MissingToolchain, match="on Linux, this is Darwin"):
        module.toolchain()


def test_another_machine_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(MissingToolchain, match="riscv64"):
        module.host_flags()


def test_the_wheel_of_a_librarys_header_is_known() -> None:
    assert module.wheel_of("cusolverDn.h") == "nvidia-cusolver"
    assert module.wheel_of("mine.h") is None


def test_assertions_are_compiled_in() -> None:
    assert "-UNDEBUG" in module.host_flags()
