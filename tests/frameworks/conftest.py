"""Triton on a virtual GPU for the tests of a file, with caches of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gridstride as gs


@pytest.fixture(scope="module")
def triton_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gs.VirtualGPU]:
    """Triton's kernels run on this virtual GPU; skipped where a physical one is, on which Triton is left alone."""
    triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
    from gridstride.device.physical.driver import physical_count

    if physical_count():
        pytest.skip("a physical GPU is here, and Triton is left to it")
    device = gs.VirtualGPU(workers=2, time_limit=60)
    with triton.knobs.cache.scope(), gs.use(device), gs.frameworks.triton():
        triton.knobs.cache.dir = str(tmp_path_factory.mktemp("triton"))
        yield device
