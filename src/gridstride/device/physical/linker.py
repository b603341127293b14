"""Linking on the physical GPU: the driver's linker, with CUDA's device runtime where kernels launch kernels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gridstride.compiler.headers import library
from gridstride.device.physical.driver import bindings, failure
from gridstride.protocol import DeviceError, LinkError, LinkInput

if TYPE_CHECKING:
    from gridstride.device.physical.physical_gpu import PhysicalGPU

_LOG_BYTES = 16 * 1024
_NO_BINARY = 209  # CUDA_ERROR_NO_BINARY_FOR_GPU
_RUNTIME = re.compile(r"\b(__cudaCDP2\w+|cudaCGSynchronize|cudaCGGetIntrinsicHandle)\b")
_SYMBOLS = re.compile(r"undefined|unresolved|multiple definition|doesn't match|duplicate", re.IGNORECASE)


def needs_runtime(pieces: Sequence[LinkInput]) -> bool:
    """Whether some text calls CUDA's device runtime, a library that must be linked in."""
    return any(_RUNTIME.search(p.ptx) for p in pieces)


def link_module(device: PhysicalGPU, pieces: Sequence[LinkInput], texts: Sequence[str]) -> Any:
    """A CUmodule of all pieces, whose PTX for this driver is `texts`; LinkError with the linker's words."""
    driver = bindings()
    log, option = bytearray(_LOG_BYTES), driver.CUjit_option
    options = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
               option.CU_JIT_GENERATE_LINE_INFO]  # fmt: skip
    state = device.check(driver.cuLinkCreate(len(options), options, [log, _LOG_BYTES, 1]), "starting the linker")
    try:
        kind = driver.CUjitInputType
        for piece, text in zip(pieces, texts, strict=True):
            data = text.encode() + b"\0"
            added = driver.cuLinkAddData(
                state, kind.CU_JIT_INPUT_PTX, data, len(data), piece.filename.encode(), 0, [], []
            )
            _check(added, log, pieces)
        if needs_runtime(pieces):
            path = library("libcudadevrt.a")
            if path is None:
                raise DeviceError(
                    "kernels that launch kernels need libcudadevrt.a, CUDA's device runtime, which was not found: "
                    "pip install nvidia-cuda-runtime"
                )
            added = driver.cuLinkAddFile(state, kind.CU_JIT_INPUT_LIBRARY, str(path).encode(), 0, [], [])
            if int(added[0]) == _NO_BINARY:
                raise DeviceError(newer_runtime(str(path), device.driver_version))
            _check(added, log, pieces)
        image = _check(driver.cuLinkComplete(state), log, pieces)[0]
        return device.check(driver.cuModuleLoadData(image), "loading what was linked")
    finally:
        with suppress(DeviceError):
            driver.cuLinkDestroy(state)


def newer_runtime(path: str, driver_version: int) -> str:
    """What to say of a device runtime that holds nothing for this driver, a version as cuDriverGetVersion gives it."""
    knows = f"{driver_version // 1000}.{driver_version % 1000 // 10}"
    return (
        f"kernels that launch kernels need CUDA's device runtime, and {path} is of a newer CUDA than the {knows} that "
        f"this driver knows: pip install 'nvidia-cuda-runtime=={knows}.*', or a newer driver"
    )


def _check(result: tuple[Any, ...], log: bytearray, pieces: Sequence[LinkInput]) -> tuple[Any, ...]:
    code = int(result[0])
    if not code:
        return result[1:]
    files = ", ".join(p.filename for p in pieces)
    output = log.split(b"\0", 1)[0].decode(errors="replace").strip()
    if _SYMBOLS.search(output):
        raise LinkError(f"linking {files}: {output}")
    error = failure(code, f"linking {files}")
    raise type(error)(f"{error}\n{output}" if output else str(error))
