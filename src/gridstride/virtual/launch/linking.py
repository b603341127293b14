"""The PTX texts of a module as one, for the chip that it is to run on."""

from __future__ import annotations

import re

from gridstride.protocol import DeviceProperties, LinkInput
from gridstride.virtual.errors import UnsupportedTarget
from gridstride.virtual.machine import graph_conditions, grid_barrier
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.link import link
from gridstride.virtual.ptx.module import PtxModule
from gridstride.virtual.ptx.syntax_errors import PtxError

_OWN = (
    (grid_barrier.NAMES, grid_barrier.PTX, "<grid barrier>"),
    (graph_conditions.NAMES, graph_conditions.PTX, "<conditional handle>"),
)
"""Functions of CUDA's device runtime that are PTX of ours."""


def linked(pieces: tuple[LinkInput, ...]) -> PtxModule:
    """The texts parsed and made one; PtxError, LinkError."""
    from gridstride.virtual.lowering.instructions.calls.builtins import BUILTINS

    modules = [_parsed(piece) for piece in pieces]
    for names, ptx, filename in _OWN:
        if any(name in m.functions and not m.functions[name].defined for m in modules for name in names):
            modules.append(parse(ptx, filename=filename))
    return link(modules, external=BUILTINS.keys())


def _parsed(piece: LinkInput) -> PtxModule:
    try:
        return parse(piece.ptx, filename=piece.filename)
    except PtxError as error:
        if piece.source is None:
            raise
        raise error.of_compiled(piece.ptx) from None


def ptx_version(ptx: str) -> tuple[int, int]:
    """(8, 1) for `.version 8.1`; (0, 0) where the parser has refused the text already."""
    match = re.search(r"^\s*\.version\s+(\d+)\.(\d+)", ptx, re.MULTILINE)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def check_target(ptx: str, chip: DeviceProperties) -> None:
    """Refuses PTX for another architecture, as the driver would: newer, or another chip's own (`sm_90a`)."""
    match = re.search(r"^\s*\.target\s+sm_(\d+)([af]?)", ptx, re.MULTILINE)
    if match is None:
        return  # the parser says what is missing
    version = divmod(int(match[1]), 10)
    own = chip.compute_capability
    if version > own or (match[2] == "a" and version != own):
        raise UnsupportedTarget(
            f"the PTX is for sm_{match[1]}{match[2]}, {chip.name} has {chip.arch}: compile it for {chip.arch}, or take "
            "another chip with gs.VirtualGPU(…)"
        )
