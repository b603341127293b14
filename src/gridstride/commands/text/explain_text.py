"""An explanation in a terminal: verdict, limiter, shares, occupancy, lines, what to try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gridstride.commands.text.findings import finding_lines, warning_lines
from gridstride.virtual.observe.figures import aligned, percent, short, times

if TYPE_CHECKING:
    from rich.console import Console

    from gridstride.judge.explain.advice import Advice
    from gridstride.judge.explain.explanation import KernelExplanation, KernelProfile
    from gridstride.judge.explain.lines import LineProfile
    from gridstride.judge.explain.nsight import Measured

_BUSIEST = 16
_NOTHING = 0.0005  # of the time
_WIDEST = 56  # characters of a source line
_HEADER = (
    "line",
    "source",
    "of time",
    "weighs on",
    "instr.",
    "lanes",
    "sectors/req.",
    "ideal",
    "passes/req.",
    "conflicts",
)


def show(console: Console, explanation: KernelExplanation, device: str) -> None:
    """The whole of it."""
    _verdict(console, explanation, device)
    for line in warning_lines(explanation.result):
        console.print(line)
    if explanation.profile is None:
        console.print("\nnothing was counted: the kernel could not be run to an end")
        return
    console.print()
    for line in profile_text(explanation.profile):
        console.print(line)
    if explanation.measured is not None:
        console.print()
        for line in measured_text(explanation.measured, explanation.profile):
            console.print(line)


def _verdict(console: Console, explanation: KernelExplanation, device: str) -> None:
    result, problem = explanation.result, explanation.folder.problem.name
    if result.verdict == "pass":
        console.print(f"pass: {result.rung} computes {problem} on {device}: {result.cases} cases", style="green")
        return
    console.print(f"FAIL: {result.rung} does not compute {problem} on {device}", style="bold red")
    for finding in result.findings:
        console.print()
        for line in finding_lines(finding, explanation.file.source):
            console.print(line)
    if explanation.profile:
        console.print("\nWhat follows is of a kernel that is wrong: mend that first.", style="bold")


def profile_text(profile: KernelProfile) -> list[str]:
    """Limiter first, then shares, rooflines, occupancy, lines, advice."""
    if not profile.complete:
        return ["the run was stopped: these counts are of what ran until then, and no time follows from them", "",
                str(profile.occupancy), "", *_lines(profile)]  # fmt: skip
    return [
        *_limiter(profile), "", *_shares(profile), "", *_roofline(profile), str(profile.occupancy), "",
        *_lines(profile), "", *_advice(profile),
    ]  # fmt: skip


def measured_text(measured: Measured, profile: KernelProfile) -> list[str]:
    """Nsight Compute's figures beside the virtual GPU's, each called what it is."""
    if measured.problem:
        return [f"{measured.problem}."]
    counted = profile.run.counters
    rows = [
        (name.replace("_", " "), short(count), short(getattr(counted, name)) if hasattr(counted, name) else "")
        for name, count in measured.counts.items() if count
    ]  # fmt: skip
    busy = sorted(measured.shares.items(), key=lambda item: -item[1])[:5]
    return [
        f"measured by Nsight Compute: limited by {measured.limiter}; "
        + ", ".join(f"{name} {percent(share)} busy" for name, share in busy),
        *aligned(("at the observed size", "measured by Nsight Compute", "counted on the virtual GPU"), rows),
        *_measured_lines(measured, profile),
    ]


def _measured_lines(measured: Measured, profile: KernelProfile) -> list[str]:
    """What ncu says of each source line: samples at the timed size, counts at the observed one."""
    code = {line.number: line.code.strip() for line in profile.lines}
    busiest = sorted(measured.lines, key=lambda number: -measured.lines[number].get("sample_share", 0.0))[:_BUSIEST]
    rows = [(str(number), _cut(code.get(number, "")), *_measured_cells(measured.lines[number]))
            for number in sorted(busiest)]  # fmt: skip
    if not rows:
        return []
    head = ("line", "source", "of samples", "instr.", "sectors", "ideal", "passes", "ideal")
    return [
        "",
        "by line, measured by Nsight Compute (instructions are of machine code)",
        *aligned(head, rows, left=(1,)),
    ]


def _measured_cells(figures: Mapping[str, float]) -> tuple[str, ...]:
    def pair(count: str, ideal: str) -> tuple[str, str]:
        return (short(figures[count]), short(figures.get(ideal, 0.0))) if figures.get(count) else ("", "")

    return (percent(figures.get("sample_share", 0.0)), short(figures.get("instructions", 0.0)),
            *pair("global_sectors", "global_ideal_sectors"),
            *pair("shared_wavefronts", "shared_ideal_wavefronts"))  # fmt: skip


def _cut(code: str) -> str:
    return code if len(code) <= _WIDEST else f"{code[: _WIDEST - 1]}…"


def _limiter(profile: KernelProfile) -> list[str]:
    predicted = profile.predicted
    sampled = profile.run.counters.sampled
    counted = "" if profile.run.counters.exact else f"; {sampled[0]} of {sampled[1]} blocks counted"
    time = f"{profile.ms:.4g} ms measured, {predicted.ms:.3g} ms predicted" if profile.measured else (
        f"{predicted.ms:.3g} ms predicted"
    )  # fmt: skip
    return [f"limited by {predicted.limiter}: {time} at the timed size (counted on the virtual GPU{counted})"]


def _shares(profile: KernelProfile) -> list[str]:
    of = "measured" if profile.measured else "predicted"
    rows = [
        (resource.name, percent(resource.share), f"{resource.ms:.3g} ms")
        for resource in profile.resources
        if resource.share > 0.005
    ]
    return [*aligned(("resource", "of speed of light", "needs alone"), rows), f"shares of the {of} time"]


def _roofline(profile: KernelProfile) -> list[str]:
    r = profile.rooflines
    if not r.flops:
        return ["no floating-point arithmetic: the memories alone bound it", ""]
    rows = [
        (
            level.name,
            short(level.bytes) + "B",
            f"{level.intensity:.3g}",
            f"{short(level.roof)}FLOP/s",
            percent(r.flops_per_s / level.roof),
        )
        for level in r.levels
    ]
    head = f"roofline: {short(r.flops_per_s)}FLOP/s, {percent(r.flops_per_s / r.peak)} of the {r.peak_of} peak"
    return [head, *aligned(("memory", "bytes", "FLOP/byte", "allows", "reached"), rows), ""]


def _lines(profile: KernelProfile) -> list[str]:
    busiest = sorted(profile.lines, key=lambda line: -line.share)[:_BUSIEST]
    shown = sorted(busiest, key=lambda line: line.number)
    if not shown:
        return ["no line information: nothing can be said of single lines"]
    left_out = len(profile.lines) - len(shown)
    more = [f"… and {left_out} lines that take less"] if left_out else []
    return [*aligned(_HEADER, [_cells(line) for line in shown], left=(1, 3)), *more]


def _cells(line: LineProfile) -> tuple[str, ...]:
    c = line.counters
    code = _cut(line.code.strip())
    sectors = f"{c.sectors_per_request:.1f}" if c.global_requests else ""
    # Lanes that read the same word take fewer than their bytes side by side would.
    ideal = f"{min(c.global_ideal_sectors, c.global_sectors) / c.global_requests:.1f}" if c.global_requests else ""
    passes = f"{c.shared_wavefronts / c.shared_requests:.1f}" if c.shared_requests else ""
    conflicts = short(c.bank_conflicts) if c.shared_requests else ""
    share, part = percent(line.share) if line.share else "", line.part if line.share > _NOTHING else ""
    return (str(line.number), code, share, part, short(c.instructions), percent(c.lane_share), sectors, ideal, passes,
            conflicts)  # fmt: skip


def _advice(profile: KernelProfile) -> list[str]:
    if not profile.advice:
        message = "nothing to try that the model promises anything of"
        return [f"{message}: {percent(profile.resources[0].share)} of what {profile.resources[0].name} can do"
                if profile.resources else message]  # fmt: skip
    near = f" (its counts are most like {profile.nearest.name}'s)" if profile.nearest else ""
    shown = [f"what to try{near}"]
    for number, advice in enumerate(profile.advice, 1):
        shown += [f"{number}. {sentence(advice)}"]
    return shown


def sentence(advice: Advice) -> str:
    """One piece of advice: line, cause, remedy, predicted gain, rung."""
    also = f" (and {', '.join(map(str, advice.also))})" if advice.also else ""
    where = f"line {advice.line}{also}: " if advice.line is not None else ""
    rung = f"; rung {advice.rung} does it ({advice.rung_title})" if advice.rung else ""
    return f"{where}{advice.cause}. Try: {advice.remedy}. Predicted {times(advice.gain)} faster{rung}."
