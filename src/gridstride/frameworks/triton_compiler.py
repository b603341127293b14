"""Triton's compiler for NVIDIA's GPUs under the name of the processor, for whose tensors Inductor asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from triton.backends import Backend, backends
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend

from gridstride.frameworks.triton_driver import WARP, VirtualDriver

CPU = "cpu"


class VirtualCompiler(CUDABackend):  # type: ignore[misc]
    """Compiles for the chip in use what is to run on "cpu"; its PTX stands in the place of a cubin."""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether it is for tensors of the processor."""
        return bool(target.backend == CPU)

    def __init__(self, target: GPUTarget) -> None:
        arch = VirtualDriver().get_current_device()
        super().__init__(GPUTarget(CPU, arch, WARP))
        self.target = GPUTarget("cuda", arch, WARP)

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any) -> None:
        """Those of NVIDIA's compiler, the last of which hands over the PTX as it is."""
        super().add_stages(stages, options, language)
        stages["cubin"] = lambda ptx, metadata: ptx.encode()


@contextmanager
def cpu_backend() -> Iterator[None]:
    """Have Triton know a backend for the processor's tensors; one that is there goes before it afterwards."""
    previous_backend = backends.get(CPU)
    backends[CPU] = Backend(VirtualCompiler, VirtualDriver)
    try:
        yield
    finally:
        if previous_backend is None:
            del backends[CPU]
        else:
            backends[CPU] = previous_backend
