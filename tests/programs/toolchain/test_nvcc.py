"""nvcc's steps: which waits for which, what is said when one fails, and that they give what nvcc itself gives."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.compile import Compiling, compile_all, compile_command, execute
from gridstride.programs.toolchain.nvcc import CompilationPlan, Step, carry_out, module_name, planned
from gridstride.programs.toolchain.wheels import Toolchain, environment

LISTED = """
#$ PATH=/cu/nvvm/bin:/cu/bin:/bin
#$ CICC_PATH=/cu/nvvm/bin
#$ _SPACE_=
#$ "/w/clang++" -D__CUDA_ARCH__=900 -E -D "X=\\"a b\\"" "a.cu" -o "{0}/a.cpp1.ii"
#$ "/w/clang++" -E "a.cu" -o "{0}/a.cpp4.ii"
-- Filter Dependencies -- > a.d
#$ cudafe++ --gen_c_file_name "{0}/a.cudafe1.cpp" --stub_file_name "a.stub.c" --gen_module_id_file --module_id_file_name "{0}/a.module_id" "{0}/a.cpp4.ii"
#$ "$CICC_PATH/cicc" --module_id_file_name "{0}/a.module_id" --stub_file_name "{0}/a.stub.c" "{0}/a.cpp1.ii" -o "{0}/a.ptx"
#$ ptxas "{0}/a.ptx"
#$ fatbinary --create="{0}/a.fatbin" "--image3=kind=ptx,file={0}/a.ptx" --embedded-fatbin="{0}/a.fatbin.c"
#$ rm {0}/a.fatbin
#$ "/w/clang++" -c -x c++ "{0}/a.cudafe1.cpp" -o "a.o"
"""  # noqa: E501


def test_device_and_host_wait_for_their_own_text_only_and_the_object_for_all(tmp_path: Path) -> None:
    plan = planned(LISTED.format(tmp_path), "_id")
    assert [step.tool for step in plan.steps] == [
        "clang++", "clang++", "cudafe++", "cicc", "ptxas", "fatbinary", "clang++"
    ]  # fmt: skip
    assert [step.after for step in plan.steps] == [(), (), (1,), (0,), (3,), (3,), (0, 1, 2, 3, 4, 5)]
    assert plan.preprocessing == (0, 1)
    assert plan.steps[0].words[4] == 'X="a b"'
    assert plan.steps[3].words[0] == "/cu/nvvm/bin/cicc"
    assert plan.environment == {"PATH": "/cu/nvvm/bin:/cu/bin:/bin", "CICC_PATH": "/cu/nvvm/bin"}


def test_both_parts_are_given_one_name_of_the_file(tmp_path: Path) -> None:
    plan = planned(LISTED.format(tmp_path), "_id")
    assert (tmp_path / "a.module_id").read_text() == "_id"
    assert not [step for step in plan.steps if "--gen_module_id_file" in step.words]
    assert re.fullmatch(r"_[0-9a-f]{8}_6_a_b_cu_[0-9a-f]{8}", module_name(Path("a-b.cu"), b"x"))
    assert module_name(Path("a.cu"), b"x") != module_name(Path("b/a.cu"), b"x")


def test_steps_that_do_not_wait_for_each_other_are_taken_at_once() -> None:
    both = threading.Barrier(2, timeout=30)

    def run(words: Sequence[str], _: Path, __: Mapping[str, str]) -> tuple[int, str]:
        if words[0] in "ab":
            both.wait()
        return 0, words[0]

    plan = CompilationPlan((Step(("a",), ()), Step(("b",), ()), Step(("c",), (0, 1))), {})
    assert carry_out(plan, range(3), run, Path()) == (0, "abc")


def test_what_is_said_ends_with_the_first_step_that_fails_as_nvccs_does() -> None:
    ran = []

    def run(words: Sequence[str], _: Path, __: Mapping[str, str]) -> tuple[int, str]:
        ran.append(words[0])
        return int(words[0] in "bc"), f"{words[0]} says\n"

    plan = CompilationPlan(
        tuple(Step((word,), after) for word, after in zip("abcd", ((), (), (), (1,)), strict=True)), {}
    )
    assert carry_out(plan, range(4), run, Path()) == (1, "a says\nb says\n")
    assert "d" not in ran


def test_an_object_made_in_steps_has_the_names_and_the_device_code_of_nvccs_own(
    tools: Toolchain, tmp_path: Path
) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "namespace { __device__ int counted; }\n"
        "template <class T> __global__ void add(T* x) { x[threadIdx.x] += counted; }\n"
        "int main() { add<<<1, 32>>>((float*)nullptr); return cudaDeviceSynchronize(); }\n"
    )
    ((made,), _) = compile_all(
        tools, [source], Options(), arch="sm_90", progress=lambda _: None, how=Compiling(execute)
    )
    command = [*compile_command(tools, source, Options(), "sm_90"), "-o", str(tmp_path / "own.o")]
    subprocess.run(command, check=True, env=environment())
    own = (tmp_path / "own.o").read_bytes()

    def device(data: bytes) -> bytes:
        code = data[data.index(b".version ") : data.index(b"\0", data.index(b".version "))]
        return re.sub(rb"\d+_(INTERNAL|GLOBAL__N_)_[0-9a-f]{8}_4_a_cu_(main|[0-9a-f]{8})", b"_ID", code)

    assert device(made) == device(own)
    assert b"_Z3addIfEvPT_" in made


def test_an_error_of_the_host_part_is_said_once_and_in_nvccs_words(tools: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("__global__ void f() { missing(); }\nint main() { return absent; }\n")
    command = [*compile_command(tools, source, Options(), "sm_90"), "-o", str(tmp_path / "own.o")]
    own = subprocess.run(command, capture_output=True, text=True, env=environment())
    with pytest.raises(BuildFailed) as failed:
        compile_all(tools, [source], Options(), arch="sm_90", progress=lambda _: None, how=Compiling(execute))
    assert failed.value.output == own.stdout + own.stderr


def test_a_flag_that_asks_for_something_else_than_an_object_is_refused_in_nvccs_words(
    tools: Toolchain, tmp_path: Path
) -> None:
    source = tmp_path / "a.cu"
    source.write_text("int main() { }\n")
    for flag, said in (("-E", "not supported when '-E'"), ("--version", "Cuda compilation tools")):
        how = Options(flags=(flag,))
        with pytest.raises(BuildFailed) as failed:
            compile_all(tools, [source], how, arch="sm_90", progress=lambda _: None, how=Compiling(execute))
        assert said in failed.value.output
