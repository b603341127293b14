"""What is published: wheel and source archive hold all of it, and their metadata claim nothing that is not there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BUILD = "import sys; from hatchling import build; build.build_wheel(sys.argv[1]); build.build_sdist(sys.argv[1])"
MODULES = {
    "scikit-learn": "sklearn", "numba-cuda": "numba", "nvidia-cuda-nvcc": "ptxas", "nvidia-nvvm": "cicc",
    "nvidia-cuda-profiler-api": "cuda_profiler_api", "markdown-it-py": "markdown_it",
    "cmeel-libomp": "libomp",
}  # fmt: skip
"""What a distribution is known by in code, where that is not its own name."""
NOT_TESTED = {"test"}
"""Extras that are no part of what runs."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run([sys.executable, "-c", BUILD, folder], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (file,) = built.glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    package = ROOT / "src/gridstride"
    files = {str(path.relative_to(package.parent)) for path in package.rglob("*") if path.is_file()}
    course = (ROOT / "course").rglob("*")
    files |= {f"gridstride/course/days/{path.relative_to(ROOT / 'course')}" for path in course if path.is_file()}
    files.add("gridstride/kernels/ladders_h200.json")  # of bench/results: the workbench shows its times
    assert {name for name in wheel.namelist() if name.startswith("gridstride/")} == {
        name for name in files if "__pycache__" not in name
    }
    assert {Path(name).suffix for name in wheel.namelist()} > {".toml", ".cu", ".css", ".j2", ".h"}


def test_the_course_and_recorded_times_are_read_from_the_wheel_alone(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    code = "from gridstride.course.content import course_folder, day, day_numbers; print(course_folder());" \
        "print([day(number).title for number in day_numbers()][0]);" \
        "from gridstride.workbench.ladder_record import recorded; print(recorded('matmul').gpu)"  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=60)  # fmt: skip
    days = str(tmp_path / "site/gridstride/course/days")
    assert done.stdout.splitlines() == [days, "What a GPU is for", "NVIDIA H200"], done.stderr


def test_learn_and_watch_go_from_any_folder_with_the_wheel_alone(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    (tmp_path / "elsewhere").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "GRIDSTRIDE_COURSE": str(tmp_path / "mine")}

    def gridstride(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gridstride", *words, "--json"]
        return subprocess.run(command, cwd=tmp_path / "elsewhere", env=environment, capture_output=True, text=True,
                              timeout=100)  # fmt: skip

    opened = gridstride("learn")
    file = tmp_path / "mine/day001/chips.toml"
    assert json.loads(opened.stdout)["file"] == str(file), opened.stderr
    solution = tmp_path / "site/gridstride/course/days/day001/solution/chips.toml"
    file.write_text(solution.read_text())
    judged = gridstride("watch", "1")
    assert json.loads(judged.stdout)["verdict"] == "pass", judged.stderr


def test_the_source_archive_holds_what_it_is_said_to(built: Path) -> None:
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert tops >= set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert {"src", "course", "tests", "docs", "Makefile", "pyproject.toml"} <= tops


def test_the_summary_names_only_what_there_is(metadata: Message) -> None:
    assert metadata["Summary"] == PROJECT["project"]["description"]
    rooms = {"virtual GPU": "virtual", "judge": "judge", "kernel ladders": "kernels", "serving stack": "serve"}
    for words, room in rooms.items():
        assert words in metadata["Summary"]
        assert (ROOT / "src/gridstride" / room).is_dir()
    assert "course" not in metadata["Summary"] or (ROOT / "course").is_dir()


def test_every_extra_brings_what_the_code_uses(metadata: Message) -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "src/gridstride").rglob("*.py"))
    extras = set(metadata.get_all("Provides-Extra") or ())
    assert extras == set(PROJECT["project"]["optional-dependencies"])
    unused = []
    for line in metadata.get_all("Requires-Dist") or ():
        found = re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", line)
        if found and found[2] not in NOT_TESTED and found[1] != "gridstride":
            module = MODULES.get(found[1], found[1].replace("-", "_"))
            unused += [] if re.search(rf"\b{module}\b", code) else [line]
    assert unused == []
