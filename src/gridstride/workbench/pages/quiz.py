"""A question on a page: choices or a number, then whether it was right, and why."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from gridstride.course.course_errors import LessonError, ProgressError
from gridstride.course.learner.progress import AnswerRecord
from gridstride.course.learner.quiz import AnswerError, mark
from gridstride.course.lesson import LETTERS, Day, QuizQuestion
from gridstride.workbench.judge_process import JudgeEnded
from gridstride.workbench.pages.frame import button, trouble
from gridstride.workbench.pages.prose import Sentences
from gridstride.workbench.state import Workbench


def card(
    workbench: Workbench, day: Day, question: QuizQuestion, *, number: int, again: str, last: AnswerRecord | None
) -> None:
    """The question, with its last answer where there is one."""
    with ui.element("section").classes("question").props(f'aria-label="Question {number}"'):
        with ui.element("div").classes("ask"):
            ui.label(f"{number}{f' ({again})' if again else ''}").classes("number soft")
            Sentences(question.ask)
        body = ui.element("div")
        shown_question = _Asked(workbench, day, question, body)
        if last is None:
            shown_question.ask()
        else:
            shown_question.show_last(last)


class _Asked:
    """A question that is being answered in `body`."""

    def __init__(self, workbench: Workbench, day: Day, question: QuizQuestion, body: ui.element) -> None:
        self._workbench, self._day, self._question, self._body = workbench, day, question, body

    def ask(self) -> None:
        """The choices, or a field for a number."""
        self._body.clear()
        with self._body:
            if self._question.figure:
                self._ask_number()
                return
            for letter, choice in zip(LETTERS, self._question.choices, strict=False):
                self._choice(letter, choice.text, self._answer)

    def _ask_number(self) -> None:
        unit = self._day.figures[self._question.figure].unit
        with ui.element("div").classes("predict"):
            field = ui.input(label=unit or "a number").props('outlined dense inputmode="decimal" autocomplete="off"')
            field.on("keydown.enter", lambda: self._answer(field.value))
            button("Measure it", lambda: self._answer(field.value), strong=True)

    def _choice(self, letter: str, text: str, action: Any, state: str = "") -> None:
        """One choice as a button; with `state` it has been answered, and is one no more."""
        with ui.element("div" if state else "button").classes(f"choice {state}") as chosen:
            ui.label(letter).classes("letter")
            Sentences(text, shape="text")
        if not state:
            chosen.props('type="button"').on("click", lambda: action(letter))

    async def _answer(self, answer: str) -> None:
        if not answer.strip():
            return
        self._body.clear()
        with self._body:
            if self._question.figure:
                ui.label("measuring …").classes("soft").props('role="status"')
        try:
            marked = await self._marked(answer)
            if "refused" in marked:
                self._announce(marked["refused"])
                return
            await self._workbench.read(lambda progress: progress.record_answer(
                self._day.number, self._question.id, marked["answer"], right=marked["right"]))  # fmt: skip
            self._show(marked["answer"], right=marked["right"], why=marked["why"])
        except (ProgressError, LessonError, JudgeEnded) as error:
            self._announce(str(error))

    async def _marked(self, answer: str) -> Any:
        """As `Marked.json()` has it, or `refused` in words; JudgeEnded. A number is measured by another process."""
        if not self._question.figure:
            return mark(self._day, self._question, answer).json()
        reply = await self._workbench.dispatcher.mark(self._day.number, self._question.id, answer)
        return reply.get("marked") or {"refused": reply.get("refused") or reply.get("error", "")}

    def _announce(self, text: str) -> None:
        self.ask()
        with self._body:
            trouble(text)

    def show_last(self, last: AnswerRecord) -> None:
        """The answer of an earlier visit; a number is not measured again for it."""
        try:
            message = f"You said {last.given}. {self._question.why}"
            why = message if self._question.figure else mark(self._day, self._question, last.given).why
        except AnswerError:  # the question has been rewritten since, and has no such choice any more
            self.ask()
            return
        self._show(last.given, right=last.right, why=why)

    def _show(self, answer: str, *, right: bool, why: str) -> None:
        self._body.clear()
        with self._body:
            for letter, choice in zip(LETTERS, self._question.choices, strict=False):
                state = "right" if letter == self._question.answer else "wrong" if letter == answer else "other"
                self._choice(letter, choice.text, None, state)
            with ui.element("div").classes(f"why {'right' if right else 'wrong'}").props('role="status"'):
                ui.label("Right:" if right else "Not right:").classes("verdict")
                Sentences(why, shape="")
            button("Answer again", self.ask)
