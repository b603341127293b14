"""The virtual GPU of a program's process, as the order that the process is given says."""

from __future__ import annotations

import ctypes
from typing import Any

from gridstride.programs.calls.board import NOTHING_SHARED, Board, BoardOptions, VendorLibraries
from gridstride.programs.order.host_memory import RuntimeHost
from gridstride.programs.process.reports import Reports
from gridstride.virtual.gpu import VirtualGPU


def board_of(order: dict[str, Any], runtime: ctypes.CDLL, reports: Reports) -> Board:
    """A device and the board that our libcudart calls from now on."""
    limits = {name: order[name] for name in ("memory", "time_limit") if name in order}
    device = VirtualGPU(order["chip"], sanitize=order["sanitize"], seed=order["seed"], **limits)
    vendors = VendorLibraries(order["vendor_runtime"], order["vendor_nvrtc"], order["vendor_jit_link"])
    options = BoardOptions(vendors, order["fails"], order["idle"], order["gpus"], order["gpu_memory"])
    board = Board(device, reports, options)
    board.record.shared = order.get("shared", NOTHING_SHARED)
    if order["tells_calls"]:
        board.tell_calls()
    if order["late"]:
        board.be_late()
    if order["copy_log"]:
        board.log_copies(order["copy_log"])
    if device.sanitize and not (order["late"] or order["predict"]):
        board.watch_order(RuntimeHost(runtime))
    if order["predict"]:
        board.predict(shown=order["timeline"], pictured=order["pictures"])
    runtime.gs_set_board(ctypes.byref(board.record))
    runtime.gs_set_device_name(device.properties.name.encode())
    return board
