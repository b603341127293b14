"""What commands share."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from gridstride.commands.terminal import interrupts_held


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
