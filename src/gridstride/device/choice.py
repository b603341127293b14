"""Which device work runs on: the one in use, else GRIDSTRIDE_DEVICE's, else a physical GPU, else the virtual one."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from gridstride.device.physical.driver import physical_count

if TYPE_CHECKING:
    from gridstride.protocol import Device

_VARIABLE = "GRIDSTRIDE_DEVICE"
_KINDS = ("physical", "virtual")
_in_use: ContextVar[Device | None] = ContextVar("gridstride_device", default=None)
_in_every_thread: list[Device] = []  # the last one is in use wherever no other is; see use_in_every_thread


def device(choice: Device | str | None = None) -> Device:
    """The device to work on: `choice` where given ("physical", "virtual", a chip such as "a100" for a virtual GPU of
    that kind, or a device), else the one in use.

    Raises ValueError for another name, and NoDevice when a physical GPU is asked for and there is none.
    """
    if choice is not None:
        return _by_name(choice, "device") if isinstance(choice, str) else choice
    return _chosen() or _default(os.environ.get(_VARIABLE) or None)


def asked_for() -> Device | None:
    """The device that `use` or GRIDSTRIDE_DEVICE chose; None where `device` would give the one that there is."""
    name = os.environ.get(_VARIABLE)
    return _chosen() or (_default(name) if name else None)


def _chosen() -> Device | None:
    return _in_use.get() or next(reversed(_in_every_thread), None)


class use:  # noqa: N801  (it is called as a function is)
    """From here on work runs on `choice`, in this thread or task; as `with use(choice):` until the end of that; nests.

    `choice` is what `device` takes, and raises what that raises.
    """

    def __init__(self, choice: Device | str) -> None:
        self._chosen = device(choice)
        self._token = _in_use.set(self._chosen)

    def __enter__(self) -> Device:
        return self._chosen

    def __exit__(self, *_: object) -> None:
        _in_use.reset(self._token)

    def __repr__(self) -> str:
        return f"use({self._chosen!r})"


@contextmanager
def use_in_every_thread(choice: Device | str) -> Iterator[Device]:
    """The same for the whole process: threads that begin meanwhile know nothing of what was in use where they were
    started, nor do those of a pool that was there before. `use` within a thread goes before it.
    """
    with use(choice) as chosen:
        _in_every_thread.append(chosen)
        try:
            yield chosen
        finally:
            _in_every_thread.remove(chosen)


@functools.cache
def _default(name: str | None) -> Device:
    if name is not None:
        return _by_name(name, _VARIABLE)
    return _by_name("physical" if physical_count() else "virtual", _VARIABLE)


@functools.cache
def _by_name(name: str, where: str) -> Device:
    if name == "physical":
        from gridstride.device.physical.physical_gpu import PhysicalGPU

        return PhysicalGPU()
    if name == "virtual":
        return _virtual()
    from gridstride.virtual.chips import names

    if name.lower() in names():
        return _virtual(name.lower())
    raise ValueError(f"{where}={name!r} is not a device: use {' or '.join(_KINDS)}, or a chip: {', '.join(names())}")


@functools.cache
def _virtual(chip: str = "h200") -> Device:
    from gridstride.virtual.gpu import VirtualGPU

    virtual: Device = VirtualGPU(chip)
    return virtual
