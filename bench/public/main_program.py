"""A whole program of a public collection: which files, which arguments, what it says when it is right."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

RIGHT = re.compile(
    r"(?i)test passed|\bpassed\b|result = pass|\bPASS\b|all (results|tests) (match|passed)|results match|verif\w* ok"
    r"|test completed, returned OK|Shutdown.*passed|max(imum)? error[: =]+0(\.0+)?\b|no errors|0 errors\b|correct!"
)
WRONG = re.compile(r"(?i)\bfail(ed|ure)?\b|mismatch|test fail|result = fail|incorrect|not match|CUDA error|wrong")
THEIR_ERRORS = re.compile(
    r"is of the wheel nvidia-\w+|is of (?!cuda,)\w+, which cannot be linked"
    r"|'[\w/]*(GL|X11|nvjpeg|npp|nvscibuf|freeimage|FreeImage|mpi|omp|cute|cutlass)[\w/]*\.h(pp)?' file not found"
)
THEIR_OUTPUT = re.compile(
    r"(?i)waived|waiving (the )?(execution|test|sample)"
    r"|requires? (at least|two|2|multiple) .*(gpu|device)s?|needs? .*display"
)


def c_random(count: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """What rand() gives a program behind srand(seed), or without."""
    library = ctypes.CDLL("libc.so.6")
    library.srand(seed)
    return np.array([library.rand() for _ in range(count)])


@dataclass(frozen=True)
class Main:
    """A program. `edits` are (pattern, replacement) on its own files, copied: sizes that a simulator ends in time."""

    name: str
    folder: Path
    files: tuple[str, ...]
    include: tuple[str, ...] = ()
    runs: tuple[tuple[str, ...], ...] = ((),)
    """The arguments of each run."""
    headers: tuple[str, ...] = ()
    """Included files that are edited too."""
    edits: tuple[tuple[str, str], ...] = ()
    define: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    """As in -l."""
    right: re.Pattern[str] = RIGHT
    wrong: re.Pattern[str] = WRONG
    limit: int = 120
    gpus: int = 1
    """How many it sees."""
    late: bool = False
    """Whether its host sets what a launched kernel waits for: kernels then run when the host waits for them."""
    cuda11: bool = False
    """Whether it is of CUDA 11 or earlier."""
    theirs: str = ""
    status_tells: bool = False
    """Its exit status is that of its own check."""
    unchecked: str = ""
    """Why nothing says what is right."""
    check: Callable[[Path, str], str] | None = None
    """What is wrong, from the folder that it ran in and what it said; nothing where it is right."""
    inputs: dict[str, bytes] = field(default_factory=dict)
    prepare: Callable[[Path], str | None] | None = None
    """Makes the folder that it runs in, and says what keeps it from being made."""

    @property
    def has_folder(self) -> bool:
        """Whether it runs in a folder made for it, not in that of its sources."""
        return bool(self.inputs or self.check or self.prepare)

    def order(self, work: Path) -> dict[str, Any]:
        """What run_program.py is told, with edited files in `work`."""
        files = []
        for name in (*self.files, *self.headers):
            path = self.folder / name
            if self.edits:
                text = path.read_text(encoding="utf-8", errors="replace")
                for pattern, new in self.edits:
                    text = re.sub(pattern, new, text)
                path = work / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            files.append(str(path))
        files = files[: len(self.files)]
        for name, content in self.inputs.items():
            (work / name).write_bytes(content)
        return {
            "files": files, "include": [*self.include, str(self.folder)], "runs": self.runs,
            "folder": str(work if self.has_folder else self.folder), "limit": self.limit, "std": "c++17",
            "define": self.define, "flags": self.flags, "libraries": self.libraries, "gpus": self.gpus,
            "late": self.late,
            "cuda11": self.cuda11,
        }  # fmt: skip
