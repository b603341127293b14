"""What the driver's linker is told and what is said where it cannot link."""

from __future__ import annotations

from gridstride.device.physical.linker import needs_runtime, newer_runtime
from gridstride.protocol import LinkInput


def test_a_runtime_that_is_newer_than_the_driver_is_named_with_the_version_that_fits() -> None:
    said = newer_runtime("/there/libcudadevrt.a", 13000)
    assert "/there/libcudadevrt.a is of a newer CUDA than the 13.0" in said
    assert "pip install 'nvidia-cuda-runtime==13.0.*'" in said
    assert "12.9" in newer_runtime("libcudadevrt.a", 12090)


def test_only_texts_that_call_the_device_runtime_need_it() -> None:
    plain = LinkInput(".visible .entry k() { ret; }", "k.cu")
    calls = LinkInput("call.uni __cudaCDP2LaunchDeviceV2, ();", "l.cu")
    assert not needs_runtime([plain])
    assert needs_runtime([plain, calls])
