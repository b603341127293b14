"""The driver that Triton's runtime asks for the GPU: a virtual one stands behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from gridstride.frameworks.observers import benchmark
from gridstride.frameworks.triton_launcher import Binary, TritonLauncher, binary, virtual_gpu
from gridstride.protocol import DeviceError
from gridstride.virtual.observe.model import kernel_registers

WARP = 32
STAGES_KEY = "gridstride-ptx"
"""Tells kernels whose cubin stage hands over PTX from others, in Triton's caches."""


class Utilities:
    """Loading of compiled kernels and limits of the chip, as `triton.runtime.driver.active.utils` has them."""

    def load_binary(self, name: str, kernel: bytes, shared: int, device: object) -> tuple[None, Binary, int, int, int]:
        """(module, function, registers per thread, bytes spilled, most threads in a block) of a kernel's PTX.

        There is no module, so nothing is left for Triton to unload, perhaps when another driver is active.
        """
        gpu = virtual_gpu()
        function = binary(name, kernel, gpu.properties.arch)
        if function.limits is None:
            loaded = gpu.load(function.ptx).kernels[name]
            registers = kernel_registers(loaded)
            function.limits = registers.count, registers.spilled, loaded.max_threads
        return None, function, *function.limits

    def unload_module(self, module: object) -> None:
        """Nothing: a kernel's code goes with its Binary."""

    def get_device_properties(self, device: object = None) -> dict[str, int]:
        """Limits and rates of the virtual GPU in use, under Triton's names; clocks in kHz."""
        properties = virtual_gpu().properties
        return {
            "max_shared_mem": properties.shared_per_block_optin,
            "max_num_regs": properties.registers_per_multiprocessor,
            "multiprocessor_count": properties.multiprocessors,
            "warpSize": properties.warp_size,
            "sm_clock_rate": round(properties.clock_mhz * 1000),
            "mem_clock_rate": round(properties.memory_clock_mhz * 1000),
            "mem_bus_width": properties.memory_bus_bits,
        }


class VirtualDriver(DriverBase):  # type: ignore[misc]
    """A CUDA target whose launches run on the virtual GPU in use. Its tensors are PyTorch's on the CPU."""

    launcher_cls = TritonLauncher

    def __init__(self) -> None:
        super().__init__()
        self.utils = Utilities()

    @classmethod
    def is_active(cls) -> bool:
        """Never by itself: it is set with set_active."""
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Refused: no C launcher is made for a virtual GPU."""
        raise DeviceError(f"no C launcher is made for a virtual GPU, so {ty} has no C type there")

    def get_current_target(self) -> GPUTarget:
        """The chip in use as Triton's compiler names it."""
        return GPUTarget("cuda", self.get_current_device(), WARP)

    def get_current_device(self) -> int:
        """The chip's capability, 90 for 9.0: Triton keeps what it compiled by it, which does for all such chips."""
        major, minor = virtual_gpu().properties.compute_capability
        return 10 * major + minor

    def get_device_capability(self, device: object = None) -> tuple[int, int]:
        """(major, minor) of the chip in use."""
        return virtual_gpu().properties.compute_capability

    def set_current_device(self, device: object) -> None:
        """Nothing: gs.use says which device is in use."""

    def get_current_stream(self, device: object = None) -> int:
        """The only one there is; work is done when a launch returns."""
        return 0

    def get_active_torch_device(self) -> Any:
        """Where the tensors of a launch lie: torch.device("cpu")."""
        import torch

        return torch.device("cpu")

    def get_benchmarker(self) -> Callable[..., list[float] | float]:
        """What ranks configurations of @triton.autotune: the predicted time, not the clock on the wall."""
        return benchmark

    def get_device_interface(self) -> Any:
        """Refused: events would time the host."""
        raise DeviceError(
            "a virtual GPU has no events to time with: call triton.testing.do_bench by its module, which gives "
            "predicted times, or see gridstride.frameworks.observed()"
        )


def hand_over_ptx(backend: Any = None, stages: dict[str, Any] | None = None, *_: Any) -> tuple[str, str] | None:
    """A hook for Triton's stages: without arguments its key, else it has the last stage hand over the PTX as it is."""
    if stages is None:
        return STAGES_KEY, STAGES_KEY
    stages["cubin"] = lambda ptx, metadata: ptx.encode()
    return None
