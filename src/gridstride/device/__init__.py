"""Devices, arrays and kernels: one protocol, with a physical and a virtual GPU behind it.

The package is also the function `gridstride.device()`: both have that name, and Python gives the attribute of a package
to the submodule as soon as anything imports it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridstride.protocol import Device


class _CallableModule(ModuleType):
    def __call__(self, choice: Device | str | None = None) -> Device:
        """The device to work on: see `gridstride.device.choice.device`."""
        from gridstride.device.choice import device

        return device(choice)


sys.modules[__name__].__class__ = _CallableModule
