"""A user's kernel is explained from a worker: what is seen there is what is seen here, and nothing of it runs here."""

from __future__ import annotations

from pathlib import Path

import pytest

import gridstride as gs
from gridstride.judge.explain import KernelExplanation, explain
from gridstride.judge.find import find
from gridstride.judge.header import KernelFile, parse_kernel
from gridstride.judge.sandbox import checked_words, records
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.submission import submission

RUNG = find("transpose").rungs()[1]
MINE = parse_kernel(RUNG.source, filename="mine.cu")
CORRECT = Path(__file__).parents[1] / "correct"


def explained(file: KernelFile, problem: str = "transpose", *, sandbox: bool = True) -> KernelExplanation:
    return explain(file, find(problem), device=gs.VirtualGPU(time_limit=20.0), seed=1, ladder=False, sandbox=sandbox)


@pytest.fixture
def none_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever compiles a kernel in this process fails."""

    def refuse(*_: object) -> None:
        raise AssertionError("a user's kernel was compiled in the judge's own process")

    monkeypatch.setattr("gridstride.judge.ladder.build", refuse)


def test_it_is_the_same_explanation(none_here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    there = explained(MINE)
    monkeypatch.undo()
    here = explained(MINE, sandbox=False)
    assert there.profile is not None
    assert here.profile is not None
    assert there.profile.accesses == here.profile.accesses != ()
    assert there.profile.run.counters.as_dict() == here.profile.run.counters.as_dict()
    assert [line.json() for line in there.profile.lines] == [line.json() for line in here.profile.lines]


def test_a_wrong_kernel_is_blamed_from_there(none_here: None) -> None:
    told = explained(parse_kernel(RUNG.source.replace("tile[threadIdx.x][", "tile[threadIdx.y]["), filename="m.cu"))
    finding = told.result.findings[0]
    assert finding.kind == "wrong_result"
    assert finding.line is not None
    assert "was written on line" in finding.message


@pytest.mark.slow
def test_one_that_never_ends_is_a_verdict(none_here: None) -> None:
    source = RUNG.source.replace("__syncthreads();", "while (in != nullptr) if (M < 0) break;")
    told = explained(parse_kernel(source, filename="mine.cu"))
    assert [finding.kind for finding in told.result.findings] == ["timeout"]
    assert told.profile is None


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_python_is_explained_by_its_own_lines(none_here: None) -> None:
    pytest.importorskip("triton")
    told = explained(submission(CORRECT / "triton_vector_add.py"), "vector_add")
    assert told.result.verdict == "pass"
    assert told.profile is not None
    heaviest = max(told.profile.lines, key=lambda line: line.share)
    assert "tl.store" in heaviest.code
    touched = {access.array: access for access in told.profile.accesses}
    assert touched.keys() == {"a", "b", "c"}
    assert len(touched["c"].sectors) == 4 * touched["c"].bytes // 4


def test_the_problem_s_own_kernels_are_run_here_as_in_a_climb(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a worker was started")

    monkeypatch.setattr("gridstride.judge.ladder.Sandbox", refuse)
    assert explained(RUNG).result.verdict == "pass"


@pytest.mark.parametrize(
    "change", [{"addresses": [1] * 31}, {"bytes": 0}, {"bytes": 1 << 40}, {"addresses": [-1] * 32}, {"line": "x"}]
)
def test_a_forged_access_is_refused(change: dict[str, object]) -> None:
    honest = {"line": 3, "space": "global", "bytes": 4, "writes": False, "array": "x", "addresses": [0] * 32}
    assert records.accesses_of([honest])
    with pytest.raises(checked_words.MalformedError):
        records.accesses_of([{**honest, **change}])
