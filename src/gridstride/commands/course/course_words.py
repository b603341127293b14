"""The words of the course's commands: learn, watch, hint, quiz, solution, progress, portfolio, glossary, up.

As in cli.py a command parses its words and calls one function, which is imported only then.
"""

from __future__ import annotations

from typing import Annotated

import typer

from gridstride.commands.options.shared_options import Json, call

DayWord = Annotated[
    str | None, typer.Argument(metavar="[DAY]", help="A day's number; by default the first not passed.")
]


def add(app: typer.Typer) -> None:
    """Give the command line these commands."""
    for command in (learn, watch, hint, quiz, solution, progress, portfolio, glossary, up):
        app.command()(command)


def learn(
    day: DayWord = None,
    notebook: Annotated[
        bool, typer.Option("--notebook", help="Write the day as a Jupyter notebook, and say how to open it.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Read a day's lesson and get its lab.

    The lab's file is copied into your course folder (GRIDSTRIDE_COURSE, ~/gridstride-course by default); one that is
    there already stays as it is.
    """
    return call("course.learn", day, notebook=notebook, as_json=as_json)


def watch(day: DayWord = None, as_json: Json = False) -> int:
    """Judge a day's lab on every save, until it passes.

    With --json it is judged once, as it is now.
    """
    return call("course.watch", day, as_json=as_json)


def hint(day: DayWord = None, as_json: Json = False) -> int:
    """Show the next hint for a day's lab."""
    return call("course.hint", day, as_json=as_json)


def quiz(
    day: DayWord = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            "--answer",
            metavar="ID=ANSWER",
            help="Answer a question without being asked: a choice's letter, or a number; repeatable.",
        ),
    ] = None,
    interview: Annotated[bool, typer.Option("--interview", help="The day's interview questions instead.")] = False,
    as_json: Json = False,
) -> int:
    """Answer a day's questions, and those that come back.

    Two of earlier days are asked again when they are due, after 1, 3, 7 and 21 days. Some questions want a
    number, which is counted by a run once you have said yours.

    Exits with 0 where every answer was right, with 1 where one was not or questions were left, with 2 for wrong
    usage; then no answer is recorded.
    """
    return call("course.quiz", day, answers=answer or (), interview=interview, as_json=as_json)


def solution(
    day: DayWord = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Before the lab is passed, too; that is recorded.")] = False,
    as_json: Json = False,
) -> int:
    """Show a day's solution once its lab is passed."""
    return call("course.solution", day, anyway=anyway, as_json=as_json)


def progress(as_json: Json = False) -> int:
    """Show what you have done, and what comes next."""
    return call("course.progress", as_json=as_json)


def portfolio(
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Where; by default portfolio in your course folder.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Whose work it is.")] = None,
    as_json: Json = False,
) -> int:
    """Write a website of the labs that you have passed.

    Your own sources, as they passed, with their verdicts, what was counted beside what you had predicted, and what a
    warp touches. It opens offline, and any web server can show it as it is.
    """
    return call("course.portfolio", out=out, name=name, as_json=as_json)


def glossary(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[TERM]", help="One term; by default all of them.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Explain a term of the lessons."""
    return call("course.glossary", " ".join(words) if words else None, as_json=as_json)


def up(
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Whose requests: 0.0.0.0 for all machines, with a password.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0 takes any.")] = 8585,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    as_json: Json = False,
) -> int:
    """Open the course in a browser.

    Lessons, quizzes and labs with an editor, on the same record and the same files as in the terminal. It needs no
    network. Beyond this machine it asks for a password: the one in GRIDSTRIDE_PASSWORD, or the one set before.
    """
    return call("course.up", host=host, port=port, open_browser=not no_open, as_json=as_json)
