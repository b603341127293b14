"""A day as a notebook: what stands in it, what its cells show, and that it runs as it is given."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from gridstride.cli import main
from gridstride.course.content import day, day_numbers
from gridstride.course.course_errors import ProgressError
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.notebook import notebook, prepare_notebook
from gridstride.course.notebook_lab import Lab, NotebookVerdict
from gridstride.judge.problem import ProblemError


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The learner's folder."""
    monkeypatch.setenv("GRIDSTRIDE_COURSE", str(tmp_path / "mine"))
    return tmp_path / "mine"


def cells(book: dict[str, Any], kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("number", day_numbers())
def test_a_notebook_has_the_lesson_and_the_learners_file(number: int) -> None:
    book = notebook(day(number), "// mine")
    said = "\n".join(cells(book, "markdown"))
    assert day(number).title in said
    assert "<!--" not in said
    assert "](../" not in said
    assert f"%%writefile {day(number).lab.file}\n// mine" in cells(book, "code")
    assert ("lab.explain()" in cells(book, "code")) == (day(number).lab.kind in ("kernel", "program"))
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])


def test_the_format_is_jupyters() -> None:
    nbformat = pytest.importorskip("nbformat")
    read = nbformat.reads(json.dumps(notebook(day(5), "// mine")), as_version=4)
    nbformat.validate(read)  # raises what does not fit
    assert {cell.cell_type for cell in read.cells} == {"markdown", "code"}


def test_learn_writes_it_once(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for is_new in (True, False):
        with pytest.raises(SystemExit) as left:
            main(["learn", "1", "--notebook", "--json"])
        assert left.value.code == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["notebook"], said["written"]) == (str(mine / "day001/day001.ipynb"), is_new)


def test_what_a_learner_has_written_is_taken_over_and_stays(mine: Path) -> None:
    (mine / "day005").mkdir(parents=True)
    (mine / "day005/fields.cu").write_text("// half done\n")
    file, _ = prepare_notebook(day(5))
    assert "%%writefile fields.cu\n// half done" in cells(json.loads(file.read_text()), "code")
    file.write_text("edited")
    assert prepare_notebook(day(5)) == (file, False)
    assert file.read_text() == "edited"


def test_a_folder_that_cannot_be_written_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRIDSTRIDE_COURSE", str(tmp_path / "file" / "mine"))
    with pytest.raises(ProgressError, match="cannot be written"):
        prepare_notebook(day(1))


def checked(lab: Lab, source: str) -> NotebookVerdict:
    lab.file.write_text(source)
    return lab.check()


def test_a_verdict_is_shown_and_recorded(mine: Path) -> None:
    lab, solution = Lab(1), day(1).solution.read_text()
    wrong = checked(lab, solution.replace("6912", "221184"))
    assert repr(wrong).startswith("Not yet")
    assert "<b>wrong value, line" in wrong._repr_html_()
    right = checked(lab, solution)
    assert "Pass" in right._repr_html_()
    assert "requests of 10000" in right._repr_html_()
    with LearnerProgress(mine / "progress.sqlite") as progress:
        assert [run.passed for run in progress.runs(1)] == [False, True]


def test_what_a_learner_wrote_is_escaped() -> None:
    shown = checked(Lab(1), "<script>alert(1)</script>")
    assert "<script" not in shown._repr_html_()


def test_hints_come_one_by_one(mine: Path) -> None:
    lab = Lab(5)
    assert repr(lab.hint()).startswith("1. ")
    assert lab.hint()._repr_markdown_().endswith("(2 of 4)")
    with LearnerProgress(mine / "progress.sqlite") as progress:
        assert progress.hints(5) == 2


def test_a_kernel_is_explained_with_heat_and_with_what_a_warp_touches() -> None:
    lab = Lab(5)
    lab.file.write_text(day(5).solution.read_text())
    page = lab.explain()._repr_html_()
    assert page.startswith('<iframe sandbox=""')
    for part in ("What a warp touches", "--h:", "Occupancy"):
        assert part in page


def test_a_program_is_explained_by_its_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    from gridstride.course.labs import program_pictures

    asked = []
    monkeypatch.setattr(program_pictures, "page", lambda day, file: asked.append((day.number, file)) or "<p>heat</p>")
    lab = Lab(3)
    assert "&lt;p&gt;heat" in lab.explain()._repr_html_()
    assert asked == [(3, lab.file)]


def test_a_table_is_not_explained() -> None:
    with pytest.raises(ProblemError, match="the lab of day 1 is no kernel"):
        Lab(1).explain()


@pytest.mark.skipif(importlib.util.find_spec("nbclient") is None, reason="nbclient is not installed")
@pytest.mark.skipif(importlib.util.find_spec("ipykernel") is None, reason="ipykernel is not installed")
def test_it_runs_as_it_is_given_and_an_error_is_one_message() -> None:
    import nbformat
    from nbclient import NotebookClient

    file, _ = prepare_notebook(day(1))
    book = nbformat.read(file, as_version=4)
    book.cells.append(nbformat.v4.new_code_cell("Lab(777)"))
    where = {"metadata": {"path": str(file.parent)}}
    NotebookClient(book, timeout=100, allow_errors=True, resources=where).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert "Not yet" in next(output.data["text/html"] for output in outputs if "text/html" in output.get("data", {}))
    (error,) = (output for output in outputs if output.output_type == "error")
    assert len(error.traceback) == 1
    assert error.traceback[0].startswith("NoSuchDay: there is no day 777")
