"""`gridstride quiz`: a day's questions and those that come back, asked in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gridstride.commands.course.course_target import ALL_PASSED, all_passed, chosen_day, days_there, opened
from gridstride.commands.terminal import WrongUse, emit, stdout

if TYPE_CHECKING:
    from rich.console import Console

    from gridstride.course.learner.progress import LearnerProgress
    from gridstride.course.learner.quiz import Marked
    from gridstride.course.lesson import Day, QuizQuestion

Asked = list[tuple["Day", "QuizQuestion"]]


def run(word: str | None, *, answers: Sequence[str], interview: bool, as_json: bool) -> bool:
    """Ask, mark and explain; True where every answer was right (and where nothing was to be answered)."""
    from gridstride.course.learner.standing import asked_with

    with opened() as progress:
        day = chosen_day(word, progress)
        if interview:
            return _interview(day, as_json=as_json)
        repeat = word is None and not answers and all_passed(progress)  # a day's own are asked where it is named
        questions = _due(progress) if repeat else asked_with(day, days_there(), progress, datetime.now(UTC))
        if repeat and not questions and not as_json:
            stdout().print(f"{ALL_PASSED}, and no question waits to be asked again: name a day to repeat its quiz")
            return True
        if answers:
            marked = _marked_answers(questions, answers, progress)
            _show_all(marked, as_json=as_json)
            return all(answer.right for answer in marked)
        if as_json:
            from gridstride.course.learner.quiz import question_json

            emit({"questions": [question_json(*question) for question in questions]})
            return True
        return _ask(_open_first(questions, progress), progress, own=None if repeat else day)


def _open_first(questions: Asked, progress: LearnerProgress) -> Asked:
    """A quiz that was left goes on where it was left: what nobody has answered, then what was answered wrong."""
    last = {(answer.day, answer.question): answer.right for answer in progress.answers()}
    order = {None: 0, False: 1, True: 2}
    return sorted(questions, key=lambda item: order[last.get((item[0].number, item[1].id))])


def _due(progress: LearnerProgress) -> Asked:
    """The questions that are due."""
    from gridstride.course.learner.quiz import returning
    from gridstride.course.learner.standing import answers_by_question

    return returning(days_there(), answers_by_question(progress), datetime.now(UTC), but=0)


def _marked_answers(questions: Asked, answers: Sequence[str], progress: LearnerProgress) -> list[Marked]:
    """The answers of the command line, each as ID=ANSWER; all are read before any is measured, and all before any is
    recorded.
    """
    from gridstride.course.learner.quiz import AnswerError, mark, read_answer

    questions_by_id = {question.id: (day, question) for day, question in reversed(questions)}
    read: dict[str, str] = {}
    for answer in answers:
        name, sign, text = answer.partition("=")
        if not sign or name not in questions_by_id:
            raise WrongUse(f"--answer {answer}: write ID=ANSWER with one of {', '.join(questions_by_id)}")
        if name in read:
            raise WrongUse(f"--answer {answer}: {name} is answered twice; give each question one answer")
        try:
            read[name] = read_answer(questions_by_id[name][1], text)
        except AnswerError as error:
            raise WrongUse(f"--answer {answer}: {error}") from error
    marked = [mark(*questions_by_id[name], answer) for name, answer in read.items()]
    for marked_answer in marked:
        progress.record_answer(
            marked_answer.day, marked_answer.question.id, marked_answer.given, right=marked_answer.right
        )
    return marked


def _show_all(marked: Sequence[Marked], *, as_json: bool) -> None:
    right = sum(answer.right for answer in marked)
    if as_json:
        emit({"answers": [answer.json() for answer in marked], "right": right, "asked": len(marked)})
        return
    console = stdout()
    for answer in marked:
        console.print(f"{answer.question.id}={answer.given}", style="bold")
        _show(console, answer)
    console.print(f"{right} of {len(marked)} right")


def _ask(questions: Asked, progress: LearnerProgress, *, own: Day | None) -> bool:
    """One question after the other; where the answers end (Ctrl-D), what was answered stays recorded."""
    from gridstride.course.figures.worked_kernels import WorkedKernels
    from gridstride.course.learner.quiz import AnswerError, mark
    from gridstride.course.lesson import LETTERS

    console = stdout()
    benches: dict[int, WorkedKernels] = {}
    right = done = 0
    for number, (day, question) in enumerate(questions, start=1):
        back = "" if day is own else f" (day {day.number}, again)"
        console.print(f"{number}/{len(questions)}{back}  {question.ask.strip()}", style="bold", end="")
        console.print(f"  ({question.id})", style="dim")
        for letter, choice in zip(LETTERS, question.choices, strict=False):
            console.print(f"  {letter}  {choice.text}")
        marked = None
        while marked is None:
            answer = _line("a number> " if question.figure else "> ")
            if answer is None:
                console.print(f"\n{right} of {done} right; the rest waits")
                return False
            try:
                marked = mark(day, question, answer, benches.setdefault(day.number, WorkedKernels(day)))
            except AnswerError as error:
                console.print(str(error))
        progress.record_answer(day.number, question.id, marked.given, right=marked.right)
        done, right = done + 1, right + marked.right
        _show(console, marked)
    console.print(f"{right} of {done} right")
    if own is not None and right < done:
        console.print(f"gridstride quiz {own.number} asks those first that were not", style="dim")
    return right == done


def _line(prompt: str) -> str | None:
    """What is typed; None at the end."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None


def _show(console: Console, marked: Marked) -> None:
    console.print(f"  {'right' if marked.right else 'not right'}: {marked.why}",
                  style="green" if marked.right else "yellow")  # fmt: skip
    console.print()


def _interview(day: Day, *, as_json: bool) -> bool:
    from gridstride.course.files.markdown import for_terminal

    pairs = [(interview.question, for_terminal(interview.answer).strip()) for interview in day.interviews]
    if as_json:
        emit({"day": day.number, "interviews": [{"question": q, "answer": a} for q, a in pairs]})
        return True
    console = stdout()
    for question, answer in pairs:
        console.print(question, style="bold")
        if sys.stdin.isatty() and _line("Say your answer aloud, then press Enter> ") is None:
            return True
        console.print(f"{answer}\n")
    return True
