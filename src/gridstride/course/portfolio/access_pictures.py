"""What a warp of a learner's kernel touches, drawn from the source that passed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.course.portfolio.entries import PassedLab

if TYPE_CHECKING:
    from gridstride.judge.header import KernelFile
    from gridstride.judge.ladder import Ladder
    from gridstride.judge.report.kernel_page import Pictured

_SEED = 0  # any: the data of a picture, the same each time
_PICTURED = 2  # accesses of a kernel
_PATIENCE = 10.0  # seconds for a launch, which takes milliseconds


def access_pictures(entry: PassedLab) -> Sequence[Pictured]:
    """Pictures of the heaviest accesses; none of a lab without a kernel, or of one that cannot be run any more.

    The kernel runs in the judge's sandbox, as it did for its verdict.
    """
    from gridstride.judge.execution.runnable import RefusedError
    from gridstride.judge.find import find
    from gridstride.judge.header import HeaderError
    from gridstride.judge.ladder import Ladder
    from gridstride.judge.submission import submission
    from gridstride.virtual.gpu import VirtualGPU

    lab, source = entry.day.lab, entry.run.source
    if lab.kind != "kernel" or not source:
        return ()
    device = VirtualGPU(lab.chip, time_limit=_PATIENCE)
    ladder = Ladder(find(lab.problem), device=device, seed=_SEED, sandbox=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / lab.file
            file.write_text(source, encoding="utf-8")
            return _drawn(ladder, submission(file))
    except (HeaderError, RefusedError):  # it passed with an older GridStride and is not accepted by this one
        return ()
    finally:
        ladder.close()


def _drawn(ladder: Ladder, kernel: KernelFile) -> Sequence[Pictured]:
    from gridstride.judge.cases.data import generate
    from gridstride.judge.explain.at_size import timed
    from gridstride.judge.explain.explanation import touched
    from gridstride.judge.explain.lines import lines
    from gridstride.judge.problem import Case
    from gridstride.judge.report.kernel_page import pictures

    problem, subject = ladder.problem, ladder.build(kernel)
    case = Case(problem.observed, "normal", _SEED)
    run = subject.observed(problem.signature, case, generate(problem, case)).run
    if run is None or run.stopped:
        return ()
    heaviest = lines(timed(problem, subject, run), kernel.source, kernel.filename)
    accesses = touched(problem, subject, heaviest, _SEED)
    return pictures(accesses, {line.number: line.code.strip() for line in heaviest})[:_PICTURED]
