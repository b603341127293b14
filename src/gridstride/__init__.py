"""GridStride: write GPU kernels, run them on a real or a virtual GPU, and learn what they do.

Names are imported when first used, so that `import gridstride` and the command line start at once.
"""

from __future__ import annotations

import importlib
import os
import sys

ONE_BLAS_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""References' products are small. Several threads wait for one another at each, on a busy machine eight times as long
as they compute; PyTorch's threads are its own.
"""
WINDOWS = "GridStride runs on Linux; on Windows run it in WSL2: `wsl --install`, then pip install gridstride there"

TYPE_CHECKING = False  # type checkers take the name for true; importing typing would cost half of the start-up
if TYPE_CHECKING:
    from typing import Any

    from gridstride import frameworks as frameworks
    from gridstride.compiler import CompileError as CompileError
    from gridstride.compiler import CompileWarning as CompileWarning
    from gridstride.device.adopted import from_dlpack as from_dlpack
    from gridstride.device.arrays import DeviceArray as DeviceArray
    from gridstride.device.choice import device as device
    from gridstride.device.choice import use as use
    from gridstride.device.creation import empty as empty
    from gridstride.device.creation import full as full
    from gridstride.device.creation import random as random
    from gridstride.device.creation import to_device as to_device
    from gridstride.device.creation import zeros as zeros
    from gridstride.device.graphs import Graph as Graph
    from gridstride.device.graphs import capture as capture
    from gridstride.device.host_memory import managed as managed
    from gridstride.device.host_memory import pinned as pinned
    from gridstride.device.launch.kernel import Kernel as Kernel
    from gridstride.device.modules.module import Module as Module
    from gridstride.device.modules.module import cuda as cuda
    from gridstride.device.modules.module import link as link
    from gridstride.device.modules.module import ptx as ptx
    from gridstride.device.modules.numba import numba as numba
    from gridstride.device.modules.triton import triton as triton
    from gridstride.device.physical.physical_gpu import PhysicalGPU as PhysicalGPU
    from gridstride.device.streams import Event as Event
    from gridstride.device.streams import Stream as Stream
    from gridstride.device.streams import event as event
    from gridstride.device.streams import stream as stream
    from gridstride.device.tensor_map import TensorMap as TensorMap
    from gridstride.device.tensor_map import tensor_map as tensor_map
    from gridstride.device.textures import Surface as Surface
    from gridstride.device.textures import Texture as Texture
    from gridstride.device.textures import surface as surface
    from gridstride.device.textures import texture as texture
    from gridstride.extension.op import torch_op as torch_op
    from gridstride.protocol import DeviceError as DeviceError
    from gridstride.protocol import DeviceLost as DeviceLost
    from gridstride.protocol import LaunchError as LaunchError
    from gridstride.protocol import LinkError as LinkError
    from gridstride.protocol import NoDevice as NoDevice
    from gridstride.protocol import OutOfAddressSpace as OutOfAddressSpace
    from gridstride.protocol import OutOfDeviceMemory as OutOfDeviceMemory
    from gridstride.protocol import UnknownName as UnknownName
    from gridstride.virtual.errors import UnsupportedInstruction as UnsupportedInstruction
    from gridstride.virtual.errors import UnsupportedTarget as UnsupportedTarget
    from gridstride.virtual.findings.finding import KernelFault as KernelFault
    from gridstride.virtual.gpu import VirtualGPU as VirtualGPU
    from gridstride.virtual.machine.schedule import Schedule as Schedule
    from gridstride.virtual.ptx.syntax_errors import PtxError as PtxError

_HOMES = {
    "CompileError": "compiler",
    "CompileWarning": "compiler",
    "DeviceArray": "device.arrays",
    "DeviceError": "protocol",
    "DeviceLost": "protocol",
    "Event": "device.streams",
    "Graph": "device.graphs",
    "Kernel": "device.launch.kernel",
    "KernelFault": "virtual.findings.finding",
    "LaunchError": "protocol",
    "LinkError": "protocol",
    "Module": "device.modules.module",
    "NoDevice": "protocol",
    "OutOfAddressSpace": "protocol",
    "OutOfDeviceMemory": "protocol",
    "PhysicalGPU": "device.physical.physical_gpu",
    "PtxError": "virtual.ptx.syntax_errors",
    "Schedule": "virtual.machine.schedule",
    "Stream": "device.streams",
    "Surface": "device.textures",
    "TensorMap": "device.tensor_map",
    "Texture": "device.textures",
    "UnknownName": "protocol",
    "UnsupportedInstruction": "virtual.errors",
    "UnsupportedTarget": "virtual.errors",
    "VirtualGPU": "virtual.gpu",
    "capture": "device.graphs",
    "cuda": "device.modules.module",
    "empty": "device.creation",
    "event": "device.streams",
    "from_dlpack": "device.adopted",
    "full": "device.creation",
    "link": "device.modules.module",
    "managed": "device.host_memory",
    "numba": "device.modules.numba",
    "pinned": "device.host_memory",
    "ptx": "device.modules.module",
    "random": "device.creation",
    "stream": "device.streams",
    "surface": "device.textures",
    "tensor_map": "device.tensor_map",
    "texture": "device.textures",
    "to_device": "device.creation",
    "torch_op": "extension.op",
    "triton": "device.modules.triton",
    "use": "device.choice",
    "zeros": "device.creation",
}

__all__ = ["device", "frameworks", *sorted(_HOMES)]  # noqa: PLE0604  (`device` is the package, which is callable)


def __getattr__(name: str) -> Any:
    if name in ("device", "frameworks"):
        return importlib.import_module(f"gridstride.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"gridstride has no {name!r}; it has {', '.join(__all__)}")
    if sys.platform == "win32":
        raise ImportError(WINDOWS)
    value = globals()[name] = getattr(importlib.import_module(f"gridstride.{home}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)


if os.environ.get("GRIDSTRIDE_TRITON"):  # "1" imports Triton and PyTorch now: kernels may be launched at any time
    importlib.import_module("gridstride.frameworks").triton_from_environment(os.environ["GRIDSTRIDE_TRITON"])
