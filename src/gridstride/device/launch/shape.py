"""The shape of a launch: grid, block, cluster and shared memory, made uniform and held against the limits."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from gridstride.device.launch.clusters import check_cluster
from gridstride.protocol import Dim3, LaunchError, Shape

if TYPE_CHECKING:
    from gridstride.protocol import Device, DeviceKernel

_AXES = "xyz"


def shape(grid: Any, block: Any, shared: Any = 0, *, cooperative: bool = False, cluster: Any = None) -> Shape:
    """A `Shape` from ints or tuples of one to three ints; LaunchError for anything else."""
    dynamic = _integer(shared, "dynamic shared memory", least=0)
    blocks = None if cluster is None else dim3(cluster, "cluster")
    return Shape(dim3(grid, "grid"), dim3(block, "block"), dynamic, bool(cooperative), blocks)


def dim3(value: Any, what: str) -> Dim3:
    """(x, y, z) from an int or a tuple of one to three; LaunchError names `what` and the axis."""
    if not isinstance(value, (tuple, list)):
        return (_integer(value, what), 1, 1)
    if not 1 <= len(value) <= 3:
        raise LaunchError(f"{what} = {value!r} has {len(value)} dimensions, a launch has one to three")
    x, y, z = (_integer(extent, f"{what}.{axis}") for extent, axis in zip((*value, 1, 1)[:3], _AXES, strict=True))
    return (x, y, z)


def _integer(value: Any, what: str, *, least: int = 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        up = ": rounded up it is -(-n // threads)" if isinstance(value, float) else ""
        raise LaunchError(f"{what} = {value!r} is not a whole number{up}") from None
    if number < least:
        raise LaunchError(f"{what} = {number}: it must be at least {least}")
    return number


def check_shape(shape: Shape, name: str, kernel: DeviceKernel, device: Device) -> None:
    """Refuse, with the value and the limit, a shape that `kernel` cannot have on `device`; `name` is the user's."""
    limits = device.properties
    for what, value, most in (("grid", shape.grid, limits.max_grid), ("block", shape.block, limits.max_block)):
        for axis, size, limit in zip(_AXES, value, most, strict=True):
            if size > limit:
                more = ": take more blocks of fewer threads" if what == "block" else ""
                raise LaunchError(f"{name}: {what}.{axis} = {size} is above the {limit:,} of {device.name}{more}")
    _check_threads(shape, name, kernel, device)
    _check_shared(shape.shared, name, kernel, device)
    check_cluster(shape.cluster, shape.grid, name, kernel, device)


def _check_threads(shape: Shape, name: str, kernel: DeviceKernel, device: Device) -> None:
    threads, block, most = shape.threads, shape.block, device.properties.max_threads_per_block
    if threads > most:
        raise LaunchError(
            f"{name}: block {_times(block)} has {threads} threads, {device.name} allows {most} in a block: take more "
            "blocks of fewer threads"
        )
    if threads > kernel.max_threads:
        raise LaunchError(
            f"{name}: block {_times(block)} has {threads} threads, this kernel allows {kernel.max_threads} "
            "(its __launch_bounds__ or its registers)"
        )


def _check_shared(dynamic: int, name: str, kernel: DeviceKernel, device: Device) -> None:
    static, most = device.properties.shared_per_block, device.properties.shared_per_block_optin
    if kernel.static_shared > static:
        raise LaunchError(
            f"{name}: {kernel.static_shared:,} bytes of static shared memory are above the {static:,} that one may "
            "declare: take them as dynamic shared memory, `extern __shared__`, and give their size at the launch"
        )
    if kernel.static_shared + dynamic > most:
        raise LaunchError(
            f"{name}: {kernel.static_shared + dynamic:,} bytes of shared memory ({kernel.static_shared:,} static"
            f" + {dynamic:,} dynamic) are above the {most:,} that a block may have on {device.name}"
        )


def _times(dims: Dim3) -> str:
    return " x ".join(map(str, dims))
