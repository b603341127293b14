"""Textures, surfaces and tensor maps as a program's runtime asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridstride.programs.calls.images import image_at, sampling_at, write_tensor_map
from gridstride.programs.calls.status import Status
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.machine.memory.images import VirtualImage

IMAGE_CALLS = ("texture", "surface", "tensor_map", "destroy_object")
"""The callbacks that are methods of ImageCalls."""


class ImageCalls:
    """Objects of one virtual GPU. `catch_up` is called before one goes, which work that is put off may need."""

    def __init__(self, device: VirtualGPU, catch_up: Callable[[], object]) -> None:
        self.device, self._catch_up = device, catch_up

    def texture(self, image: int, sampling: int, handle: Any) -> int:
        layout, address = image_at(image)
        handle[0] = VirtualImage(self.device, layout, address).texture(sampling_at(sampling))
        return Status.SUCCESS

    def surface(self, image: int, handle: Any) -> int:
        layout, address = image_at(image)
        handle[0] = VirtualImage(self.device, layout, address).surface()
        return Status.SUCCESS

    def tensor_map(self, order: int) -> int:
        write_tensor_map(order)
        return Status.SUCCESS

    def destroy_object(self, handle: int) -> int:
        self._catch_up()
        with self.device.lock:
            self.device.objects.remove(handle)
        return Status.SUCCESS
