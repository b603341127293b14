"""Findings on stderr, and as JSON to who started the program."""

from __future__ import annotations

import json
import os
from typing import Any

from gridstride.programs.process.reports import Reports
from gridstride.virtual.findings.finding import KernelFault, KernelFinding


def reports() -> tuple[Reports, int]:
    reading, writing = os.pipe()
    return Reports(to=writing, set_fault=lambda status: None), reading


def test_a_finding_of_one_line_is_reported_once(capfd: Any) -> None:
    made, reading = reports()
    race = KernelFinding("race", "two threads", "k", "a.cu", 3)
    made.findings(KernelFault((race, KernelFinding("race", "two others", "k", "a.cu", 3))))
    made.findings(KernelFault((race,)))
    assert capfd.readouterr().err == "gridstride: a.cu:3: race in kernel k: two threads\n"
    assert len(os.read(reading, 4096).splitlines()) == 1


def test_two_leaks_without_a_line_are_two_findings() -> None:
    made, reading = reports()
    made.finding(KernelFinding("leak", "64 bytes", "", address=4096))
    made.finding(KernelFinding("leak", "64 bytes", "", address=8192))
    assert [json.loads(line)["address"] for line in os.read(reading, 4096).splitlines()] == [4096, 8192]


def test_without_a_reader_findings_are_only_printed(capfd: Any) -> None:
    assert Reports(to=None, set_fault=lambda status: None).finding(KernelFinding("race", "two threads", "k"))
    assert "two threads" in capfd.readouterr().err
