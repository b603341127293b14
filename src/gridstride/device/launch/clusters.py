"""Cluster dimensions of a launch: what the kernel asks for, what the call asks for, and what the chip can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridstride.protocol import Dim3, LaunchError

if TYPE_CHECKING:
    from gridstride.protocol import Device, DeviceKernel

MOST_BLOCKS = 16  # with the kernel's consent, on chips that have clusters; 8 without


def check_cluster(requested: Dim3 | None, grid: Dim3, name: str, kernel: DeviceKernel, device: Device) -> None:
    """Refuse clusters that this kernel cannot have, or the chip, or that do not divide the grid."""
    required: Dim3 | None = getattr(kernel, "required_cluster", None)
    if required is not None and requested is not None and requested != required:
        raise LaunchError(
            f"{name}: cluster {_times(requested)} was asked for, but the kernel was compiled for clusters of "
            f"{_times(required)} (its __cluster_dims__)"
        )
    cluster = requested or required
    if cluster is None:
        if getattr(kernel, "needs_cluster", False):
            raise LaunchError(
                f"{name}: this kernel must be launched with a cluster (it is marked .explicitcluster): "
                "kernel.launch(…, cluster=(2, 1, 1))"
            )
        return
    _check_size(cluster, name, kernel, device)
    for axis, size, part in zip("xyz", grid, cluster, strict=True):
        if size % part:
            raise LaunchError(f"{name}: grid.{axis} = {size} is not a multiple of cluster.{axis} = {part}")


def _check_size(cluster: Dim3, name: str, kernel: DeviceKernel, device: Device) -> None:
    if not device.properties.max_cluster:
        raise LaunchError(f"{name}: {device.name} has no clusters; they need compute capability 9.0")
    blocks, most = cluster[0] * cluster[1] * cluster[2], getattr(kernel, "max_cluster_rank", None)
    if most is not None and blocks > most:
        raise LaunchError(
            f"{name}: cluster {_times(cluster)} has {blocks} blocks, this kernel allows {most} (its __launch_bounds__)"
        )
    if blocks > MOST_BLOCKS:
        raise LaunchError(f"{name}: cluster {_times(cluster)} has {blocks} blocks, the most is {MOST_BLOCKS}")


def _times(dims: Dim3) -> str:
    return " x ".join(map(str, dims))
