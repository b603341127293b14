"""Objects: the command, what they depend on, hints in errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.programs.conftest import Run

from gridstride.programs.program_errors import BuildFailed, MissingToolchain
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.compile import Compiling, compile_all, compile_command, dependencies, execute, hint
from gridstride.programs.toolchain.wheels import Toolchain, toolchain

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
    assert "pip install nvidia-cublas" in hint("a.cu:1:10: fatal error: 'cublasLt.h' file not found")


def test_a_missing_header_of_the_users_names_the_option() -> None:
    assert "-I DIR" in hint("a.cu:1:10: fatal error: 'mine.h' file not found")


def test_other_errors_get_no_hint() -> None:
    assert hint('a.cu(2): error: identifier "x" is undefined') == ""


@pytest.fixture(scope="module")
def tools() -> Toolchain:
    try:
        return toolchain()
    except MissingToolchain as missing:
        pytest.skip(str(missing))


LEAN = "_LIBCPP_REMOVE_TRANSITIVE_INCLUDES"


def readings(tools: Toolchain, file: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The words of all commands that read the file itself while it is compiled."""
    monkeypatch.chdir(file.parent)
    ran: list[list[str]] = []

    def noted(command: Sequence[str], folder: Path, more: Mapping[str, str]) -> tuple[int, str]:
        ran.append(list(command))
        return execute(command, folder, more)

    compile_all(tools, [Path(file.name)], Options(), arch="sm_90a", progress=lambda _: None, how=Compiling(noted))
    return [words for words in ran if file.name in words and Path(words[0]).name not in ("cudafe++", "cicc")]


@pytest.mark.parametrize("name", ["lean.cu", "lean.cpp"])
def test_a_file_is_compiled_without_headers_that_it_has_not_asked_for(
    name: str, tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("#include <vector>\nint main() { return std::vector<int>(3).size() - 3; }\n")
    ran = readings(tools, tmp_path / name, monkeypatch)
    assert ran
    assert all(LEAN in " ".join(words) for words in ran)


@pytest.mark.parametrize("name", ["all.cu", "all.cpp"])
def test_one_that_takes_them_for_granted_is_compiled_with_them(
    name: str, tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "#include <vector>\nint main() { int x[] = {2, 1}; std::sort(x, x + 2); return x[0] - 1; }\n"
    (tmp_path / name).write_text(text)
    ran = readings(tools, tmp_path / name, monkeypatch)
    assert LEAN in " ".join(ran[0])
    assert LEAN not in " ".join(ran[-1])


@pytest.mark.parametrize("name", ["words.cu", "words.cpp"])
def test_a_header_brings_along_what_gnus_does(
    name: str, tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("""
#include <iomanip>
#include <iostream>
#include <string>
int number_in(std::istringstream& words) {
    int number = 0;
    return words >> std::hex >> number ? number : -1;
}
int main() {
    std::istringstream words(std::string("10"));
    return number_in(words) - 16;
}
""")
    assert readings(tools, tmp_path / name, monkeypatch)


ONE = ("exp", "log", "log2", "sqrt", "cbrt", "sin", "tanh", "atan", "floor", "round", "fabs", "erf")
TWO = ("pow", "fmod", "atan2", "hypot", "fmax", "fmin", "fdim", "copysign", "remainder")
TYPES = ("int", "unsigned", "long long", "short", "float", "double")


@pytest.mark.slow
@pytest.mark.parametrize("header", ["cmath", "math.h"])
def test_kernels_call_math_of_whole_numbers_and_of_two_types(program: Run, header: str) -> None:
    """A call that only the host has gives no kernel at all, where nvcc takes it for one that is never made."""
    calls = [f"{f}(({kind})3)" for f in ONE for kind in TYPES]
    calls += [f"{f}(({a})3, ({b})2)" for f in TWO for a in TYPES for b in TYPES]
    calls += [f"std::{each}" for each in calls if header == "cmath"]
    lines = "\n".join(f"    y[{index}] = {call};" for index, call in enumerate(calls))
    done = program(f"""#include <cstdio>
#include <{header}>
__host__ __device__ void all(double* y)
{{
{lines}
}}
__global__ void kernel(double* y) {{ all(y); }}
int main()
{{
    static double own[{len(calls)}];
    double* y;
    cudaMallocManaged(&y, sizeof own);
    kernel<<<1, 1>>>(y);
    cudaDeviceSynchronize();
    all(own);
    int wrong = 0;
    for (int i = 0; i < {len(calls)}; i++)
        if (!(fabs(y[i] - own[i]) <= 1e-5 * fabs(own[i]))) printf("%d: %g, not %g\\n", i, y[i], own[i]), wrong = 1;
    cudaFree(y);
    return wrong;
}}
""")
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["every.cu", "every.cpp"])
def test_gnus_header_of_all_headers_is_there(
    name: str, tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("""
#include <bits/stdc++.h>
using namespace std;
int main() {
    unordered_map<string, vector<int>> numbers{{"all", {3, 1, 2}}};
    auto& all = numbers["all"];
    sort(all.begin(), all.end());
    ostringstream words;
    for (int each : all) words << setw(2) << each;
    return words.str() != " 1 2 3";
}
""")
    assert readings(tools, tmp_path / name, monkeypatch)


def test_what_is_said_of_an_unknown_name_is_what_the_whole_text_gives(
    tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong.cu").write_text("#include <vector>\nint main() { std::vector<int> x; return y; }\n")
    with pytest.raises(BuildFailed) as failed:
        readings(tools, tmp_path / "wrong.cu", monkeypatch)
    assert failed.value.output.count('identifier "y" is undefined') == 1
