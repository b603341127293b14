"""CUDA's device runtime, which kernels call to launch grids: its numbers, and the records of what they launch."""

from __future__ import annotations

from gridstride.virtual.abi.layout import Layout

FUNCTION_BASE = 0x7F00_0000_0000_0000
"""Function pointers are FUNCTION_BASE + 16 · number: never an address, so a wild one is found before it is called."""

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION = 1, 2, 9
TOO_MANY_PENDING, INVALID_FUNCTION, INVALID_DEVICE, INVALID_HANDLE = 69, 98, 101, 400
"""cudaError_t (driver_types.h)."""

TAIL, FIRE_AND_FORGET = 3, 4
"""The streams cudaStreamTailLaunch and cudaStreamFireAndForget; 0 to 2 are null, legacy and per thread."""

NO_ATTRIBUTE = -(1 << 31)

QUEUE = Layout(
    "queue",
    """count:i32 limit:i32 order:i32 streams:i32 failures:i32 names:i32 pool:i64 stride:i64 end:i64 records:pending*
    functions:callable* function_count:i64 attributes:ptr attribute_count:i64 strings:ptr failed:failure*
    shared_limit:i64 grid_limit:i64[3] block_limit:i64[3] binary:i32""",
)
"""What a grid launches: `count` records of at most `limit` taken, `order` counts what was given to streams, `pool`
holds `stride` bytes of parameters for each record. `strings` are addresses of the names, then of the texts, of `names`
errors; `binary` is the chip's capability, 90 for 9.0."""

PENDING = Layout(
    "pending",
    """kind:i32 state:i32 function:i64 grid:i32[3] block:i32[3] shared:i32 site:i32 stream:i64 order:i32 warp:i32
    lane:i32 value:i32 index:i64 target:i64 source:i64 bytes:i64""",
)
"""One launch, copy or fill that a thread gave to a stream; `index`, `warp`, `lane` and `site` say who did, where."""

KERNEL, COPY_OP, FILL_OP = range(3)
"""Values of a pending record's `kind`."""

TAKEN, QUEUED = 1, 2
"""Values of its `state`: has a parameter buffer; given to a stream."""

FAILURE = Layout("failure", "code:i32 seen:i32 site:i32 warp:i32 lane:i32 spare:i32 index:i64 function:i64", align=8)
"""An error of the device runtime; `seen` once the thread asked for it."""

MAX_FAILURES = 64
CALLABLE = Layout("callable", "entry:i32 threads:i32 shared:i32 params:i32 local:i32 registers:i32", align=8)
"""What the device runtime knows of each function by number: whether it is a kernel, and its limits and sizes."""

ERRORS = Layout("errors", "code:i32[32] failure:i32[32]")
"""Each lane's last error, and which record of failures it has there (0: none, else its number plus 1)."""

STREAM_BASE = 0x5354_0000_0000
"""Handles of streams made on the device are STREAM_BASE + 16 · number; below are those that CUDA names."""

EVENT_BASE = 0x4556_0000_0000
