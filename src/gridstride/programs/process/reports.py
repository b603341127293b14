"""What the process of a program says besides what the program says: findings, on stderr and to who started it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gridstride.plain import plain
from gridstride.virtual.findings.finding import KernelFault, KernelFinding

ACTIVITY = "activity"
"""The key of the line that says what the program did."""
TIMELINE = "timeline"
"""The key of the line with its modelled timeline."""
LAUNCHES = "launches_pictured"
"""The key of the line with its launches, line by line of their sources."""


class Reports:
    """Lines on stderr; findings also as JSON, one a line, on the descriptor `to`, where there is one."""

    def __init__(self, *, to: int | None, set_fault: Callable[[int], object]) -> None:
        self._to = to
        self._set_fault = set_fault
        self._reported: set[tuple[object, ...]] = set()

    @property
    def alone(self) -> bool:
        """Whether nobody listens who would make an exit status of what was found."""
        return self._to is None

    @property
    def any(self) -> bool:
        """Whether anything was found."""
        return bool(self._reported)

    def say(self, text: str) -> None:
        """A line on stderr."""
        sys.stderr.write(f"gridstride: {plain(text)}\n")
        sys.stderr.flush()

    def set_fault(self, status: int) -> None:
        """The runtime gives this status from now on."""
        self._set_fault(status)

    def findings(self, fault: KernelFault) -> None:
        """All findings of a launch, with the source lines where they are at hand."""
        new = [self.finding(finding) for finding in fault.findings]
        if any(new):
            for note in getattr(fault, "__notes__", ()):
                sys.stderr.write(plain(note).rstrip() + "\n")
            sys.stderr.flush()

    def activity(self, counts: Mapping[str, float]) -> None:
        """What the program did, for who started it; nothing on stderr."""
        if self._to is not None:
            os.write(self._to, json.dumps({ACTIVITY: dict(counts)}).encode() + b"\n")

    def timeline(self, timeline: Mapping[str, Any]) -> None:
        """When it did so, where that is modelled; a pipe takes so much only while somebody reads."""
        if self._to is not None:
            _write_all(self._to, json.dumps({TIMELINE: timeline}).encode() + b"\n")

    def launches(self, pictured: Sequence[Mapping[str, Any]]) -> None:
        """What its launches did, line by line, where that was asked for."""
        if self._to is not None:
            _write_all(self._to, json.dumps({LAUNCHES: pictured}).encode() + b"\n")

    def finding(self, finding: KernelFinding) -> bool:
        """One finding, once for each line of the source; False where it was reported before."""
        if finding.line is not None:
            key: tuple[object, ...] = finding.kind, finding.kernel, finding.file, finding.line
        else:
            key = finding.kind, finding.kernel, finding.address, finding.message
        if key in self._reported:
            return False
        self._reported.add(key)
        self.say(str(finding))
        if self._to is not None:
            os.write(self._to, json.dumps(asdict(finding)).encode() + b"\n")
        return True


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
