"""Objects: the command, what they depend on, hints in errors."""

from __future__ import annotations

from pathlib import Path

from gridstride.programs.compile import compile_command, dependencies, hint
from gridstride.programs.sources import Options
from gridstride.programs.toolchain import Toolchain

TOOLS = Toolchain(Path("/zig/zig"), Path("/cu13"), Path("/w/clang++"), "1")


def test_dependencies_are_read_as_make_reads_them() -> None:
    assert dependencies("a.o: a.cu \\\n b.h /x/y\\ z.h\n\nb.h:\n") == [Path("a.cu"), Path("b.h"), Path("/x/y z.h")]


def test_a_cuda_file_is_compiled_for_the_chip_with_line_numbers() -> None:
    command = compile_command(TOOLS, Path("a.cu"), Options(include=("inc",), define=("N=3",), std="c++20"), "sm_80")
    assert "arch=compute_80,code=compute_80" in command
    assert {"-lineinfo", "-no-compress", "-DN=3", "-std=c++20", "inc"} <= set(command)


def test_relocatable_code_is_asked_for_by_name() -> None:
    assert "-rdc=true" in compile_command(TOOLS, Path("a.cu"), Options(relocatable=True), "sm_90a")


def test_a_host_file_is_compiled_by_the_host_compiler_alone() -> None:
    assert compile_command(TOOLS, Path("a.cpp"), Options(), "sm_90a")[0] == "/w/clang++"


def test_the_standard_of_cpp_is_not_given_to_c() -> None:
    assert "-std=c++17" not in compile_command(TOOLS, Path("a.c"), Options(std="c++17"), "sm_90a")


def test_a_missing_header_of_a_library_names_its_wheel() -> None:
    assert "pip install nvidia-cufft" in hint("a.cu:1:10: fatal error: 'cufftXt.h' file not found")


def test_a_missing_header_of_the_users_names_the_option() -> None:
    assert "-I DIR" in hint("a.cu:1:10: fatal error: 'mine.h' file not found")


def test_other_errors_get_no_hint() -> None:
    assert hint('a.cu(2): error: identifier "x" is undefined') == ""
