"""What a process uses, as the system says it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gridstride.judge.sandbox.limits import seconds_without_processor

needs_schedstat = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system has no schedstat")
SPIN = """
import os, time
os.sched_setaffinity(0, {CPU})
end = time.monotonic() + 60
while time.monotonic() < end:
    pass
"""


@contextmanager
def process(text: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", text]) as child:
        try:
            yield child
        finally:
            child.kill()


@needs_schedstat
def test_what_shares_a_processor_is_without_one_for_a_while() -> None:
    spin = SPIN.replace("CPU", str(min(os.sched_getaffinity(0))))
    with ExitStack() as stack:
        first, _ = (stack.enter_context(process(spin)) for _ in range(2))
        end = time.monotonic() + 60
        while seconds_without_processor(first.pid) < 0.2 and time.monotonic() < end:
            time.sleep(0.05)
        assert seconds_without_processor(first.pid) >= 0.2


def test_what_sleeps_lacks_no_processor_and_what_is_gone_says_nothing() -> None:
    with process("import time; time.sleep(60)") as child:
        time.sleep(1.0)
        assert seconds_without_processor(child.pid) < 30
    assert seconds_without_processor(child.pid) == 0
