"""What commands share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from gridstride.commands.terminal import interrupts_held


@pytest.fixture
def pythons_own_handler() -> Iterator[None]:
    """Whatever a server of another test has left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("pythons_own_handler")
def test_a_held_interrupt_comes_at_the_end() -> None:
    reached = []

    def interrupted() -> None:
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_hold_nothing() -> None:
    entered = []

    def enter() -> None:
        with interrupts_held():
            entered.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered


TIDY = """
import os, signal, sys
from gridstride.commands.terminal import tidy_when_terminated
signal.signal(signal.{name}, signal.{before})
with tidy_when_terminated():
    try:
        os.kill(os.getpid(), signal.{name})
        print("went on")
    finally:
        os.kill(os.getpid(), signal.{name})  # a second one does not stop the tidying
        print("tidied", flush=True)
print("outlived it")
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_what_was_begun_is_cleared_away_before_a_signal_ends_the_process(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TIDY.format(name=name, before="SIG_DFL")], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (-getattr(signal, name), "tidied\n", "")


def test_a_signal_that_was_ignored_from_the_start_stays_so_as_under_nohup() -> None:
    words = TIDY.format(name="SIGHUP", before="SIG_IGN")
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "went on\ntidied\noutlived it\n")
