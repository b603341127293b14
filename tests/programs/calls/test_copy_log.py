"""What a program's copies carried comes out of the log as it went in, whatever a stranger has appended to it."""

from __future__ import annotations

import ctypes
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gridstride.programs.calls.copy_log import CopyLog, read_copy_log
from gridstride.programs.timeline.model import HOST_TO_HOST, TO_DEVICE, TO_HOST, WITHIN


def test_copies_between_host_and_device_are_kept(tmp_path: Path) -> None:
    log = CopyLog(str(tmp_path / "log"))
    there, back = ctypes.create_string_buffer(b"there"), ctypes.create_string_buffer(b"back")
    log.copied(5, TO_DEVICE, ctypes.addressof(there))
    log.copied(5, WITHIN, ctypes.addressof(there))
    log.copied(5, HOST_TO_HOST, ctypes.addressof(there))
    log.copied(4, TO_HOST, ctypes.addressof(back))
    copied = read_copy_log((tmp_path / "log").read_bytes())
    assert (copied.to_device, copied.to_host, copied.is_whole) == ((b"there",), (b"back",), True)


def test_rows_of_a_box_are_not_kept_and_said_to_be_missing(tmp_path: Path) -> None:
    log = CopyLog(str(tmp_path / "log"))
    log.copied(4096, TO_HOST, 0)
    log.copied(0, TO_HOST, 0)
    copied = read_copy_log((tmp_path / "log").read_bytes())
    assert (copied.to_host, copied.is_whole) == ((), False)


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(raw: bytes) -> None:
    copied = read_copy_log(raw)
    assert sum(map(len, (*copied.to_device, *copied.to_host))) <= len(raw)
