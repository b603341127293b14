"""The clusters that a launch has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gridstride.protocol import LaunchError, Shape
from gridstride.virtual.machine.cluster_shape import cluster_of


def kernel(required: tuple[int, int, int] | None = None, *, grid_of_clusters: bool = False) -> Any:
    return SimpleNamespace(title="kernel k", required_cluster=required, grid_of_clusters=grid_of_clusters)


def shape(cluster: tuple[int, int, int] | None = None) -> Shape:
    return Shape(grid=(8, 6, 1), block=(32, 1, 1), cluster=cluster)


@pytest.mark.parametrize(
    ("required", "asked", "cluster"),
    [(None, None, (1, 1, 1)), ((2, 1, 1), None, (2, 1, 1)), (None, (4, 3, 1), (4, 3, 1))],
)
def test_as_asked_for_else_as_compiled_for_else_of_one_block(
    required: tuple[int, int, int] | None, asked: tuple[int, int, int] | None, cluster: tuple[int, int, int]
) -> None:
    assert cluster_of(kernel(required), shape(asked)) == cluster


def test_a_grid_that_is_no_multiple_is_refused_with_both() -> None:
    with pytest.raises(LaunchError, match=r"kernel k: grid \(8, 6, 1\) is not a multiple of cluster \(3, 1, 1\)"):
        cluster_of(kernel(), shape((3, 1, 1)))


def test_a_kernel_whose_grid_counts_clusters_is_refused_with_the_way_out() -> None:
    with pytest.raises(LaunchError, match="give __cluster_dims__ instead"):
        cluster_of(kernel(grid_of_clusters=True), shape())
