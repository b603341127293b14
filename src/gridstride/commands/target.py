"""From the words `--device`, `--chip` and a problem's name to the things they name; WrongUse where there is none."""

from __future__ import annotations

import difflib
import gc
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gridstride.commands.terminal import WrongUse, interrupts_held

if TYPE_CHECKING:
    from gridstride.judge.find import Folder
    from gridstride.protocol import Device

KINDS = ("virtual", "physical")
PATIENCE = 10.0  # seconds for a launch, unless GRIDSTRIDE_TIME_LIMIT says otherwise


def device_of(kind: str | None, chip: str | None) -> Device:
    """The device to judge on. A chip alone means the virtual GPU."""
    from gridstride.device.choice import device
    from gridstride.protocol import DeviceError

    kind = kind if kind is not None else "virtual" if chip is not None else None
    if kind is not None and kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"use {' or '.join(KINDS)}"
        raise WrongUse(f"there is no device {kind!r}: {hint}")
    if kind == "physical" and chip is not None:
        raise WrongUse(f"--chip {chip} says what the virtual GPU is: it cannot be with --device physical")
    try:
        if chip is not None:
            return _virtual(chip)
        chosen = device(kind)
        return chosen if chosen.kind == "physical" else _virtual(chosen.chip)
    except (ValueError, DeviceError) as error:
        raise WrongUse(str(error)) from error


def import_the_judge() -> None:
    """Import what judges, which takes a third of a second in which a Ctrl-C could be lost: it comes afterwards."""
    with interrupts_held():
        import gridstride.judge.ladder  # noqa: F401

        gc.freeze()  # none of what was imported is rubbish: looking through it takes 5 % of a short verdict


def folder_of(problem: str) -> Folder:
    """The problem of that name or folder."""
    from gridstride.judge.find import find, problem_names
    from gridstride.judge.problem import ProblemError

    if not problem.strip():
        raise WrongUse(f"the problem's name {problem!r} is empty: there are {', '.join(problem_names())}")
    try:
        return find(problem)
    except (ProblemError, OSError) as error:
        raise WrongUse(str(error)) from error


@contextmanager
def problem_errors() -> Iterator[None]:
    """Inside, a mistake in a problem's folder is wrong usage: its author is the one who typed the command. So is a
    machine, or a limit, that lets no kernel run, or leaves no room to look for races: the message says what is in the
    way, and no kernel is blamed or passed.
    """
    from gridstride.compiler import NoCompiler
    from gridstride.judge.header import HeaderError
    from gridstride.judge.problem import ProblemError
    from gridstride.judge.sandbox.client import CannotJudge
    from gridstride.protocol import OutOfAddressSpace, RacesNotWatched

    with warnings.catch_warnings():
        warnings.simplefilter("error", RacesNotWatched)
        try:
            yield
        except (ProblemError, HeaderError, CannotJudge, OutOfAddressSpace, RacesNotWatched) as error:
            short = _limit() if isinstance(error.__cause__, MemoryError) else ""
            raise WrongUse(f"{error}{short}") from error
        except (MemoryError, OSError, NoCompiler) as error:  # a library that does not fit is not found, it says
            if isinstance(error, NoCompiler) and not _limit():
                raise WrongUse(str(error)) from error
            if isinstance(error, OSError) and not _limit():
                raise
            what = "a library cannot be loaded" if "shared object" in str(error) else str(error)
            raise WrongUse(f"no verdict: this process has no more memory ({what}){_limit()}") from error


def _limit() -> str:
    """The limit of addresses that may be behind it, where there is one."""
    from gridstride.judge.sandbox.limits import WorkerLimits, cramped

    limit = cramped(WorkerLimits())
    return f": {limit[0].lower()}{limit[1:]}" if limit else ""


def where(device: Device) -> str:
    """The device in a sentence: "the virtual GPU (NVIDIA H200)" or "NVIDIA H200"."""
    name = device.properties.name
    return f"the virtual GPU ({name})" if device.kind == "virtual" else name


def chosen_because(kind: str) -> str:
    """Why work runs on a device of this kind when nothing was said on the command line."""
    if choice := os.environ.get("GRIDSTRIDE_DEVICE"):
        return f"GRIDSTRIDE_DEVICE={choice} asks for it"
    return "there is a GPU that the driver can use" if kind == "physical" else "there is no GPU that a driver can use"


def _virtual(chip: str) -> Device:
    """The virtual GPU as that chip, with less patience than a user's own: the judge's cases take milliseconds."""
    from gridstride.virtual.chips import names
    from gridstride.virtual.gpu import VirtualGPU

    chip_names = names()
    if chip.lower() not in chip_names:
        near = difflib.get_close_matches(chip.lower(), chip_names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(chip_names)}"
        raise WrongUse(f"there is no chip {chip!r}: {hint}")
    return VirtualGPU(chip, time_limit=None if os.environ.get("GRIDSTRIDE_TIME_LIMIT") else PATIENCE)
