"""The headers of a program's host part, parsed once: what cudafe++ writes begins with them, 80,000 lines, every time.

clang keeps the parsed beginning of a file (`-x c++-header`) and goes on from there. The beginning is told by its text,
so that a file which includes something else gets one of its own. They outlive the process, as other caches do: the
first save of the next sitting is judged as quickly as the others. What is missing or spoilt costs time, nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from gridstride.compiler.cache import write_atomically
from gridstride.programs.toolchain.nvcc import CompilationPlan, Execute, Step

_MARKER = re.compile(rb'^# \d+ "([^"\n]*)"', re.M)
_WORTH_IT = 200_000  # bytes of text that is parsed in less time than a precompiled header is loaded
_MOST = 6  # of 16 MB each


class PrecompiledHeaders:
    """Kept in a folder that compilers may read and not write; it may be shared with other processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._one_at_a_time = threading.Lock()

    def used_in(self, plan: CompilationPlan, source: str, execute: Execute, folder: Path) -> CompilationPlan:
        """The plan with its last step going on from what is kept, once cudafe++ has been run; as it was where the
        file does not begin with headers, or clang cannot keep them.
        """
        last = plan.steps[-1]
        host = next((step.word_after("--gen_c_file_name") for step in plan.steps if step.tool == "cudafe++"), None)
        if host is None or host not in last.words or not Path(host).is_file():
            return plan
        text = Path(host).read_bytes()
        end = end_of_headers(text, source)
        if end < _WORTH_IT:
            return plan
        with self._one_at_a_time:
            precompiled = self._precompiled_header(header_words(last.words, host), text[:end], plan, execute, folder)
        if precompiled is None:
            return plan
        remainder = Path(host).with_suffix(".rest.cpp")
        remainder.write_bytes(text[end:])
        index = last.words.index(host)
        words = (*last.words[:index], "-include-pch", str(precompiled), str(remainder), *last.words[index + 1 :])
        return CompilationPlan((*plan.steps[:-1], Step(words, last.after)), plan.environment)

    def _precompiled_header(
        self, words: Sequence[str], text: bytes, plan: CompilationPlan, execute: Execute, folder: Path
    ) -> Path | None:
        key = sha256(b"\0".join([*map(os.fsencode, words), text])).hexdigest()[:32]
        headers, precompiled = self.folder / f"{key}.hpp", self.folder / f"{key}.pch"
        try:
            if not precompiled.is_file():
                if not headers.is_file():
                    write_atomically(headers, text)  # which clang looks for again, as it was, when it goes on from them
                target = folder / "headers.pch"
                status, _ = execute([*words, str(headers), "-o", str(target)], folder, plan.environment)
                # A beginning that clang does not take by itself is compiled with the rest: nothing is lost but time.
                write_atomically(precompiled, target.read_bytes() if not status and target.is_file() else b"")
                self._remove_oldest()
            os.utime(precompiled)
            return precompiled if precompiled.stat().st_size else None
        except OSError:  # no room, no right to write, a file in the folder's place, or another process has removed it
            return None

    def forget(self, plan: CompilationPlan) -> None:
        """Remove what a plan went on from: compilers took the whole text, and not what lies here of it."""
        words = plan.steps[-1].words
        if "-include-pch" in words:
            with contextlib.suppress(OSError):
                Path(words[words.index("-include-pch") + 1]).unlink()

    def _remove_oldest(self) -> None:
        files = sorted(self.folder.glob("*.pch"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[:-_MOST]:
            with contextlib.suppress(OSError):
                file.unlink()
                file.with_suffix(".hpp").unlink()


def end_of_headers(text: bytes, source: str) -> int:
    """Where the file's own text begins behind that of headers, by the markers of lines; 0 where there are none."""
    name, in_headers = os.fsencode(source), False
    for marker in _MARKER.finditer(text):
        if marker[1] == name and in_headers:
            return marker.start()
        in_headers |= marker[1] != name and not marker[1].startswith(b"<")
    return 0


def header_words(words: Sequence[str], host: str) -> list[str]:
    """How a header is compiled for a file that is compiled so."""
    options = [word for word in words if word not in (host, "-c")]
    index = options.index("-o")
    del options[index : index + 2]
    language = options.index("-x") + 1
    return [*options[:language], "c++-header", *options[language + 1 :]]
