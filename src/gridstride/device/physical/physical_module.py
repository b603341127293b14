"""PTX on the physical GPU: the driver's compiler, its log, and launches from packed parameters."""

from __future__ import annotations

import ctypes
import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gridstride.device.launch.entries import entry_parameters
from gridstride.device.physical.driver import bindings, failure
from gridstride.device.physical.linker import link_module, needs_runtime
from gridstride.device.physical.physical_launch import Frame, attributes
from gridstride.protocol import DeviceError, Dim3, LinkError, LinkInput, ParameterLayout, Shape, Stream

if TYPE_CHECKING:
    from gridstride.device.physical.physical_gpu import PhysicalGPU

_LOG_BYTES = 16 * 1024
_UNSUPPORTED_PTX_VERSION = 222
_NO_BINARY_FOR_GPU = 209
_PORTABLE_CLUSTER = 8  # larger clusters need the kernel's consent (CUDA C++ programming guide, thread block clusters)
_ALL_SHARED = 100  # per cent of what L1 and shared memory have together
_VERSION = re.compile(r"^(\s*\.version\s+)(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)


class PhysicalModule:
    """PTX loaded in the GPU's context; unloaded with the last kernel that stands on it."""

    def __init__(self, device: PhysicalGPU, pieces: Sequence[LinkInput]) -> None:
        self._device = device
        if len(pieces) > 1 or needs_runtime(pieces):
            self._module = link_module(device, pieces, [_lowered(p.ptx, device.newest_ptx) for p in pieces])
        else:
            self._module = _compile(device, pieces[0].ptx, pieces[0].filename)
        weakref.finalize(self, _unload, device, self._module).atexit = False
        self.kernels: Mapping[str, PhysicalKernel] = {
            name: PhysicalKernel(self, device, name, self._function(name), parameters)
            for piece in pieces
            for name, parameters in entry_parameters(piece.ptx).items()
        }

    def global_address(self, name: str) -> tuple[int, int]:
        """Address and size in bytes of a module-scope variable; KeyError when there is none."""
        with self._device.current():
            error, address, size = bindings().cuModuleGetGlobal(self._module, name.encode())
        if int(error):
            raise KeyError(name)
        return int(address), int(size)

    def _function(self, name: str) -> Any:
        return self._device.check(bindings().cuModuleGetFunction(self._module, name.encode()), f"finding kernel {name}")


class PhysicalKernel:
    """One entry of a `PhysicalModule`."""

    def __init__(
        self,
        module: PhysicalModule,
        device: PhysicalGPU,
        name: str,
        function: Any,
        parameters: tuple[ParameterLayout, ...],
    ) -> None:
        self._module = module  # keeps the code loaded
        self._device = device
        self._function = function
        self._handle = ctypes.c_void_p(int(function))
        self._frames = threading.local()
        self._opted_in = 0
        self._any_cluster = False
        self._beside = False
        self.name = name
        self.parameters = parameters
        attribute = bindings().CUfunction_attribute
        self.static_shared = self._attribute(attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
        self.max_threads = self._attribute(attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        self.registers = self._attribute(attribute.CU_FUNC_ATTRIBUTE_NUM_REGS)
        self.local_bytes = self._attribute(attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
        self.required_cluster = self._required_cluster(attribute)

    def __repr__(self) -> str:
        return f"<kernel {self.name} on {self._device.name}, {self.registers} registers>"

    def launch(self, shape: Shape, packed: bytes, stream: Stream | None = None) -> None:
        """Queue the kernel on `stream` (None: the current one) and return; the driver copies `packed`."""
        device = self._device
        handle = device.current_stream() if stream is None else stream.handle
        if device.is_current:
            self._queue(shape, packed, handle)
        else:
            with device.current():
                self._queue(shape, packed, handle)

    def _queue(self, shape: Shape, packed: bytes, stream: int) -> None:
        cluster = shape.cluster
        if shape.shared or shape.dependent or cluster or self.required_cluster:
            self._prepare(shape.shared, cluster or self.required_cluster, shape.dependent)
            cluster = None if cluster == self.required_cluster else cluster  # else the kernel's own
        try:
            frame: Frame = self._frames.value
        except AttributeError:
            frame = self._frames.value = Frame(self.parameters)
        more = attributes(shape.cooperative, shape.dependent, cluster)
        code = frame.launch(self._handle, shape, packed, stream, more)
        if code:
            what = f"launching {self.name} with grid {shape.grid}, block {shape.block}, {shape.shared} dynamic bytes"
            self._device.check((code,), what)

    def _required_cluster(self, attribute: Any) -> Dim3 | None:
        """What __cluster_dims__ says; None where it says nothing."""
        x, y, z = (
            self._attribute(getattr(attribute, f"CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_{axis}"))
            for axis in ("WIDTH", "HEIGHT", "DEPTH")
        )
        return (x, max(y, 1), max(z, 1)) if x else None

    def _prepare(self, shared: int, cluster: Dim3 | None, dependent: bool) -> None:
        """Opt in to more shared memory or larger clusters than every kernel may have, or to room beside another one."""
        attribute = bindings().CUfunction_attribute
        limit = self._device.properties.shared_per_block
        if shared > self._opted_in and self.static_shared + shared > limit:
            self._set(attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            self._opted_in = shared
        if cluster and not self._any_cluster and cluster[0] * cluster[1] * cluster[2] > _PORTABLE_CLUSTER:
            self._set(attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
            self._any_cluster = True
        if dependent and not self._beside:
            # A multiprocessor divides its memory into L1 and shared anew only when it is empty.
            self._set(attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, _ALL_SHARED)
            self._beside = True

    def _attribute(self, which: Any) -> int:
        return int(self._device.check(bindings().cuFuncGetAttribute(which, self._function), f"inspecting {self.name}"))

    def _set(self, which: Any, value: int) -> None:
        result = bindings().cuFuncSetAttribute(self._function, which, value)
        self._device.check(result, f"launching {self.name} with {which.name} = {value}")


def _compile(device: PhysicalGPU, ptx: str, filename: str) -> Any:
    code, module, log = _jit(ptx)
    if code == _UNSUPPORTED_PTX_VERSION:
        # NVRTC writes its own newest PTX version whatever the kernel uses; a driver of an older minor release refuses
        # that line alone, and names any instruction that it really lacks.
        code, module, log = _jit(_lowered(ptx, device.newest_ptx))
    if not code:
        return module
    target = _wrong_target(ptx, device)
    if target or code == _NO_BINARY_FOR_GPU:
        own = device.properties.arch
        raise DeviceError(f"{filename}: this PTX is for {target or 'another chip'}, {device.name} needs {own} or older")
    unresolved = re.findall(r"Unresolved extern \w+ '([^']+)'", log)
    if unresolved:
        raise LinkError(
            f"linking {filename}: {', '.join(unresolved)} used and not defined here; gs.cuda([…]) or gs.link(…) brings "
            "in the file that defines it"
        )
    error = failure(code, f"compiling {filename} for {device.name}")
    if isinstance(error, DeviceError) and log:
        raise type(error)(f"{error}\n{log}")
    raise error


def _jit(ptx: str) -> tuple[int, Any, str]:
    """Driver's result code, the module, and the compiler's error log."""
    driver = bindings()
    log = bytearray(_LOG_BYTES)
    option = driver.CUjit_option
    options = [
        option.CU_JIT_ERROR_LOG_BUFFER,
        option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        option.CU_JIT_GENERATE_LINE_INFO,
    ]
    error, module = driver.cuModuleLoadDataEx(ptx.encode() + b"\0", len(options), options, [log, _LOG_BYTES, 1])
    return int(error), module, log.split(b"\0", 1)[0].decode(errors="replace").strip()


def _lowered(ptx: str, newest: tuple[int, int]) -> str:
    """`ptx` with its .version line brought down to `newest`, if it is above."""
    match = _VERSION.search(ptx)
    if match is None or (int(match[2]), int(match[3])) <= newest:
        return ptx
    return f"{ptx[: match.start(2)]}{newest[0]}.{newest[1]}{ptx[match.end() :]}"


def _wrong_target(ptx: str, device: PhysicalGPU) -> str | None:
    """The PTX's target when this GPU cannot run it: a newer chip's, or another chip's own ("a") one."""
    match = _TARGET.search(ptx)
    parts = re.fullmatch(r"sm_(\d+)([af]?)", match[1]) if match else None
    if match is None or parts is None:
        return None
    capability = device.properties.compute_capability
    own = capability[0] * 10 + capability[1]
    wrong = int(parts[1]) > own or (parts[2] == "a" and int(parts[1]) != own)
    return match[1] if wrong else None


def _unload(device: PhysicalGPU, module: Any) -> None:
    with suppress(DeviceError), device.current():  # a lost context has taken the code with it
        bindings().cuModuleUnload(module)
