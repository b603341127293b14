"""Which device work runs on: the one in use, else GRIDSTRIDE_DEVICE's, else a physical GPU, else the virtual one."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from gridstride.device.driver import physical_count

if TYPE_CHECKING:
    from gridstride.protocol import Device

_VARIABLE = "GRIDSTRIDE_DEVICE"
_KINDS = ("physical", "virtual")
_in_use: ContextVar[Device | None] = ContextVar("gridstride_device", default=None)


def device(choice: Device | str | None = None) -> Device:
    """The device to work on: `choice` where given ("physical", "virtual" or a device), else the one in use.

    Raises ValueError for another name, and NoDevice when a physical GPU is asked for and there is none.
    """
    if choice is not None:
        return _by_name(choice, "device") if isinstance(choice, str) else choice
    return _in_use.get() or _default(os.environ.get(_VARIABLE) or None)


@contextmanager
def use(choice: Device | str) -> Iterator[Device]:
    """Work inside the `with` runs on `choice`, in this thread or task; nests."""
    chosen = device(choice)
    token = _in_use.set(chosen)
    try:
        yield chosen
    finally:
        _in_use.reset(token)


@functools.cache
def _default(name: str | None) -> Device:
    if name is not None:
        return _by_name(name, _VARIABLE)
    return _by_name("physical" if physical_count() else "virtual", _VARIABLE)


@functools.cache
def _by_name(name: str, where: str) -> Device:
    if name == "physical":
        from gridstride.device.physical import PhysicalGPU

        return PhysicalGPU()
    if name == "virtual":
        return _virtual()
    raise ValueError(f"{where}={name!r} is not a device: use {' or '.join(_KINDS)}")


@functools.cache
def _virtual() -> Device:
    from gridstride.virtual.gpu import VirtualGPU

    virtual: Device = VirtualGPU()
    return virtual
