"""Our cuRAND against the vendor's on an H200: the same numbers, bit for bit where no function of the GPU lies between.

curand_h200.npz holds what cuRAND 10.4 gave there on 2026-11-27, with curand_calls.cu's calls: of 24,000 numbers those
at the places `at`, the first 16 of a second call, and of 2^25 numbers with seed 0 those at `far_at`.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridstride.programs.toolchain.wheels import Toolchain

Array = np.ndarray[Any, Any]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
HERE = Path(__file__).parent
with np.load(HERE / "curand_h200.npz") as file:
    RECORDED: dict[str, Array] = {name: file[name] for name in file.files}
TYPES = {"xorwow": 101, "mrg32k3a": 121, "philox": 161, "sobol32": 201}
SETTINGS = {"seed0": (0, 0, 0), "seed1234": (1234, 0, 0), "seedbig": (0x123456789ABCDEF, 0, 0),
            "offset10": (1234, 10, 0), "legacy": (1234, 0, 103)}  # fmt: skip
NUMBERS, NEXT = 24_000, 1000
FAR = int(RECORDED["far_at"][-1]) + 1


@pytest.fixture(scope="module")
def program(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """curand_calls.cu, built."""
    made = tmp_path_factory.mktemp("curand") / "curand_calls"
    command = [sys.executable, "-m", "gridstride", "build", str(HERE / "curand_calls.cu"), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def run(program: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False)


def numbers(program: Path, folder: Path, name: str, setting: tuple[int, int, int], kind: str, *counts: int) -> Array:
    """What the calls leave, one behind the other."""
    first, more = (*counts, 0)[:2]
    out = folder / "out.bin"
    done = run(program, TYPES[name], *setting, kind, first, more, out)
    assert done.returncode == 0, done.stdout + done.stderr
    plain = kind.removesuffix("@")
    dtype = np.uint32 if plain == "bits" else np.float64 if "double" in plain else np.float32
    return np.fromfile(out, dtype)


def recorded(*kinds: str) -> list[str]:
    names = [n for n in RECORDED if n.split(".")[-1] in kinds and ".far." not in n]
    return [n for n in names if n.split(".")[1] in SETTINGS]


@pytest.mark.parametrize("name", recorded("bits", "uniform", "uniform_double"))
def test_what_is_no_function_of_the_gpus_is_equal_to_the_bit(name: str, program: Path, tmp_path: Path) -> None:
    generator, setting, kind = name.split(".")
    got = numbers(program, tmp_path, generator, SETTINGS[setting], kind, NUMBERS, NEXT)
    assert got[RECORDED["at"]].tolist() == RECORDED[name].tolist()
    if (following := RECORDED.get(f"{name}_next")) is not None:
        assert got[NUMBERS : NUMBERS + len(following)].tolist() == following.tolist()


@pytest.mark.parametrize("name", recorded("normal", "normal_double", "log_normal"))
def test_normal_numbers_differ_by_the_rounding_of_log_and_sine(name: str, program: Path, tmp_path: Path) -> None:
    generator, setting, kind = name.split(".")
    got = numbers(program, tmp_path, generator, SETTINGS[setting], kind, NUMBERS)
    tolerance = 1e-13 if "double" in kind else 2e-5
    np.testing.assert_allclose(got[RECORDED["at"]], RECORDED[name], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [name for name in RECORDED if ".far." in name])
def test_beyond_the_first_turn_of_all_threads(name: str, program: Path, tmp_path: Path) -> None:
    generator, _, kind = name.split(".")
    got = numbers(program, tmp_path, generator, (0, 0, 0), kind, FAR)
    assert got[RECORDED["far_at"]].tolist() == RECORDED[name].tolist()


@pytest.mark.parametrize("generator", TYPES)
def test_a_generator_of_the_host_gives_the_same(generator: str, program: Path, tmp_path: Path) -> None:
    setting = SETTINGS["seed1234"]
    there, here = (numbers(program, tmp_path, generator, setting, kind, 4000) for kind in ("bits", "bits@"))
    assert there.tolist() == here.tolist()


@pytest.mark.parametrize("generator", ["xorwow", "philox"])
def test_two_calls_of_doubles_overlap_in_nothing(generator: str, program: Path, tmp_path: Path) -> None:
    got = numbers(program, tmp_path, generator, SETTINGS["seed0"], "uniform_double", 1000, 1000)
    assert len(set(got.tolist())) == 2000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((142, 0, 0, 0, "bits", 4, 0), r"curandCreateGenerator.*: 103"),
        ((101, 0, 0, 102, "bits", 4, 0), r"curandSetGeneratorOrdering.*: 104"),
        ((101, 0, 0, 0, "normal", 5, 0), r"draw.*: 105"),
        ((201, 0, 0, 0, "bits", 6, 0), r"draw.*: 105"),
    ],
)
def test_what_cannot_be_has_its_status(words: tuple[object, ...], said: str, program: Path, tmp_path: Path) -> None:
    done = run(program, *words, tmp_path / "out.bin")
    assert done.returncode == 1
    assert re.search(said, done.stdout), done.stdout
    if words[0] == 142:
        assert "XORWOW, MRG32k3a, Philox4x32-10 and 32-bit Sobol generators, and not number 142" in done.stderr


VECTORS_64 = "6aa72fc16602426d157594039191b903aac7171f2147d56eaeed4d03c480c64c"
"""SHA-256 of what cuRAND 10.4's curandGetDirectionVectors64 gives for 64 dimensions."""


def test_the_direction_numbers_of_64_bits_are_the_vendors(tools: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "vectors.cu").write_text(
        "#include <cstdio>\n#include <curand.h>\nint main() { curandDirectionVectors64_t* v;\n"
        "if (!curandGetDirectionVectors64(&v, CURAND_DIRECTION_VECTORS_32_JOEKUO6)) return 1;\n"
        "if (curandGetDirectionVectors64(&v, CURAND_DIRECTION_VECTORS_64_JOEKUO6)) return 2;\n"
        "fwrite(v, 64, sizeof *v, stdout); }\n"
    )
    command = [sys.executable, "-m", "gridstride", "run", str(tmp_path / "vectors.cu")]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(done.stdout).hexdigest() == VECTORS_64


def test_a_call_that_is_not_there_is_named(tools: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "poisson.cu").write_text(
        '#include <curand.h>\nextern "C" int curandGeneratePoisson(curandGenerator_t, unsigned*, size_t, double);\n'
        "int main() { return curandGeneratePoisson(nullptr, nullptr, 0, 1.0); }\n"
    )
    command = [sys.executable, "-m", "gridstride", "run", str(tmp_path / "poisson.cu")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "curandGeneratePoisson is not among what GridStride's own cuRAND has" in done.stderr
