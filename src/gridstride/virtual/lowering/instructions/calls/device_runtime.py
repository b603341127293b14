"""CUDA's device runtime: what NVRTC calls for `kernel<<<grid, block>>>(…)` in a kernel, and cuda…() functions there."""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.abi.execution_records import WARP
from gridstride.virtual.abi.grid_launches import COPY_OP, ERRORS, EVENT_BASE, FILL_OP, STREAM_BASE
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.calls import read_element, write_element
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.lane_arrays import column, site_of

Areas = list[Value]
Builtin = Callable[[Lowering, Areas, Areas], None]

STREAM_FLAGS, EVENT_FLAGS = 1, 2
"""Most that the flags of a stream may be (cudaStreamNonBlocking; an H200 takes cudaStreamDefault too), and of an event
(cudaEventDisableTiming).
"""
RUNTIME_VERSION = 6000
"""What cudaRuntimeGetVersion gives on an H200 with CUDA 13.0: the device runtime has a version of its own."""


def keep_errors(cx: Lowering) -> None:
    """At a kernel's start: room on its stack for what cudaGetLastError gives, which machine code finds by the warp."""
    b = cx.b
    errors = b.alloca(f"[{ERRORS.size} x i8]", align=64)
    b.store(constant(f"<{ERRORS.size // 4} x i32>", 0), errors)
    b.put(cx.warp, WARP, "errors", errors)


def _column(cx: Lowering, area: Value, size: int, offset: int = 0) -> Value:
    return column(cx, [read_element(cx, area, offset, size)])


def _blank(cx: Lowering, type_: str) -> Value:
    at = cx.b.alloca(wide(type_), align=64)
    cx.b.store(constant(wide(type_), 0), at)
    return at


def _call(cx: Lowering, name: str, arguments: Areas, results: Areas, type_: str = "i32") -> None:
    """Calls a function of the runtime for the active lanes; its result goes to the call's."""
    pointers = _blank(cx, type_)
    cx.b.call("void", name, cx.warp, *arguments, pointers)
    if results:
        write_element(cx, results[0], 0, int(type_[1:]) // 8, cx.b.load(wide(type_), pointers))


def _int(value: int) -> Value:
    return constant("i32", value)


def parameter_buffer(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaGetParameterBufferV2(function, grid, block, dynamic shared bytes)."""
    function, grid, block, shared = areas
    words = [read_element(cx, dim, 4 * axis, 4) for dim in (grid, block) for axis in range(3)]
    dims = column(cx, [*words, read_element(cx, shared, 0, 4)])
    arguments = [site_of(cx), cx.active(), _column(cx, function, 8), dims]
    _call(cx, "gs_launch_buffer", arguments, results, "i64")


def launch(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaLaunchDeviceV2(buffer, stream)."""
    columns = [_column(cx, area, 8) for area in areas]
    _call(cx, "gs_launch", [site_of(cx), cx.active(), *columns], results)


def copy(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaMemcpyAsync(target, source, bytes, kind, stream)."""
    target, source, size, _, stream = areas
    _memory(cx, COPY_OP, (target, source, size, stream), _blank(cx, "i32"), results)


def fill(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaMemsetAsync(target, value, bytes, stream)."""
    target, value, size, stream = areas
    _memory(cx, FILL_OP, (target, target, size, stream), _column(cx, value, 4), results)


def _memory(cx: Lowering, kind: int, wide_areas: tuple[Value, ...], values: Value, results: Areas) -> None:
    target, source, size, stream = (_column(cx, area, 8) for area in wide_areas)
    arguments = [site_of(cx), cx.active(), _int(kind), target, source, values, size, stream]
    _call(cx, "gs_launch_memory", arguments, results)


def _last(reset: int) -> Builtin:
    return lambda cx, areas, results: _call(cx, "gs_launch_error", [cx.active(), _int(reset)], results)


def _text(part: int) -> Builtin:
    return lambda cx, areas, results: _call(
        cx, "gs_launch_text", [cx.active(), _int(part), _column(cx, areas[0], 4)], results, "i64"
    )


def _handle(base: int, most: int) -> Builtin:
    def make(cx: Lowering, areas: Areas, results: Areas) -> None:
        address, flags = _column(cx, areas[0], 8), _column(cx, areas[1], 4)
        arguments = [site_of(cx), cx.active(), constant("i64", base), _int(most), address, flags]
        _call(cx, "gs_launch_handle", arguments, results)

    return make


def attribute(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaDeviceGetAttribute(int *value, attribute, device)."""
    address, which, device = areas
    columns = [_column(cx, address, 8), _column(cx, which, 4), _column(cx, device, 4)]
    _call(cx, "gs_launch_attribute", [site_of(cx), cx.active(), *columns], results)


def function_attributes(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaFuncGetAttributes(cudaFuncAttributes *, function)."""
    columns = [_column(cx, area, 8) for area in areas]
    _call(cx, "gs_launch_function", [site_of(cx), cx.active(), *columns], results)


def _tells(value: int) -> Builtin:
    """A function that writes one int, which is the same for all: the device's number, how many there are."""

    def tell(cx: Lowering, areas: Areas, results: Areas) -> None:
        b = cx.b
        addresses, site = _column(cx, areas[0], 8), site_of(cx)
        b.call("void", "gs_launch_tell", cx.warp, site, cx.active(), addresses, _int(value))
        _nothing(cx, areas, results)

    return tell


def _nothing(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaSuccess: streams and events are kept in the order of the queue, so waiting needs nothing more."""
    if results:
        write_element(cx, results[0], 0, 4, constant(wide("i32"), 0))


def malloc(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaMalloc(void **, size): of the device heap, as malloc."""
    addresses, sizes, pointers = _column(cx, areas[0], 8), _column(cx, areas[1], 8), _blank(cx, "i64")
    cx.b.call("void", "gs_malloc", cx.warp, site_of(cx), cx.active(), sizes, pointers)
    _call(cx, "gs_launch_malloc", [site_of(cx), cx.active(), addresses, pointers], results)


def free(cx: Lowering, areas: Areas, results: Areas) -> None:
    """cudaFree(pointer)."""
    cx.b.call("void", "gs_free", cx.warp, site_of(cx), cx.active(), _column(cx, areas[0], 8))
    _nothing(cx, areas, results)


_FUNCTIONS: dict[str, Builtin] = {
    "GetParameterBufferV2": parameter_buffer, "LaunchDeviceV2": launch, "LaunchDeviceV2_ptsz": launch,
    "GetLastError": _last(1), "PeekAtLastError": _last(0), "GetErrorName": _text(0), "GetErrorString": _text(1),
    "MemcpyAsync": copy, "MemcpyAsync_ptsz": copy, "MemsetAsync": fill, "MemsetAsync_ptsz": fill,
    "StreamCreateWithFlags": _handle(STREAM_BASE, STREAM_FLAGS), "StreamDestroy": _nothing,
    "EventCreateWithFlags": _handle(EVENT_BASE, EVENT_FLAGS), "EventDestroy": _nothing,
    "EventRecord": _nothing, "EventRecord_ptsz": _nothing, "EventRecordWithFlags": _nothing,
    "EventRecordWithFlags_ptsz": _nothing, "StreamWaitEvent": _nothing, "StreamWaitEvent_ptsz": _nothing,
    "DeviceGetAttribute": attribute, "FuncGetAttributes": function_attributes,
    "GetDevice": _tells(0), "GetDeviceCount": _tells(1), "RuntimeGetVersion": _tells(RUNTIME_VERSION),
    "Malloc": malloc, "Free": free,
}  # fmt: skip

BUILTINS: dict[str, Builtin] = {f"__cudaCDP2{name}": function for name, function in _FUNCTIONS.items()}
