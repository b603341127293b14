"""The process that judges for the workbench: one request a line on stdin, one message a line on stdout.

Its kernels run in the judge's sandbox, in processes below this one. It ends when its stdin does, as it does when the
server is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from gridstride.course.content import all_days
from gridstride.course.content import day as read_day
from gridstride.course.labs.lab_judge import Judge, judge_of
from gridstride.course.labs.lab_verdict import LabFinding
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.workspace import progress_file, workspace
from gridstride.course.lesson import Day
from gridstride.course.temporary_folder import temporary_folder

_JUDGING = {"kernel": "compiling", "program": "compiling, then running the program", "writing": "looking at each cell"}
"""What is done, by the lab's kind, until its judge says more."""
_MOST_PRINTED = 4000  # characters of what a kernel prints that are shown
_PATIENCE = 10.0  # seconds for a launch, which takes milliseconds
_TIDYING = 3.0  # seconds to remove what was made, when the server has gone

Send = Callable[[Mapping[str, Any]], None]


class PrintedText:
    """What kernels print, as far as it is shown."""

    def __init__(self) -> None:
        self.text = ""
        self.cut = False

    def write(self, text: str) -> int:
        room = _MOST_PRINTED - len(self.text)
        self.text += text[:room]
        self.cut = self.cut or len(text) > room
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def taken(self) -> str:
        """What came since it was asked last."""
        text = self.text + ("\n…" if self.cut else "")
        self.text, self.cut = "", False
        return text


class WorkbenchJudge:
    """Answers requests; what judges the last day's lab stays ready. Texts lie in `folder` meanwhile: under one path, or
    what compilers keep of one text would not be of the next.
    """

    def __init__(self, send: Send, folder: Path) -> None:
        self._send, self._folder, self._printed = send, folder, PrintedText()
        self._ready = ExitStack()
        self._judge: tuple[int, Judge] | None = None

    def answer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The last message to a request."""
        with redirect_stdout(self._printed):
            if request["op"] == "portfolio":
                return _portfolio(request["name"])
            day = read_day(request["day"])
            if request["op"] == "judge":
                return self._judged(day, request["source"])
            if request["op"] == "mark":
                return _marked(day, request["question"], request["given"])
            return (self._pictured if day.lab.kind == "program" else self._explained)(day, request["source"])

    def close(self) -> None:
        """End what was ready."""
        self._judge = None
        self._ready.close()

    def _judged(self, day: Day, source: str) -> Mapping[str, Any]:
        self._step("preparing the judge")
        if self._judge is None or self._judge[0] != day.number:
            self.close()
            self._judge = day.number, self._ready.enter_context(judge_of(day, progress=self._step))
        with self._file(day, source) as file:
            self._step(_JUDGING[day.lab.kind])
            verdict = self._judge[1](file)
        findings = [self._without_folder(finding) for finding in verdict.findings]
        return {"verdict": {**verdict.json(), "findings": findings, "chip": verdict.chip},
                "printed": self._printed.taken()}  # fmt: skip

    def _without_folder(self, finding: LabFinding) -> Mapping[str, Any]:
        """A finding as JSON; the path by which a compiler names the file is the server's own."""
        folder = f"{self._folder}/"
        shown = [line.replace(folder, "") for line in finding.shown]
        return {**finding.json(), "message": finding.message.replace(folder, ""), "shown": shown}

    def _explained(self, day: Day, source: str) -> Mapping[str, Any]:
        from gridstride.judge.explain import explain
        from gridstride.judge.find import find
        from gridstride.judge.report.kernel_page import render
        from gridstride.judge.submission import submission
        from gridstride.virtual.gpu import VirtualGPU

        with self._file(day, source) as file:
            explanation = explain(submission(file), find(day.lab.problem), progress=self._step,
                                  device=VirtualGPU(day.lab.chip, time_limit=_PATIENCE))  # fmt: skip
            command = f"gridstride explain {day.lab.file} --problem {day.lab.problem} --chip {day.lab.chip}"
            return {"report": render(explanation, command=command), "printed": self._printed.taken()}

    def _pictured(self, day: Day, source: str) -> Mapping[str, Any]:
        from gridstride.course.labs.program_pictures import page

        self._step("running the program with its launches watched")
        with self._file(day, source) as file:
            return {"report": page(day, file), "printed": ""}

    @contextmanager
    def _file(self, day: Day, source: str) -> Iterator[Path]:
        """The text under the name that the lab's file has."""
        file = self._folder / day.lab.file
        file.write_text(source, encoding="utf-8")
        try:
            yield file
        finally:
            file.unlink()

    def _step(self, text: str) -> None:
        self._send({"step": text})


def _marked(day: Day, name: str, answer: str) -> Mapping[str, Any]:
    from gridstride.course.learner.quiz import AnswerError, mark

    question = next(question for question in day.questions if question.id == name)
    try:
        return {"marked": mark(day, question, answer).json()}
    except AnswerError as error:
        return {"refused": str(error)}


def _portfolio(name: str) -> Mapping[str, Any]:
    """Write the site, its kernels run in the sandbox for their pictures."""
    from gridstride.course.portfolio import entries, pages, site_folder
    from gridstride.course.portfolio.access_pictures import access_pictures

    folder, today = workspace() / site_folder.NAME, datetime.now().astimezone().date()
    with LearnerProgress(progress_file()) as progress:
        record = entries.record(all_days(), progress, today)
    if not record.entries:
        return {"refused": "no lab has been passed yet, and a portfolio shows those that are"}
    try:
        site_folder.check(folder, pages.page_names(record))
        site_folder.write(folder, pages.render(record, name=name.strip(), today=today, draw=access_pictures))
    except site_folder.FolderRefused as error:
        return {"refused": str(error)}
    except OSError as error:
        return {"refused": f"{folder} cannot be written: {error.strerror}"}
    return {"labs": len(record.entries)}


def _requests(requests: SimpleQueue[dict[str, Any]]) -> None:
    """Hand on what comes in; the end of it is the end of the process, whatever it does."""
    for line in sys.stdin:
        requests.put(json.loads(line))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_TIDYING)
    os._exit(0)


def _leave(number: int, frame: object) -> None:
    """Python's own way out, which removes the folders that were made."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit


def main() -> None:
    """Serve until stdin ends."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else writes to stdout does not get between the messages
    os.nice(5)  # pages first
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
    threading.Thread(target=_requests, args=(requests,), daemon=True).start()
    signal.signal(signal.SIGTERM, _leave)
    with temporary_folder() as folder:
        bench = WorkbenchJudge(
            lambda message: _write(replies, message), Path(tempfile.mkdtemp(prefix="gridstride-", dir=folder))
        )
        try:
            while True:
                _serve(bench, requests.get(), replies)
        finally:
            bench.close()


def _serve(bench: WorkbenchJudge, request: Mapping[str, Any], replies: TextIO) -> None:
    try:
        reply = bench.answer(request)
    except Exception as error:  # no mistake in a file, and none of the judge, ends the queue
        bench.close()
        reply = {"error": _words(error)}
    _write(replies, reply)


def _words(error: Exception) -> str:
    """What went wrong: a refusal in its own words, anything else with its kind."""
    from gridstride.course.course_errors import LessonError
    from gridstride.judge.header import HeaderError
    from gridstride.judge.problem import ProblemError
    from gridstride.judge.sandbox.client import CannotJudge
    from gridstride.programs.program_errors import ProgramError
    from gridstride.protocol import OutOfAddressSpace, RacesNotWatched

    own = (LessonError, HeaderError, ProblemError, ProgramError, CannotJudge, OutOfAddressSpace, RacesNotWatched)
    return str(error) if isinstance(error, own) else f"the judge failed: {type(error).__name__}: {error}"


def _write(replies: TextIO, message: Mapping[str, Any]) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


if __name__ == "__main__":
    main()
