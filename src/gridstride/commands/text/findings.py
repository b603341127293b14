"""A finding in a line of text, and with the source line it points at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridstride.judge.verdict import Finding, RungResult


def finding_line(finding: Finding) -> str:
    """Kind, line and message on one line."""
    location = f", line {finding.line}" if finding.line else ""
    message = finding.message
    if finding.kind == "compile_error":  # the rest is source lines and carets, and further errors
        message = message.partition("\n")[0]
    return f"{finding.kind.replace('_', ' ')}{location}: {_one_line(message)}"


def finding_lines(finding: Finding, source: str) -> list[str]:
    """The message as it is, then the source line with its number, then who was there."""
    location = f", line {finding.line}" if finding.line else ""
    shown = [f"{finding.kind.replace('_', ' ')}{location}: {finding.message}"]
    lines = source.splitlines()
    # The compiler's messages bring their own source line and caret.
    if finding.line and finding.kind != "compile_error" and finding.line <= len(lines):
        shown.append(f"{finding.line:>6} | {lines[finding.line - 1].rstrip()}")
    if finding.thread:
        who = ", ".join(
            f"{name} {tuple(coordinates)}" for name, coordinates in finding.thread.items() if coordinates is not None
        )
        shown.append(f"       | {who}")
    return shown


def warning_lines(result: RungResult) -> list[str]:
    """What the compiler warned of, each with its source line, a line left free before it."""
    return [line for warning in result.warnings for line in ("", *warning.render().splitlines())]


def _one_line(message: str) -> str:
    return " ".join(message.split())
