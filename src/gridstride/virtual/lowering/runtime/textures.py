"""All of the runtime that textures and surfaces need."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Module
from gridstride.virtual.lowering.runtime.coordinates import emit_coordinates
from gridstride.virtual.lowering.runtime.cubes import emit_cubes
from gridstride.virtual.lowering.runtime.filtering import emit_filtering
from gridstride.virtual.lowering.runtime.gradients import emit_gradients
from gridstride.virtual.lowering.runtime.requests import emit_requests
from gridstride.virtual.lowering.runtime.sampling import emit_sampling
from gridstride.virtual.lowering.runtime.surfaces import emit_surfaces
from gridstride.virtual.lowering.runtime.texels import emit_texels


def emit_textures(m: Module) -> None:
    """Every gs_ function that the families in instructions/textures.py and instructions/surfaces.py call."""
    emit_filtering(m)
    emit_texels(m)
    emit_coordinates(m)
    emit_cubes(m)
    emit_sampling(m)
    emit_gradients(m)
    emit_requests(m)
    emit_surfaces(m)
