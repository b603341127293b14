"""What C and Python pass each other: the records and callbacks of runtime/runtime.h."""

from __future__ import annotations

import ctypes
import struct
from typing import Any, ClassVar

_I64, _U64, _INT, _PTR, _TEXT = ctypes.c_int64, ctypes.c_uint64, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p


class KernelLayout(ctypes.Structure):
    """runtime.h has the same."""

    _fields_: ClassVar = [
        ("number", _I64), ("count", _I64), ("offsets", _PTR), ("sizes", _PTR), ("bytes", _I64), ("static_shared", _I64),
        ("local", _I64), ("constants", _I64), ("max_threads", _I64), ("cluster", _I64 * 3),
    ]  # fmt: skip


ORDER = struct.Struct("<q3I3I3IIQqQqQq")
"""`Launch` of runtime.h: kernel, grid, block, cluster, cooperative, shared bytes, which multiprocessors, address and
bytes of parameters, the stream's number, and the GPU's.
"""
TAIL = struct.Struct("<QqQq")


CALLBACKS: dict[str, Any] = {
    "allocate": ctypes.CFUNCTYPE(_U64, _U64, _I64),
    "release": ctypes.CFUNCTYPE(_INT, _U64),
    "load": ctypes.CFUNCTYPE(_INT, ctypes.POINTER(_PTR), _I64, _I64, ctypes.POINTER(_I64)),
    "unload": ctypes.CFUNCTYPE(None, _I64),
    "kernel": ctypes.CFUNCTYPE(_INT, _I64, _TEXT, ctypes.POINTER(KernelLayout)),
    "variable": ctypes.CFUNCTYPE(_INT, _I64, _TEXT, ctypes.POINTER(_U64), ctypes.POINTER(_U64)),
    "share": ctypes.CFUNCTYPE(None, _I64, _TEXT, _U64),
    "launch": ctypes.CFUNCTYPE(_INT, _PTR),
    "called": ctypes.CFUNCTYPE(_INT, _TEXT),
    "written": ctypes.CFUNCTYPE(None, _U64, _U64),
    "holds": ctypes.CFUNCTYPE(_I64, _U64, _U64),
    "attribute": ctypes.CFUNCTYPE(_INT, _I64, ctypes.POINTER(_I64)),
    "registers": ctypes.CFUNCTYPE(_I64, _I64),
    "active_blocks": ctypes.CFUNCTYPE(_I64, _I64, _I64, _I64),
    "active_clusters": ctypes.CFUNCTYPE(_I64, _I64, _I64, _I64, _I64, _I64),
    "partition": ctypes.CFUNCTYPE(_I64, ctypes.POINTER(ctypes.c_uint32), _I64),
    "limit": ctypes.CFUNCTYPE(_INT, _I64, _I64, ctypes.POINTER(_U64)),
    "free_memory": ctypes.CFUNCTYPE(None, _I64, ctypes.POINTER(_U64), ctypes.POINTER(_U64)),
    "peer_access": ctypes.CFUNCTYPE(_INT, _I64, _I64, _I64),
    "create_pool": ctypes.CFUNCTYPE(_I64, _U64),
    "destroy_pool": ctypes.CFUNCTYPE(None, _I64),
    "pooled": ctypes.CFUNCTYPE(_INT, _I64, _U64, _U64),
    "imported": ctypes.CFUNCTYPE(None, _I64, _U64),
    "trim_pool": ctypes.CFUNCTYPE(None, _I64, _U64),
    "pool_attribute": ctypes.CFUNCTYPE(_INT, _I64, _I64, _I64, ctypes.POINTER(_U64)),
    "pool_access": ctypes.CFUNCTYPE(None, _I64, _I64, _I64),
    "texture": ctypes.CFUNCTYPE(_INT, _PTR, _PTR, ctypes.POINTER(_U64)),
    "surface": ctypes.CFUNCTYPE(_INT, _PTR, ctypes.POINTER(_U64)),
    "destroy_object": ctypes.CFUNCTYPE(_INT, _U64),
    "failed": ctypes.CFUNCTYPE(None, _TEXT, _TEXT, _TEXT, _TEXT, _U64, ctypes.POINTER(_U64), _I64, _I64),
    "finish": ctypes.CFUNCTYPE(_INT),
    "settle": ctypes.CFUNCTYPE(None),
    "copy": ctypes.CFUNCTYPE(_INT, _U64, _I64, _U64, _I64, _I64, _U64, _U64, _I64, _I64),
    "waited": ctypes.CFUNCTYPE(None, _I64, _U64),
    "graph_call": ctypes.CFUNCTYPE(None, _I64, _I64),
    "object": ctypes.CFUNCTYPE(None, _I64, _I64),
}
"""In the order of `Board` in runtime.h."""

CODE_CALLBACKS: dict[str, Any] = {
    "code": ctypes.CFUNCTYPE(_INT, _PTR, _U64, _I64, ctypes.POINTER(_I64), _PTR, _U64),
    "link_code": ctypes.CFUNCTYPE(_INT, ctypes.POINTER(_I64), _I64, ctypes.POINTER(_I64), _PTR, _U64),
    "code_image": ctypes.CFUNCTYPE(_INT, _I64, ctypes.POINTER(_U64), ctypes.POINTER(_U64)),
    "load_code": ctypes.CFUNCTYPE(_INT, _I64, _I64, ctypes.POINTER(_I64), _PTR, _U64),
    "entry": ctypes.CFUNCTYPE(_U64, _I64, _I64),
    "tensor_map": ctypes.CFUNCTYPE(_INT, _PTR),
}
"""What comes next: code that the program gives while it runs, and tensor maps."""

TIMELINE_CALLBACKS: dict[str, Any] = {
    "add_stream": ctypes.CFUNCTYPE(None, _U64, _I64, _I64, _I64),
    "fill": ctypes.CFUNCTYPE(None, _U64, _U64, _U64, _I64),
    "host_function": ctypes.CFUNCTYPE(None, _U64),
    "spent": ctypes.CFUNCTYPE(None, _I64),
    "record": ctypes.CFUNCTYPE(None, _U64, _U64),
    "follow": ctypes.CFUNCTYPE(None, _U64, _U64),
    "pool_memory": ctypes.CFUNCTYPE(None, _U64, _U64, _U64, _I64),
    "is_done": ctypes.CFUNCTYPE(_I64, _I64, _U64),
    "elapsed_ms": ctypes.CFUNCTYPE(ctypes.c_double, _U64, _U64),
    "begin_graph": ctypes.CFUNCTYPE(None, _U64, _I64),
    "node": ctypes.CFUNCTYPE(None, _U64, ctypes.POINTER(_U64), _I64),
    "end_graph": ctypes.CFUNCTYPE(None),
    "now_us": ctypes.CFUNCTYPE(ctypes.c_double),
}
"""The rest of it: called only where the timeline is modelled, or the device late."""

LATE_CALLBACKS: dict[str, Any] = {
    "put_off": ctypes.CFUNCTYPE(None, _U64, _U64, _U64),
    "give_back": ctypes.CFUNCTYPE(None, _U64, _U64, _U64, _U64),
}
"""Called only where the device is late."""

ORDER_CALLBACKS: dict[str, Any] = {
    "using": ctypes.CFUNCTYPE(None, _I64),
    "rows": ctypes.CFUNCTYPE(None, _U64, _U64, _U64, _U64, _I64),
    "host_returned": ctypes.CFUNCTYPE(None),
    "touched": ctypes.CFUNCTYPE(_I64, _U64, _U64, _I64, ctypes.POINTER(_U64), _I64),
    "gone_frame": ctypes.CFUNCTYPE(None, _U64, _U64),
    "value_written": ctypes.CFUNCTYPE(None, _U64, _U64, _U64, _U64),
    "value_waited": ctypes.CFUNCTYPE(None, _U64, _U64, _U64, _U64, _U64),
    "source_read": ctypes.CFUNCTYPE(None),
}
"""Called only where the order of work is watched (stream_order.py)."""


class BoardRecord(ctypes.Structure):
    """`Board` of runtime.h."""

    _fields_: ClassVar = [
        ("arena", _U64), ("arena_bytes", _U64), ("vendor_runtime", _TEXT), ("vendor_nvrtc", _TEXT),
        ("vendor_jit_link", _TEXT), ("watches", _I64), ("models", _I64), ("orders", _I64), ("tells_calls", _I64),
        ("devices", _I64), ("peers", _I64), ("shared", _I64),
        *CALLBACKS.items(), *CODE_CALLBACKS.items(), *TIMELINE_CALLBACKS.items(),
        *LATE_CALLBACKS.items(), *ORDER_CALLBACKS.items(),
    ]  # fmt: skip
