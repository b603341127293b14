"""How training goes, on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from gridstride.closed_at_end import ClosedAtEnd

_QUIET = 20.0  # seconds between two plain lines


class Display(ClosedAtEnd):
    """Told of steps and validations by the training loop."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._last_printed = 0.0
        self._validation = ""

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """One line that stays."""
        if self._bar is not None:
            self._bar.console.print(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def step(self, entry: dict[str, Any], *, share: float) -> None:
        speed = (
            f"{entry['tokens_per_second']:,.0f} tok/s · MFU {entry['mfu']:.0%}" if entry["tokens_per_second"] else ""
        )
        text = f"step {entry['step']} · loss {entry['loss']:.3f}{self._validation} · {speed}"
        if sys.stderr.isatty():
            self._draw(text, share)
        elif time.monotonic() - self._last_printed > _QUIET:
            self._last_printed = time.monotonic()
            self.say(f"{share:4.0%} {text}")

    def validated(self, entry: dict[str, Any]) -> None:
        self._validation = f" · held out {entry['validation_loss']:.3f}"
        if self._bar is None:
            bits = entry.get("validation_bits_per_byte")
            also = "" if bits is None else f", {bits:.3f} bits per byte"
            self.say(f"     step {entry['step']}: held out {entry['validation_loss']:.3f} nats{also}")

    def _draw(self, text: str, share: float) -> None:
        if self._bar is None:
            self._bar = _bar()
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()
        self._bar.update(self._task, completed=share, description=text)


class Silent(Display):
    """For all ranks but the first."""

    def say(self, text: str) -> None: ...
    def step(self, entry: dict[str, Any], *, share: float) -> None: ...
    def validated(self, entry: dict[str, Any]) -> None: ...


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(24), TextColumn("{task.percentage:>3.0f}% {task.description}"))
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True)
