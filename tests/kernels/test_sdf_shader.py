"""SDF shader: rays come where the bodies' equations say, and the slope of a distance is of length 1."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find
from gridstride.kernels.sdf_shader.problem import LIGHT, directions, distances

RUNGS = [file.name for file in find("sdf_shader").rungs()]
CAMERA = np.array([[0.2, -0.1, 5], [0, 0, -2], [1, 0, 0], [0, 0.8, 0]])
SIZE = (30, 45)
SOLID = 100.0
SPHERE = (0.3, 0.2, -0.4, 1.1, 0, 0, 0, SOLID)


def shots(
    name: str, bodies: np.ndarray, launches: int, camera: np.ndarray = CAMERA
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Depth and light after each launch of eight steps, from the eye on."""
    with gs.use("virtual"):
        rung = Rung("sdf_shader", {"n": len(bodies), "H": SIZE[0], "W": SIZE[1]}, name)
        scene, view = gs.to_device(bodies.astype(np.float32)), gs.to_device(camera.astype(np.float32))
        start, light, seen = gs.zeros(SIZE), gs.empty(SIZE), []
        for _ in range(launches):
            depth = gs.empty(SIZE)
            rung(scene, view, start, depth, light, len(bodies), *SIZE)
            seen.append((depth.numpy().astype(np.float64), light.numpy().astype(np.float64)))
            start = depth
        return seen


@pytest.mark.parametrize("name", RUNGS)
def test_rays_come_to_the_root_of_a_spheres_equation_or_pass_it(name: str) -> None:
    depth, light = shots(name, np.array([SPHERE]), 6)[-1]
    ways, away = directions(CAMERA, *SIZE), CAMERA[0] - SPHERE[:3]
    middle = -np.tensordot(away, ways, 1)
    inside = middle**2 - away @ away + SPHERE[3] ** 2  # below 0: the ray passes the sphere
    meets, passes = inside > 0.05, inside < -0.05  # what grazes it needs more steps
    root = middle - np.sqrt(np.maximum(inside, 0))
    assert meets.sum() > 100
    assert passes.sum() > 100
    np.testing.assert_allclose(depth[meets], root[meets], atol=1e-4)
    assert (depth[passes] > 30).all()
    normal = (CAMERA[0][:, None, None] + root * ways - np.reshape(SPHERE[:3], (3, 1, 1))) / SPHERE[3]
    expected = np.maximum(np.tensordot(LIGHT, normal, 1), 0)
    np.testing.assert_allclose(light[meets], expected[meets], atol=0.06)  # it is off by h / radius at the most


@pytest.mark.parametrize("name", RUNGS)
def test_rays_never_pass_a_surface_and_stop_nearer_to_it_with_every_launch(name: str) -> None:
    draw = np.random.default_rng(8)
    bodies = np.zeros((20, 8))
    bodies[:, :3] = draw.uniform(-1.5, 1.5, (20, 3))
    bodies[:, 3:7] = draw.uniform(0.05, 0.4, (20, 4))
    bodies[:, 7] = SOLID
    before = np.zeros(SIZE)
    for depth, _ in shots(name, bodies, 4):
        places = CAMERA[0][:, None, None] + depth * directions(CAMERA, *SIZE)
        assert distances(places, bodies).min() > -1e-5
        assert (depth > before - 1e-5).all()
        before = depth
    assert (distances(places, bodies).min(0) < 1e-3).mean() > 0.3  # these have arrived


@pytest.mark.parametrize("name", RUNGS)
def test_the_slope_of_a_plane_is_its_normal_of_length_1(name: str) -> None:
    """The front of a wide wall, turned to the eye: where the light is the slope along (0.48, 0.64, 0.6)."""
    wall = np.array([(0, 0, -1.0, 0.0, 50, 50, 0.5, SOLID)])
    for axis, along in enumerate(LIGHT):
        swapped = np.arange(3)
        swapped[[2, axis]] = axis, 2
        turned = wall[:, [*swapped, 3, *(4 + swapped), 7]]
        _, light = shots(name, turned, 5, CAMERA[:, swapped])[-1]
        np.testing.assert_allclose(light, along, atol=1e-4)


def test_by_differences_a_slope_is_off_by_their_span_over_the_radius() -> None:
    errors = []
    for radius in (1.0, 2.0, 4.0):
        eye = np.array([[0, 0, 3 * radius], [0, 0, -2], [0.2, 0, 0], [0, 0.2, 0]])
        depth, light = shots(RUNGS[-1], np.array([(0, 0, 0, radius, 0, 0, 0, SOLID)]), 4, eye)[-1]
        normal = (eye[0][:, None, None] + depth * directions(eye, *SIZE)) / radius
        errors.append(abs(light - np.tensordot(LIGHT, normal, 1)).max())
    assert errors[0] < 0.0625
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize("name", RUNGS)
def test_a_hollow_body_is_as_far_from_inside(name: str) -> None:
    """The eye in the middle of a sphere of 3 whose wall is 0.5: 2.5 away all around."""
    hollow = np.array([(*CAMERA[0], 3.0, 0, 0, 0, 0.5)])
    depth, _ = shots(name, hollow, 1)[-1]
    np.testing.assert_allclose(depth, 2.5, atol=1e-5)
