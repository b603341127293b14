"""All of the runtime that textures and surfaces need."""

from __future__ import annotations

from gridstride.virtual.ir.builder import IrModule
from gridstride.virtual.runtime.texture.coordinates import emit_coordinates
from gridstride.virtual.runtime.texture.cubes import emit_cubes
from gridstride.virtual.runtime.texture.filtering import emit_filtering
from gridstride.virtual.runtime.texture.gradients import emit_gradients
from gridstride.virtual.runtime.texture.requests import emit_requests
from gridstride.virtual.runtime.texture.sampling import emit_sampling
from gridstride.virtual.runtime.texture.surface_access import emit_surfaces
from gridstride.virtual.runtime.texture.texels import emit_texels


def emit_textures(m: IrModule) -> None:
    """Every gs_ function that the families in textures.py and surfaces.py call."""
    emit_filtering(m)
    emit_texels(m)
    emit_coordinates(m)
    emit_cubes(m)
    emit_sampling(m)
    emit_gradients(m)
    emit_requests(m)
    emit_surfaces(m)
