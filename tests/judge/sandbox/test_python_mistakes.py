"""What is said of a Triton submission that does not compile: its line, in its own name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gridstride.judge.find import find
from gridstride.judge.ladder import Ladder
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.submission import submission
from gridstride.virtual.gpu import VirtualGPU

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"Python submissions are refused here: {why_not()}")

RIGHT = (Path(__file__).parents[1] / "correct" / "triton_vector_add.py").read_text()


@pytest.fixture(scope="module")
def ladder() -> Iterator[Ladder]:
    judge = Ladder(find("vector_add"), device=VirtualGPU(), sandbox=True)
    yield judge
    judge.close()


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        (RIGHT.replace("def add", "deff add"), 11, "SyntaxError: invalid syntax (mine.py, line 11)"),
        (RIGHT.replace("tl.load(a", "tl.loadd(a"), 13, "mine.py:13:21: error: AttributeError"),
        (f"{RIGHT}\nraise RuntimeError('no')\n", 15, "RuntimeError: no"),
    ],
)
def test_a_mistake_is_said_with_its_line_and_not_where_it_lay(
    ladder: Ladder, tmp_path: Path, source: str, line: int, said: str
) -> None:
    (tmp_path / "mine.py").write_text(source)
    (finding,) = ladder.judge(submission(tmp_path / "mine.py")).findings
    assert (finding.kind, finding.line) == ("compile_error", line)
    assert finding.message.startswith(said)
    assert "gridstride-" not in finding.message
