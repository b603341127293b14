"""A board with a module loaded on it, as the runtime has it when a program starts."""

from __future__ import annotations

import ctypes
import os
import struct

from gridstride.programs.calls.activity import (
    Call,
)
from gridstride.programs.calls.board import Board, BoardOptions
from gridstride.programs.calls.runtime_records import (
    ORDER,
    KernelLayout,
)
from gridstride.programs.calls.status import Status
from gridstride.programs.process.reports import Reports
from gridstride.programs.timeline.model import LEGACY
from gridstride.virtual.gpu import VirtualGPU

TO_DEVICE, TO_HOST = 1, 2  # cudaMemcpyKind


PTX = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b32 counter = 5;
.visible .entry store(.param .u64 to, .param .u8 flag, .param .u32 value)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [to];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %d2, %d1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d3, %r2, 4;
  add.u64 %d2, %d2, %d3;
  st.global.u32 [%d2], %r1;
  ret;
}
"""


def fat_binary(ptx: str) -> bytes:
    text = ptx.encode() + b"\0"
    entry = struct.pack("<HHIQ", 1, 0x101, 64, len(text)).ljust(64, b"\0") + text
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry


class Setup:
    def __init__(self, device: VirtualGPU, fails: dict[Call, int] | None = None, ptx: str = PTX, gpus: int = 1,
                 memory: int | None = None) -> None:  # fmt: skip
        self.faults: list[int] = []
        self.reading, writing = os.pipe()
        self.device = device
        reports = Reports(to=writing, set_fault=self.faults.append)
        self.board = Board(device, reports, BoardOptions(fails=fails or {}, devices=gpus, memory=memory))
        self.image = ctypes.create_string_buffer(fat_binary(ptx))
        self.images = (ctypes.c_void_p * 1)(ctypes.addressof(self.image))
        self._launched: dict[bytes, KernelLayout] = {}

    def load(self, *, expect: int = Status.SUCCESS, gpu: int = 0) -> int:
        number = (ctypes.c_int64 * 1)()
        assert self.board.modules.load(self.images, 1, gpu, number) == expect
        return number[0]

    def allocate(self, nbytes: int, gpu: int = 0) -> int:
        return self.board.memory.allocate(nbytes, gpu)

    def kernel(self, name: bytes = b"store") -> KernelLayout:
        layout = (KernelLayout * 1)()
        assert self.board.modules.kernel(self.load(), name, layout) == Status.SUCCESS
        return layout[0]

    def launch(self, address: int, *, threads: int = 4, gpu: int = 0) -> int:
        return self.launch_kernel(b"store", struct.pack("<QBxxxI", address, 0, 77), threads, gpu)

    def launch_kernel(self, name: bytes, packed: bytes, threads: int, gpu: int = 0) -> int:
        kernel = self._launched[name] = self._launched.get(name) or self.kernel(name)
        space = ctypes.create_string_buffer(packed, len(packed))
        shape = (1, 1, 1, threads, 1, 1, 0, 0, 0, 0)
        order = ORDER.pack(kernel.number, *shape, 0, 0, ctypes.addressof(space), len(packed), LEGACY, gpu)
        there = ctypes.create_string_buffer(order, len(order))
        return self.board.launch(ctypes.addressof(there))

    def copy(self, nbytes: int, kind: int) -> int:
        return self.board.copy(nbytes, kind, LEGACY, 0, 0, 0, 0, 0, 0)
