"""`gridstride export`: words, files, and kernels that do not pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridstride.cli import main

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


def status(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["export", *words])
    return int(ended.value.code or 0)


def test_the_last_rung_is_written_with_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("vector_add") == 0
    said = capsys.readouterr().out
    assert "wrote vector_add_op/csrc/vector_add.cu" in said
    assert "pip install --no-build-isolation vector_add_op" in said
    assert Path("vector_add_op/README.md").is_file()


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
