"""A day as a Jupyter notebook: the lesson, the lab's file in a cell that writes it, cells that judge and explain it.

The notebook's cell, the terminal and the workbench have one file between them: the learner's own of that day.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridstride.course.course_errors import ProgressError
from gridstride.course.files.markdown import MarkdownLink, for_reader
from gridstride.course.learner.workspace import prepare_lab
from gridstride.course.lesson import Day

_FORMAT, _MINOR = 4, 5  # of nbformat: the first in which cells have ids


def prepare_notebook(day: Day) -> tuple[Path, bool]:
    """The day's notebook beside the lab's file, written where there is none yet, and whether it was; never overwritten.

    ProgressError where it cannot be.
    """
    lab, _ = prepare_lab(day)
    target = lab.parent / f"{day.name}.ipynb"
    try:
        text = json.dumps(notebook(day, lab.read_text(encoding="utf-8-sig")), indent=1, ensure_ascii=False) + "\n"
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return target, False
    except (OSError, UnicodeDecodeError) as error:
        raise ProgressError(f"{target} cannot be made: {error}") from error
    return target, True


def notebook(day: Day, source: str) -> dict[str, Any]:
    """The notebook as JSON has it; `source` stands in the cell that writes the lab's file."""
    cells: list[dict[str, Any]] = [
        {"id": f"{day.name}-{number}", "metadata": {}, "source": text.splitlines(keepends=True),
         **({"cell_type": "code", "execution_count": None, "outputs": []} if kind == "code" else {"cell_type": kind})}
        for number, (kind, text) in enumerate(_cells(day, source))
    ]  # fmt: skip
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
            "nbformat": _FORMAT, "nbformat_minor": _MINOR}  # fmt: skip


def _cells(day: Day, source: str) -> Iterator[tuple[str, str]]:
    """Each cell's kind and text."""
    lab = day.lab
    task = (
        f"## Lab: {lab.title}\n\n*It passes when this holds:* {lab.shows}\n\nRun the next cell once. The one below it "
        f"writes `{lab.file}`, the file that `gridstride watch {day.number}` and the workbench judge too: edit it "
        "there, run it, then run `lab.check()`."
    )
    yield "markdown", for_reader(day.text, _link).strip()
    yield "markdown", task
    yield "code", f"from gridstride.course.notebook_lab import Lab\n\nlab = Lab({day.number})"
    yield "code", f"%%writefile {lab.file}\n{source.rstrip()}"
    yield "code", "lab.check()"
    if lab.kind in ("kernel", "program"):
        yield "markdown", f"What it does, line by line, and what a warp touches (the {lab.kind} is run once more):"
        yield "code", "lab.explain()"
    yield "markdown", f"When you are stuck, `lab.hint()` gives the next of {len(lab.hints)} hints; each is recorded."
    yield "code", "# lab.hint()"


def _link(link: MarkdownLink) -> str:
    """The web's links stay; the course's own lead to files that do not lie beside the notebook."""
    return f"[{link.text}]({link.target})" if "://" in link.target else link.text
