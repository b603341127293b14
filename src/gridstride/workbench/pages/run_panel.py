"""Run, and what comes of it: place in the queue, live steps, verdict, and the pictures that explain the kernel."""

from __future__ import annotations

import time
from collections.abc import Callable

from nicegui import ui

from gridstride.course.content import readable_days
from gridstride.course.course_errors import ProgressError
from gridstride.course.learner.predictions import predictions
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.standing import next_day
from gridstride.course.lesson import Day
from gridstride.workbench.dispatch import Live
from gridstride.workbench.jobs import Job, Jobs, Kind, QueueFull, SourceTooLong
from gridstride.workbench.pages import verdict
from gridstride.workbench.pages.editor import Editor
from gridstride.workbench.pages.frame import button, embedded, seconds_since, session, trouble
from gridstride.workbench.state import Workbench

_RUN_AGAIN = {"kernel": "kernel", "program": "program"}
"""Labs that have pictures, and what they are made from."""
_LOOK = 0.25  # seconds between two looks at a job that goes on


class RunPanel:
    """Follows one job; a page that is loaded again finds it where it is. While it is another browser's, an own one may
    be asked for: it waits behind that, and is followed then.
    """

    def __init__(
        self, workbench: Workbench, day: Day, editor: Editor, *, predicted: dict[str, str], following: Day | None
    ) -> None:
        self._workbench, self._day, self._editor, self._predicted = workbench, day, editor, predicted
        self._following, self._session = following, session()
        self.on_pass: Callable[[], None] | None = None
        with ui.element("div").classes("runs"):
            self._button = button("Run", self.run, strong=True).props('aria-keyshortcuts="Control+Enter"')
            self._cancel = button("Cancel", self._stop)
            self._status = ui.label().classes("status").props('role="status"')
        self._verdict = ui.element("section").props('aria-label="Verdict" aria-live="polite"')
        self._report = self._verdict
        self._job: Job | None = None
        self._judged: str | None = None  # the text of the verdict that is shown
        editor.on_change = self._fade
        self._began = 0.0
        self._timer = ui.timer(_LOOK, self._look, active=False)
        self._idle()

    def open(self, judged: Job | None, explained: Job | None) -> None:
        """What there is of earlier visits, and what goes on."""
        if judged is not None and not judged.open:
            self._show(judged)
        if explained is not None and explained.state == "done" and judged and explained.source == judged.source:
            self._show_report(explained)
        going = next((job for job in (judged, explained) if job is not None and job.open), None)
        if going is not None:
            self._follow(going)

    def place_report(self) -> None:
        """Pictures are shown here, where they have the width of the page."""
        self._report = ui.element("section").props('aria-label="Pictures"')

    def _fade(self) -> None:
        """A verdict on another text than the editor's is pale."""
        stale = self._judged is not None and self._judged != self._editor.text
        self._verdict.classes(add="stale" if stale else "", remove="" if stale else "stale")

    async def run(self) -> None:
        """Have the editor's text judged."""
        if not self._has_own_run() and await self._editor.save():
            self._report.clear()
            await self._add("judge")

    async def _explain(self) -> None:
        if not self._has_own_run():
            await self._add("explain")

    def _has_own_run(self) -> bool:
        """Whether a run of this browser waits or goes on."""
        return self._job is not None and self._job.session == self._session

    async def _add(self, kind: Kind) -> None:
        try:
            job = await self._workbench.dispatcher.add(self._session, kind, self._day.number, self._editor.text)
        except (QueueFull, SourceTooLong, ProgressError) as error:
            area = self._verdict if kind == "judge" else self._report
            area.clear()
            with area:
                trouble(str(error))
            return
        self._follow(job)

    def _follow(self, job: Job) -> None:
        self._job, self._began = job, time.monotonic()
        if job.kind == "judge":
            self._verdict.clear()
            self._judged = None
            self._fade()
            self._editor.mark(())
        self._button.set_enabled(not self._has_own_run())
        self._cancel.visible = True
        self._status.text = "waiting"
        self._timer.active = True

    def _idle(self) -> None:
        self._job = None
        self._timer.active = False
        self._button.enable()
        self._cancel.visible = False
        self._status.text = "Ctrl-Enter runs it"

    async def _stop(self) -> None:
        if self._job is not None:
            self._status.text = "cancelling …"
            await self._workbench.dispatcher.cancel(self._job.id)

    async def _look(self) -> None:
        job = self._job
        if job is None:
            return
        if (live := self._workbench.dispatcher.live.get(job.id)) is not None:
            whose = "" if self._has_own_run() else "another browser's run: "
            self._status.text = f"{whose}{_doing(live)} · {seconds_since(self._began)}"
            return
        try:
            finished = await self._workbench.read(lambda progress: Jobs(progress).get(job.id))
        except ProgressError as error:
            self._status.text = str(error)
            return
        if finished is not None and finished.open:  # kept in a moment
            return
        self._idle()
        await self._ended(finished)

    async def _ended(self, job: Job | None) -> None:
        if job is None:
            return
        if job.kind == "explain" and job.state == "done":
            self._show_report(job)
            return
        if job.kind == "judge":
            self._predicted, self._following = await self._workbench.read(
                lambda progress: (predictions(self._day, progress), following(self._day, progress))
            )
        self._show(job)

    def _show(self, job: Job) -> None:
        """A job that has ended."""
        area = self._verdict if job.kind == "judge" else self._report
        area.clear()
        with area:
            if job.state == "cancelled":
                ui.label("The run was cancelled; nothing was recorded.").classes("soft")
            elif job.state == "failed":
                trouble(job.outcome.get("error", "the run failed"))
            else:
                self._show_verdict(job)

    def _show_verdict(self, job: Job) -> None:
        self._judged, same = job.source, job.source == self._editor.text
        self._fade()
        if not same:
            ui.label("Of an earlier text: the file has changed since.").classes("soft small")
        words = job.outcome["verdict"]
        verdict.show(self._day, job.outcome, self._predicted, reveal=self._editor.reveal if same else None)
        if same:
            self._editor.mark(words["findings"])
        if words["verdict"] == "pass" and self.on_pass is not None:
            self.on_pass()
        if words["verdict"] == "pass" and self._following is not None:
            with ui.element("div").classes("onto"):
                ui.link(f"On to day {self._following.number}: {self._following.title}",
                        f"/day/{self._following.number}").classes("go")  # fmt: skip
        if (again := _RUN_AGAIN.get(self._day.lab.kind)) is not None:
            button("Explain it in pictures", self._explain)
            message = f"Heat on the source lines, what a warp touches, occupancy, rooflines: the {again} is run again."
            ui.label(message).classes("soft small")

    def _show_report(self, job: Job) -> None:
        self._report.clear()
        with self._report:
            ui.html("<h2>Pictures</h2>", sanitize=False)
            ui.link("Open them in a page of their own", f"/runs/{job.id}/report", new_tab=True)
            embedded(f"/runs/{job.id}/report", "What runs on the device, explained")


def following(day: Day, progress: LearnerProgress) -> Day | None:
    """The next day that has not been passed, or one that was left out before; None where all have been."""
    days = readable_days()[0]
    return next_day((later for later in days if later.number > day.number), progress) or next_day(days, progress)


def _doing(live: Live) -> str:
    if not live.running:
        return "next in line" if not live.jobs_ahead else f"waiting, {live.jobs_ahead} before it"
    return f"running: {live.step}" if live.step else "starting"
