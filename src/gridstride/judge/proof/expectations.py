"""Whether a kernel of wrong/ says what must be found in it, in words that a verdict can have."""

from __future__ import annotations

import difflib
from pathlib import Path

from gridstride.judge.finding_kinds import unknown_kind
from gridstride.judge.header import Expectation, HeaderError, KernelFile, read_kernel
from gridstride.judge.results.evidence import PATTERNS


def read(path: Path) -> KernelFile | str:
    """The kernel, or why its header cannot be used."""
    try:
        return read_kernel(path)
    except HeaderError as error:
        return f"line {error.line}: {error.message}"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


def misread(expect: Expectation | None) -> str:
    """What is wrong with a header's `expect`, and what belongs there; empty where nothing is."""
    if expect is None:
        return "there is no line `// expect: …`: say what must be found in it, such as `// expect: wrong_result`"
    if unknown := unknown_kind(expect.kind):
        return f"expect: {unknown}"
    if expect.pattern is None or (expect.kind == "wrong_result" and expect.pattern in PATTERNS):
        return ""
    if expect.kind != "wrong_result":
        return f"expect: only wrong_result has a pattern, {expect.kind} {expect.pattern} is none: leave it out"
    near = difflib.get_close_matches(expect.pattern, PATTERNS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PATTERNS)}"
    return f"expect: {expect.pattern!r} is no pattern of wrong elements: {hint}"
