"""The CUDA driver as the physical GPU uses it: found lazily, every result checked, errors in plain words."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from gridstride.protocol import DeviceError, DeviceLost, LaunchError, NoDevice, OutOfDeviceMemory

_MEND = "set GRIDSTRIDE_DEVICE=virtual to run on the virtual GPU"

# Results after which the driver refuses everything in this context until the process ends, and what a kernel did.
_STICKY = {
    214: "the GPU's memory reported an uncorrectable error",
    220: "the link between GPUs failed",
    700: "a kernel read or wrote an address that is not allocated",
    702: "a kernel ran past the display driver's time limit",
    709: "the context was destroyed",
    710: "a device-side assert failed",
    714: "a kernel's call stack ran over",
    715: "a kernel met an illegal instruction",
    716: "a kernel accessed an address that is not a multiple of the access size",
    717: "a kernel used an address in the wrong memory space",
    718: "a kernel jumped to an address that is not code",
    719: "a kernel failed (for example a trap, or shared memory out of bounds)",
}
_OUT_OF_MEMORY = 2
_LAUNCH_REFUSED = {
    1: "the driver finds a launch value invalid (a .reqntid block size, a grid that its cluster does not divide)",
    701: "the block needs more registers or shared memory than a multiprocessor has",
    720: "a cooperative grid must fit on the GPU at once: use fewer blocks, or less shared memory in each",
    912: "this cluster does not fit on the GPU: use fewer blocks a cluster, or less shared memory in each",
}


@functools.cache
def driver_present() -> bool:
    """Whether a CUDA driver library is on this machine; a millisecond, nothing imported."""
    try:
        library()
    except OSError:
        return False
    return True


@functools.cache
def library() -> ctypes.CDLL:
    """The driver itself; OSError where there is none."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def current_context() -> int:
    """Address of the context that this thread works in; 0 where it has none."""
    context = ctypes.c_void_p()
    library().cuCtxGetCurrent(ctypes.byref(context))
    return context.value or 0


@functools.cache
def physical_count() -> int:
    """How many GPUs this process may use; 0 without a driver or without a GPU behind it."""
    if not driver_present():
        return 0
    driver = bindings()
    if int(driver.cuInit(0)[0]) != 0:
        return 0
    error, count = driver.cuDeviceGetCount()
    return int(count) if int(error) == 0 else 0


@functools.cache
def bindings() -> Any:
    """`cuda.bindings.driver`; NoDevice says what is missing."""
    if not driver_present():
        raise NoDevice(f"no NVIDIA driver was found on this machine; {_MEND}, or install the driver")
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise NoDevice(f"cuda-bindings cannot be imported ({error}): pip install -U cuda-bindings") from None
    return driver


@functools.cache
def core() -> Any:
    """`cuda.core` from 1.0 on; NoDevice says what is missing."""
    try:
        import cuda.core
    except ImportError as error:
        raise NoDevice(f"cuda-core cannot be imported ({error}): pip install -U cuda-core") from None
    version = cuda.core.__version__
    if int(version.split(".")[0]) < 1:
        raise NoDevice(f"cuda-core {version} is too old, 1.0 or newer is needed: pip install -U cuda-core")
    return cuda.core


def check(result: tuple[Any, ...], doing: str) -> Any:
    """Value(s) of a driver call; raises when it failed.

    Raises OutOfDeviceMemory, DeviceLost (the context is gone), LaunchError or DeviceError, with `doing` in the message.
    """
    code = int(result[0])
    if code:
        raise failure(code, doing)
    return result[1] if len(result) == 2 else result[1:]


def failure(code: int, doing: str) -> Exception:
    """The exception for a driver result other than success."""
    if code in _STICKY:
        return DeviceLost(
            f"while {doing}: {_STICKY[code]}. The CUDA context is lost and nothing more can run on this GPU in this "
            "process: restart Python. The kernel may be an earlier one, since launches return before they run; the "
            "virtual GPU names the line: with gs.use(gs.VirtualGPU(sanitize=True)): …"
        )
    if code == _OUT_OF_MEMORY:
        return OutOfDeviceMemory(f"while {doing}: the GPU is out of memory")
    name, text = _describe(code)
    if code in _LAUNCH_REFUSED and doing.startswith("launching"):
        return LaunchError(f"{doing}: {_LAUNCH_REFUSED[code]} ({name})")
    return DeviceError(f"while {doing}: {text} ({name})")


def _describe(code: int) -> tuple[str, str]:
    driver = bindings()
    try:
        result = driver.CUresult(code)
    except ValueError:  # a driver newer than the bindings
        return f"CUDA error {code}", "the driver reported an error that these bindings do not know"
    name, text = driver.cuGetErrorName(result)[1], driver.cuGetErrorString(result)[1]
    return name.decode() if name else f"CUDA error {code}", text.decode() if text else "unknown"


def newest_ptx(driver_version: int) -> tuple[int, int]:
    """Newest PTX ISA that a driver accepts; `driver_version` as cuDriverGetVersion gives it (13000 for CUDA 13.0).

    From the PTX ISA's release history: one minor step per CUDA release, but for 12.6, which brought none.
    """
    major, minor = driver_version // 1000, driver_version % 1000 // 10
    if major == 12 and minor >= 6:
        minor -= 1
    return (major - 4, minor)
