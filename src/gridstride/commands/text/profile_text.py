"""A profile in a terminal: where the time goes, what to change, which operators take it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from gridstride.profile.findings.finding import sentence
from gridstride.profile.summary import ProgramProfile, worth_showing
from gridstride.profile.view import milliseconds, short_path
from gridstride.virtual.observe.figures import aligned, percent

if TYPE_CHECKING:
    from rich.console import Console

    from gridstride.profile.findings import ProfileFinding
    from gridstride.profile.operators import OperatorRow

_WIDTH = 116
_BAR = 30  # characters of a whole


def show(console: Console, profile: ProgramProfile) -> None:
    """The whole of it."""
    console.print(f"{profile.ran.name} on {profile.device}: {profile.window()}", style="bold")
    if profile.cut:
        console.print(profile.cut)
    console.print()
    for line in _account(profile):
        console.print(line)
    console.print()
    for number, finding in enumerate(profile.findings, 1):
        _finding(console, number, finding)
    if not profile.findings:
        console.print("nothing stands out to be changed")
    console.print()
    for line in _operators(profile):
        console.print(line)
    _steps(console, profile)


def _account(profile: ProgramProfile) -> list[str]:
    account, steps = profile.view.account, profile.view.steps.count
    rows = []
    for category in account.parts:
        time, share = account.time(category.key), account.share(category.key)
        if time:
            duration = milliseconds(time / steps) if steps else milliseconds(time)
            bar = "█" * round(_BAR * share)
            rows.append((category.name, percent(share), duration, f"{bar or '▏'}  {category.meaning}"))
    return aligned(("where the time goes", "share", "per step" if steps else "time", ""), rows, left=(0, 3))


def _finding(console: Console, number: int, finding: ProfileFinding) -> None:
    console.print(f"{number}. {sentence(finding.title)}", style="bold")
    sentences = [f"{evidence}." for evidence in finding.evidence]
    if finding.line:
        sentences.append(f"At {short_path(finding.line)}.")
    for text in (" ".join(sentence(text) for text in sentences), f"Try: {finding.remedy}."):
        console.print(textwrap.fill(text, _WIDTH, initial_indent="   ", subsequent_indent="   "))
    console.print(f"   At most {percent(finding.gain)} of the time would be gone.")


def _operators(profile: ProgramProfile) -> list[str]:
    view = profile.view
    what = "time of its kernels" if view.trace.on_gpu else "own time"
    rows = [_cells(profile, row) for row in worth_showing(profile)]
    header = ("operator", "shapes", "calls", what, "share", "each", "of limit", "bound by", "ladder")
    source = f"limits: {view.machine.source}" if view.machine else _no_limits(profile)
    return [*aligned(header, rows, left=(0, 1, 7, 8)), source]


def _no_limits(profile: ProgramProfile) -> str:
    if profile.view.trace.on_gpu:
        return f"limits: none are known of {profile.device} (known chips: `gridstride chips`)"
    return "limits: none, as the trace was not recorded by `gridstride profile`, which measures its CPU"


def _cells(profile: ProgramProfile, row: OperatorRow) -> tuple[str, ...]:
    limit = row.share_of_limit
    near = "" if limit is None else "100 % +" if limit > 1 else percent(limit)
    return (_cut(row.operator, 44), _cut(row.shapes, 36), f"{row.calls:,}", milliseconds(row.time),
            percent(profile.view.share(row.time)), milliseconds(row.mean), near, row.bound,
            row.ladder or "")  # fmt: skip


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _steps(console: Console, profile: ProgramProfile) -> None:
    """A word on a step that took much longer than the others."""
    lengths = profile.view.steps.durations
    typical = lengths[profile.view.steps.typical] if lengths else 0
    if lengths and max(lengths) > 2 * typical:
        longest = lengths.index(max(lengths))
        console.print(f"\nthe longest step is number {longest + 1}: {milliseconds(max(lengths))}")
