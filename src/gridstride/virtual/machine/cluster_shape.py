"""The dimensions of a launch's clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridstride.protocol import Dim3, LaunchError, Shape

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel


def cluster_of(kernel: LoadedKernel, shape: Shape) -> Dim3:
    """The clusters that a launch has: as asked for, as the kernel was compiled for, else of one block."""
    if kernel.grid_of_clusters:
        raise LaunchError(
            f"{kernel.title}: the virtual GPU has no kernels whose grid counts clusters (.blocksareclusters, which "
            "__block_size__ writes): give __cluster_dims__ instead, and a grid of blocks"
        )
    grid = shape.grid
    x, y, z = shape.cluster or kernel.required_cluster or (1, 1, 1)
    if grid[0] % x or grid[1] % y or grid[2] % z:
        raise LaunchError(f"{kernel.title}: grid {grid} is not a multiple of cluster {(x, y, z)}")
    return (x, y, z)
