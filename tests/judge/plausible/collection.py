"""The plausible kernels on disk: each with its problem, and the wrong ones with their fault and how it may be found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class PlausibleKernel:
    """One file. A right kernel has no fault and no kinds."""

    path: Path
    problem: str
    fault: str = ""
    kinds: frozenset[str] = frozenset()  # kinds of findings that name the fault

    @property
    def name(self) -> str:
        """Problem and file, for a test's name."""
        return f"{self.problem}/{self.path.name}"


def right_kernels(collection: str = "known") -> Iterator[PlausibleKernel]:
    """Unusual kernels that are right for every input that their problem allows."""
    for path in _files(collection, "right"):
        yield PlausibleKernel(path, path.parent.name)


def wrong_kernels(collection: str = "known") -> Iterator[PlausibleKernel]:
    """Kernels that are right for many inputs, and wrong or undefined for some that their problem allows."""
    for path in _files(collection, "wrong"):
        yield PlausibleKernel(path, path.parent.name, _header(path, "fault"), frozenset(_header(path, "kinds").split()))


def _files(collection: str, verdict: str) -> list[Path]:
    """Those of one collection: the known one, or `unseen`, whose author had not seen the judge."""
    folder = HERE if collection == "known" else HERE / collection
    return sorted(p for p in (folder / verdict).glob("*/*") if p.suffix in (".cu", ".py"))


def _header(path: Path, key: str) -> str:
    """The value of a line `// key: …` (`# key: …` in Python); ValueError if there is none."""
    line = re.search(rf"^(?://|#) {key}: (.+)$", path.read_text(), re.MULTILINE)
    if line is None:
        raise ValueError(f"{path} has no line `{key}: …`")
    return line[1].strip()
