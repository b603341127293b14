"""Runs the unit tests of one module in this process and appends what came of each to a file, as JSON, one a line.

Started by numba_programs.py, under `gridstride run`: MODULE FILE. Tests that the file names already are left out; one
that has begun and not ended is the one that the process ended in.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
_parser.add_argument("module")
_parser.add_argument("file", type=Path)
_options = _parser.parse_args()
MODULE, FILE = _options.module, _options.file

AGAIN = 75
STICKY = ("CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_LAUNCH_", "CUDA_ERROR_ASSERT", "CUDA_ERROR_MISALIGNED_ADDRESS")
"""Errors that stay, in what an exception says."""


class Recorder(unittest.TestResult):
    """Writes down each test when it begins and when it ends."""

    broken = False

    def write(self, test: unittest.TestCase, outcome: str, reason: str = "") -> None:
        words = {"test": test.id(), "outcome": outcome, "reason": reason, "seconds": round(time.time() - self.began, 2)}
        with FILE.open("a") as file:
            file.write(json.dumps(words) + "\n")

    def described(self, err: Any) -> str:
        return "".join(traceback.format_exception(*err))

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self.began, self.bad = time.time(), False
        self.write(test, "began")

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        if not self.bad:
            self.write(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self.began = getattr(self, "began", time.time())
        self.write(test, "skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.write(test, "passed", "expected to fail")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self.write(test, "failed", "was expected to fail")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.bad = True
        self.broken = any(name in str(err[1]) for name in STICKY)
        self.write(test, "failed", self.described(err))

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        if err[0].__name__ == "Skipped":  # pytest's, by which the project runs its tests
            self.addSkip(test, str(err[1]))
            return
        self.bad, self.began = True, getattr(self, "began", time.time())
        self.broken = any(name in str(err[1]) for name in STICKY)
        self.write(test, "failed", self.described(err))

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().stopTest(test)
        if self.broken:  # the device is of no use to those that follow
            sys.exit(AGAIN)

    def addSubTest(self, test: unittest.TestCase, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None and not self.bad:
            self.addFailure(test, err)


def tests(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Every test of a suite."""
    for each in suite:
        yield from tests(each) if isinstance(each, unittest.TestSuite) else [each]


def main() -> None:
    known = {json.loads(line)["test"] for line in FILE.read_text().splitlines()} if FILE.exists() else set()
    suite = unittest.defaultTestLoader.loadTestsFromName(MODULE)
    # classes stay together, as their fixtures are made once
    unittest.TestSuite([each for each in tests(suite) if each.id() not in known]).run(Recorder())


if __name__ == "__main__":
    main()
