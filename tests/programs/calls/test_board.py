"""What our libcudart calls, called as C calls it: needs no compiler."""

from __future__ import annotations

import ctypes
import os
import re
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.programs.fake_host import FakeHost

from gridstride.programs.calls.runtime_records import (
    CALLBACKS,
    CODE_CALLBACKS,
    LATE_CALLBACKS,
    ORDER,
    ORDER_CALLBACKS,
    TIMELINE_CALLBACKS,
    BoardRecord,
    KernelLayout,
)
from gridstride.programs.calls.status import Status
from gridstride.programs.run import reported
from gridstride.programs.timeline.model import LEGACY
from gridstride.programs.toolchain.runtime_functions import RUNTIME
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.machine.memory.owners import EVERYONE

from .boards import PTX, TO_DEVICE, TO_HOST, Setup, fat_binary


def test_callbacks_stand_in_the_order_of_the_c_record() -> None:
    text = (RUNTIME / "runtime.h").read_text()
    record = text[text.index("const char *vendor_runtime") : text.index("} Board;")]
    tables = (CALLBACKS, CODE_CALLBACKS, TIMELINE_CALLBACKS, LATE_CALLBACKS, ORDER_CALLBACKS)
    assert re.findall(r"\(\*(\w+)\)", record) == [name for table in tables for name in table]


def test_records_have_the_sizes_that_c_gives_them() -> None:
    assert ORDER.size == 8 + 10 * 4 + 6 * 8
    assert ctypes.sizeof(KernelLayout) == 12 * 8
    assert ctypes.sizeof(BoardRecord) == 8 * (
        12 + len({**CALLBACKS, **CODE_CALLBACKS, **TIMELINE_CALLBACKS, **LATE_CALLBACKS, **ORDER_CALLBACKS})
    )


def test_a_launch_runs_with_parameters_where_the_ptx_declares_them(setup: Setup) -> None:
    address = setup.allocate(16)
    assert setup.launch(address) == Status.SUCCESS
    host = np.empty(4, np.uint32)
    setup.device.copy_out(host, address)
    assert host.tolist() == [77] * 4


def test_attributes_of_a_pool_are_those_that_cuda_has(setup: Setup) -> None:
    setup.board.memory.pooled(0, setup.allocate(100), 100)
    value = (ctypes.c_uint64 * 1)(1 << 30)
    assert setup.board.memory.pool_attribute(0, 4, 1, value) == Status.SUCCESS
    seen = {}
    for attribute in range(4, 10):
        if setup.board.memory.pool_attribute(0, attribute, 0, value) == Status.SUCCESS:
            seen[attribute] = value[0]
    assert seen == {4: 1 << 30, 5: 2 << 20, 6: 2 << 20, 7: 512, 8: 512}
    assert setup.board.memory.pool_attribute(0, 5, 1, value) == Status.INVALID_VALUE


def test_a_kernels_layout_is_that_of_its_ptx(setup: Setup) -> None:
    layout = setup.kernel()
    read = ctypes.c_uint32 * layout.count
    assert read.from_address(layout.offsets)[:] == [0, 8, 12]
    assert read.from_address(layout.sizes)[:] == [8, 1, 4]
    assert layout.bytes == 16


def test_a_variable_has_address_and_size(setup: Setup) -> None:
    address, size = (ctypes.c_uint64 * 1)(), (ctypes.c_uint64 * 1)()
    assert setup.board.modules.variable(setup.load(), b"counter", address, size) == Status.SUCCESS
    host = np.empty(1, np.uint32)
    setup.device.copy_out(host, address[0])
    assert (size[0], host[0]) == (4, 5)


def test_an_unknown_variable_is_an_invalid_symbol(setup: Setup) -> None:
    unused = (ctypes.c_uint64 * 1)()
    assert setup.board.modules.variable(setup.load(), b"nothing", unused, unused) == Status.INVALID_SYMBOL


def test_an_unknown_kernel_is_an_invalid_device_function(setup: Setup) -> None:
    assert setup.board.modules.kernel(setup.load(), b"nothing", (KernelLayout * 1)()) == Status.INVALID_DEVICE_FUNCTION


def test_a_fault_is_the_status_of_hardware_and_is_reported_with_its_place(setup: Setup, capfd: Any) -> None:
    address = setup.allocate(8)
    assert setup.launch(address) == Status.SUCCESS  # a launch returns before the kernel has run
    assert setup.faults == [Status.ILLEGAL_ADDRESS]
    assert "out of bounds in kernel store" in capfd.readouterr().err
    assert b'"kind": "out_of_bounds"' in os.read(setup.reading, 4096)


def test_what_only_the_sanitizer_sees_is_no_fault(capfd: Any) -> None:
    setup = Setup(VirtualGPU(memory=64 << 20, workers=1, sanitize=True))
    address = setup.allocate(64)
    assert setup.launch(address, threads=16) == Status.SUCCESS
    setup.board.finish()
    assert setup.faults == []
    said = capfd.readouterr().err
    assert "leak: an allocation of 64 bytes" in said
    assert ".py" not in said  # no line of ours is to blame


def test_memory_that_is_used_up_is_address_zero(setup: Setup) -> None:
    assert setup.allocate(1 << 40) == 0


def test_a_modules_variables_are_not_the_programs_to_free(setup: Setup) -> None:
    address, size = (ctypes.c_uint64 * 1)(), (ctypes.c_uint64 * 1)()
    setup.board.modules.variable(setup.load(), b"counter", address, size)
    assert setup.board.memory.release(address[0]) == Status.INVALID_VALUE


def test_gpus_share_the_memory_out_and_one_does_not_take_the_others() -> None:
    setup = Setup(VirtualGPU(memory=64 << 20, workers=1), gpus=4)
    left, total = (ctypes.c_uint64 * 1)(), (ctypes.c_uint64 * 1)()
    assert setup.allocate(10 << 20, gpu=1)
    assert setup.allocate(10 << 20, gpu=1) == 0
    setup.board.memory.free_memory(1, left, total)
    assert (left[0], total[0]) == (6 << 20, 16 << 20)
    setup.board.memory.free_memory(2, left, total)
    assert (left[0], total[0]) == (16 << 20, 16 << 20)


def test_a_gpu_may_have_less_memory_than_the_device_and_pinned_memory_is_no_part_of_it() -> None:
    setup = Setup(VirtualGPU(memory=64 << 20, workers=1), memory=1 << 20)
    left, total = (ctypes.c_uint64 * 1)(), (ctypes.c_uint64 * 1)()
    assert setup.allocate((1 << 20) + 1) == 0
    first = setup.allocate(768 << 10)
    assert setup.allocate(512 << 10) == 0
    assert setup.allocate(8 << 20, gpu=EVERYONE)
    setup.board.memory.free_memory(0, left, total)
    assert (left[0], total[0]) == (256 << 10, 1 << 20)
    setup.board.memory.release(first)
    assert setup.allocate(1 << 20)


def test_a_modules_variables_need_memory_too() -> None:
    setup = Setup(VirtualGPU(memory=64 << 20, workers=1), memory=1)
    setup.load(expect=Status.MEMORY_ALLOCATION)


def test_more_memory_than_there_is_is_said_and_not_given(capfd: Any) -> None:
    setup = Setup(VirtualGPU(memory=64 << 20, workers=1), memory=65 << 20)
    assert "67108864 bytes of memory here, not the 68157440 asked for" in capfd.readouterr().err
    assert setup.allocate((64 << 20) + 1) == 0


@pytest.mark.parametrize("mode", ["fast", "sanitized", "predicted"])
def test_another_gpus_memory_is_a_fault_until_access_is_given(mode: str, capfd: Any) -> None:
    setup = Setup(VirtualGPU(memory=64 << 20, workers=1, sanitize=mode == "sanitized"), gpus=2)
    if mode == "predicted":
        setup.board.predict()
    address = setup.allocate(64)
    setup.board.memory.peer_access(1, 0, 1)
    assert setup.launch(address, gpu=1) == Status.SUCCESS
    assert setup.faults == []
    setup.board.memory.peer_access(1, 0, 0)
    assert setup.launch(address, gpu=1) == Status.SUCCESS
    assert setup.faults == [Status.ILLEGAL_ADDRESS]
    assert "no peer access in kernel store: write of 4 bytes at byte 0 of 64 bytes of GPU 0" in capfd.readouterr().err
    assert b'"kind": "no_peer_access"' in os.read(setup.reading, 4096)


def test_threads_may_launch_and_load_and_allocate_on_all_gpus_at_once() -> None:
    setup = Setup(VirtualGPU(memory=64 << 20, workers=1), gpus=4)
    setup.launch(setup.allocate(64))

    def work(gpu: int) -> None:
        for _ in range(50):
            address = setup.allocate(64, gpu)
            assert setup.launch(address, gpu=gpu) == Status.SUCCESS
            setup.board.modules.unload(setup.load(gpu=gpu))
            assert setup.board.memory.release(address) == Status.SUCCESS

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(work, gpu) for gpu in range(4)]
        assert [each.result(timeout=60) for each in done] == [None] * 4
    assert setup.faults == []


def test_an_unexpected_exception_is_a_status_and_a_line(setup: Setup, capfd: Any) -> None:
    assert setup.board.record.kernel(99, b"nothing", None) == Status.UNKNOWN  # no module has the number
    assert "kernel failed: KeyError" in capfd.readouterr().err


def test_device_code_without_ptx_is_no_kernel_image(setup: Setup, capfd: Any) -> None:
    setup.image = ctypes.create_string_buffer(fat_binary(PTX).replace(struct.pack("<HH", 1, 0x101), b"\2\0\1\1"))
    setup.images[0] = ctypes.addressof(setup.image)
    setup.load(expect=Status.NO_KERNEL_IMAGE)
    assert "there is no PTX" in capfd.readouterr().err


def test_limits_are_kept_and_an_unknown_one_refused(setup: Setup) -> None:
    value = (ctypes.c_uint64 * 1)(1 << 16)
    assert setup.board.limits.limit(1, 1, value) == Status.SUCCESS
    value[0] = 0
    assert (setup.board.limits.limit(1, 0, value), value[0]) == (Status.SUCCESS, 1 << 16)
    assert setup.board.limits.limit(99, 0, value) == Status.UNSUPPORTED_LIMIT


def test_copies_take_time_where_it_is_predicted(setup: Setup) -> None:
    assert setup.copy(1 << 20, TO_DEVICE) == Status.SUCCESS
    setup.board.finish()
    assert setup.board.activity.as_dict()["modelled_us"] == 0
    setup.board.predict()
    assert setup.board.record.models == 1
    setup.copy(55_000_000, TO_DEVICE)
    setup.board.finish()
    link = setup.device.model.timeline
    expected = link["copy_us"] + 55_000_000 / (1e3 * link["link_gb_per_s"])
    assert setup.board.activity.as_dict()["to_device_us"] == pytest.approx(expected)


def test_whoever_keeps_what_copies_carry_is_not_the_host(setup: Setup, monkeypatch: Any) -> None:
    host, guarded_meanwhile = FakeHost(), []
    board = setup.board
    board.watch_order(host)
    there, managed = setup.allocate(4096), setup.allocate(4096, EVERYONE)
    log = SimpleNamespace(copied=lambda *_: guarded_meanwhile.append(host.ranges))
    monkeypatch.setattr(board, "_copies", log)
    assert board.copy(4096, TO_HOST, LEGACY, 0, 0, managed, there, 0, 0) == Status.SUCCESS
    assert host.ranges
    assert board.copy(4096, TO_DEVICE, LEGACY, 0, 0, there, managed, 0, 0) == Status.SUCCESS
    assert guarded_meanwhile == [(), ()]


def test_an_equal_launch_takes_the_time_of_the_one_that_was_counted(setup: Setup) -> None:
    setup.board.predict(shown=True)
    for _ in range(3):
        assert setup.launch(setup.allocate(64)) == Status.SUCCESS  # other addresses, the same numbers
    assert setup.launch(setup.allocate(64), threads=8) == Status.SUCCESS
    setup.board.finish()
    timeline = reported(os.read(setup.reading, 1 << 16)).timeline
    assert (timeline["launches_counted"], timeline["launches_reused"]) == (2, 2)
    lengths = [round(each["end_us"] - each["start_us"], 2) for each in timeline["operations"]]
    assert len(set(lengths[:3])) == 1


def test_a_fault_is_found_where_time_is_predicted_too(setup: Setup) -> None:
    setup.board.predict()
    setup.launch(setup.allocate(8))
    assert setup.faults == [Status.ILLEGAL_ADDRESS]


def test_c_files_are_shipped() -> None:
    assert {each.name for each in Path(RUNTIME).glob("*.c")} >= {"memory.c", "launch.c", "registration.c"}
