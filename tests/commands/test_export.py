"""`gridstride export`: words, files, and kernels that do not pass."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import command_line
import pytest

from gridstride.cli import main
from gridstride.export import wheel
from gridstride.programs.program_errors import MissingToolchain

OWN = """// grid: ceil(n/256)
// block: 256
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.cu").write_text(OWN)
    Path("wrong.cu").write_text(OWN.replace("i < n", "i <= n"))


status = partial(command_line.status, "export")


def test_the_last_rung_is_written_with_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("vector_add") == 0
    said = capsys.readouterr().out
    assert "wrote vector_add_op/csrc/vector_add.cu" in said
    assert "pip install --no-build-isolation ./vector_add_op" in said
    assert Path("vector_add_op/README.md").is_file()


def test_a_folder_with_a_blank_is_quoted_for_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("vector_add", "--in", "with blank") == 0
    assert "pip install --no-build-isolation './with blank/vector_add_op'" in capsys.readouterr().out


def test_a_kernel_of_ones_own_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("vector_add", "--kernel", "mine.cu", "--name", "adder", "--in", "packages", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["package"], said["folder"], said["ops"], said["wheel"]) == (
        "adder",
        "packages/adder",
        ["vector_add"],
        "",
    )
    assert Path("packages/adder/csrc/vector_add.cuh").read_text() == OWN


def test_a_kernel_that_does_not_pass_is_not_exported(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("vector_add", "--kernel", "wrong.cu") == 1
    said = capsys.readouterr().err
    assert "wrong.cu is not exported, it does not pass vector_add: " in said
    assert "Try:  gridstride check wrong.cu --problem vector_add" in said
    assert not Path("vector_add_op").exists()


def test_without_a_compiler_nothing_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise MissingToolchain("whole programs are compiled with ziglang, which is not installed: pip install ziglang")

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(wheel, "toolchain", missing)
    assert status("vector_add", "--wheel") == 2
    said = capsys.readouterr().err
    assert "there is no nvcc with a C++ compiler on PATH, and whole programs are compiled with ziglang" in said
    assert not Path("vector_add_op").exists()


@pytest.mark.slow
def test_the_pages_way_from_a_kernel_to_an_extension(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command of docs/extensions.md; pip and what needs a GPU are tested in tests/export/test_on_a_gpu.py."""
    page = (Path(__file__).parents[2] / "docs" / "extensions.md").read_text()
    lines = page.partition("gridstride export` makes a folder")[2].split("```\n")[1].splitlines()
    commands = [line.split("#")[0].split() for line in lines]
    assert [words[0] for words in commands] == ["gridstride"] * 3 + ["pip", "python"]
    starter, check, export = (words[1:] for words in commands[:3])
    assert starter[-2:] == [">", "mine.cu"]
    with pytest.raises(SystemExit, match="0"):
        main(starter[:-2])
    text = capsys.readouterr().out
    body = "if (i < n) y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));"
    Path("mine.cu").write_text(text)
    with pytest.raises(SystemExit, match="1"):
        main(check)  # it is only a start
    index = "const long long i = blockIdx.x * 256ll + threadIdx.x;"
    Path("mine.cu").write_text(f"{text.partition('{')[0]}{{ {index} {body} }}\n")
    with pytest.raises(SystemExit, match="0"):
        main(export)  # which judges it once more
    assert commands[3][-1] == "./my_gelu"  # without a slash pip looks in its index
    assert Path("my_gelu/setup.py").is_file()
    assert "my_gelu.gelu(" in lines[4]
    assert "def gelu(x: Tensor) -> Tensor:" in Path("my_gelu/my_gelu/__init__.py").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vektor_add"], "did you mean vector_add?"),
        (["vector_add", "--kernel", "9"], "there is no rung '9'"),
        (["vector_add", "--name", "My-Op"], "'My-Op' is no name for a package"),
        (["vector_add", "--in", "mine.cu"], "cannot be written: "),
    ],
)
def test_wrong_words_get_the_way_out(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(*words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
