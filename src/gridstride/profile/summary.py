"""A profile as it is shown: what ran and how it ended, its view, and what was found."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridstride.profile.account import GPU_BUSY
from gridstride.profile.findings import ProfileFinding, findings
from gridstride.profile.limits import device_name
from gridstride.profile.operators import OperatorRow, by_family
from gridstride.profile.trace import Trace
from gridstride.profile.view import View, milliseconds, view
from gridstride.virtual.observe.figures import percent

_LISTED = 25  # operators in JSON and on the page


@dataclass(frozen=True, slots=True)
class Ran:
    """What was profiled: its name, how it ended ("" where the trace was given), and what it said then."""

    name: str
    end: str = ""
    said: str = ""

    @property
    def failed(self) -> bool:
        """Whether the program itself did not end well."""
        return self.end in ("raised", "exited")


@dataclass(frozen=True, slots=True)
class ProgramProfile:
    """Everything that is said of one program's time."""

    ran: Ran
    device: str
    view: View
    findings: tuple[ProfileFinding, ...]

    @property
    def before(self) -> int:
        """Nanoseconds of the recording before the window: loading, warming up."""
        return self.view.account.start - self.view.trace.start

    @property
    def after(self) -> int:
        """Nanoseconds of the recording after the window."""
        return self.view.trace.end - self.view.account.end

    @property
    def closing(self) -> str:
        """The whole in a sentence or two."""
        account = self.view.account
        if self.view.trace.on_gpu:
            busy = sum(account.share(key) for key in GPU_BUSY)
            sentence = f"The GPU works {percent(busy)} of the time"
        else:
            works = account.share("operators") + account.share("copies")
            sentence = f"PyTorch's operators work {percent(works)} of the time"
        most = self.findings[0] if self.findings else None
        return (
            f"{sentence}. {f'Most would be won here: {most.title}.' if most else 'Nothing stands out to be changed.'}"
        )

    @property
    def cut(self) -> str:
        """What was cut off, "" where nothing was."""
        cut = self.view.trace.about.get("gridstride", {}).get("cut")
        if not cut:
            return ""
        return (
            f"recorded {cut['seconds']:.2g} s of the {cut['asked']:g} s: {cut['events']:,} events are all that a "
            "recording takes, the rest of the loop was cut off"
        )

    def window(self) -> str:
        """Which part of the recording the shares are of."""
        v = self.view
        if not v.steps.count:
            return f"{milliseconds(v.wall)}, the whole recording (no loop was found in it)"
        median = f"{milliseconds(statistics.median(v.steps.durations))} each in the median"
        edges = f"; {milliseconds(self.before)} before and {milliseconds(self.after)} after them are left out"
        return f"{v.steps.count} steps in {milliseconds(v.wall)}, {median} (by {v.steps.by}){edges}"

    def json(self) -> dict[str, Any]:
        """As `--json` gives it; times in milliseconds, shares from 0 to 1."""
        v = self.view
        return {
            "program": self.ran.name,
            "ended": self.ran.end or None,
            "device": self.device,
            "cut": self.cut or None,
            "recorded_ms": _ms(v.trace.end - v.trace.start),
            "before_ms": _ms(self.before),
            "after_ms": _ms(self.after),
            "wall_ms": _ms(v.wall),
            "steps": {"count": v.steps.count, "by": v.steps.by or None, "ms": [*map(_ms, v.steps.durations)]},
            "account": [
                {"category": c.key, "name": c.name, "ms": _ms(v.account.time(c.key)), "share": v.account.share(c.key)}
                for c in v.account.parts
            ],
            "gaps": self._gaps(),
            "findings": [asdict(finding) for finding in self.findings],
            "families": [
                {"family": kind.key, "calls": calls, "ms": _ms(time)} for kind, calls, time in by_family(v.table)
            ],
            "operators": [_row(row) for row in v.table[:_LISTED]],
            "limits": v.machine.source if v.machine else None,
        }  # fmt: skip

    def _gaps(self) -> dict[str, Any] | None:
        longest = self.view.gaps
        if longest is None:
            return None
        return {
            "count": len(longest.times),
            "median_us": longest.median / 1e3,
            "classes": [{"length": name, "count": n, "ms": _ms(time)} for name, n, time in longest.classes],
            "host": {name: _ms(time) for name, time in longest.host.items()},
        }


def summarise(trace: Trace, ran: Ran) -> ProgramProfile:
    """Everything that is to be said of a trace."""
    profile_view = view(trace)
    return ProgramProfile(ran, device_name(trace), profile_view, tuple(findings(profile_view)))


def worth_showing(profile: ProgramProfile, share: float = 0.02, most: int = 12) -> list[OperatorRow]:
    """The operators with a share of all operators' time that is worth a line."""
    table = profile.view.table
    total = sum(row.time for row in table)
    return [row for row in table if row.time >= share * total][:most]


def named(path: str) -> str:
    """A program's or a trace's name for a heading."""
    return Path(path).name


def _ms(nanoseconds: float) -> float:
    return round(nanoseconds / 1e6, 6)


def _row(row: OperatorRow) -> dict[str, Any]:
    return {
        "operator": row.operator, "shapes": row.shapes, "family": row.family.key, "dtype": row.dtype,
        "calls": row.calls, "ms": _ms(row.time), "share_of_limit": row.share_of_limit, "bound": row.bound or None,
        "ladder": row.ladder, "kernels": list(row.kernels[:3]),
    }  # fmt: skip
