"""What commands share: words on stdout, JSON, progress on stderr, and the error for wrong usage.

Imports nothing heavy, as the command line itself imports it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.plain import plain, plain_json

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 120  # columns where nobody says how wide the reader is


class WrongUse(Exception):
    """Something the user asked for that cannot be; the message names it and the way out."""


def within(option: str, value: float | None, least: float, most: float) -> None:
    """WrongUse that names the option where its value is out of range; None stands for an option that was not given."""
    if value is not None and not least <= value <= most:
        raise WrongUse(f"{option} {_plain(value)} must be from {_plain(least)} to {_plain(most)}")


def _plain(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def refuse_what_never_ends(file: str | Path) -> None:
    """WrongUse for a pipe or a device: it would be waited for, or read until memory is full."""
    path = Path(file)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise WrongUse(f"{file} is a pipe or a device: write what is in it to a file first")


def stdout() -> Console:
    """The terminal, with colours where it has them."""
    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        """Every text, in a table's cells too, comes through here on its way to the terminal."""

        def render_str(self, text: str, **how: Any) -> Text:
            return super().render_str(plain(text), **how)

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return PlainConsole(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


@contextmanager
def paged(console: Console) -> Iterator[None]:
    """Inside, what is printed goes through the reader's pager (PAGER, or less) where a person sits at a terminal."""
    if not (console.is_terminal and sys.stdin.isatty()):
        yield
        return
    os.environ.setdefault("LESS", "FRX")  # as git has it: colours as they are, and no waiting for what fits the screen
    with console.pager(styles=True):
        yield


def emit(thing: dict[str, Any], *, verbatim: bool = False) -> None:
    """The one object that `--json` gives. `verbatim`: texts are what was asked for: escaped, and not changed."""
    import json

    print(json.dumps(thing if verbatim else plain_json(thing), indent=2, allow_nan=False))


def print_stderr(text: str) -> None:
    """A line on stderr."""
    print(plain(text), file=sys.stderr, flush=True)


@contextmanager
def kernels_print_on_stderr() -> Iterator[None]:
    """Inside, what kernels print goes to stderr: stdout is for the verdict, and with `--json` for nothing else."""
    with redirect_stdout(sys.stderr):
        yield


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Inside, a Ctrl-C waits for the end: while a large library is imported, it could be lost in its callbacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    previous_handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if held:
        raise KeyboardInterrupt


class _Terminated(BaseException):
    """A signal that asks this process to end."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def tidy_when_terminated() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP end the process as they do, but only when what was begun has been cleared away."""
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread() or not numbers:
        yield
        return

    def leave(number: int, _: object) -> None:
        for handled in numbers:  # once is enough
            signal.signal(handled, signal.SIG_IGN)
        raise _Terminated(number)

    for number in numbers:
        signal.signal(number, leave)
    signal_number = 0
    try:
        yield
    except _Terminated as terminated:
        signal_number = terminated.number
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
        if signal_number:
            os.kill(os.getpid(), signal_number)


@contextmanager
def interrupts_end_at_once() -> Iterator[None]:
    """Inside, a Ctrl-C ends the process and no traceback is shown: nothing has begun yet, only imports."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)


class ProgressDisplay(ClosedAtEnd):
    """What is being done, on stderr: a bar on a terminal, plain lines elsewhere."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._step = ""
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._start_bar()
        return self

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def step(self, text: str) -> None:
        """Say what begins now; what was said before is done."""
        self._step = plain(text)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, description=self._step)
        else:
            print_stderr(f"[{self._done + 1}/{self._total}] {text}")
        self._done += 1

    def detail(self, text: str) -> None:
        """Say what is being done within the step."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._step}: {plain(text)}")
        else:
            print_stderr(f"      {text}")

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn())
        self._bar = Bar(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=self._total)
        self._bar.start()
