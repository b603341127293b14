"""docs/licences.md: a row for every dependency, NVIDIA's apart from the others, and quotes that are in the files."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/licences.md").read_text()
OPEN, NVIDIA = PAGE.partition("## Packages under NVIDIA's terms")[::2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LISTS: dict[str, list[str]] = {"core": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
PROPRIETARY = "LicenseRef-NVIDIA-Proprietary"


def names(requirements: Iterable[str]) -> list[str]:
    """Names of distributions, our own extras left out."""
    found = (re.match(r"[\w-]+", each) for each in requirements)
    return [match[0] for match in found if match and match[0] != "gridstride"]


def rows(text: str) -> dict[str, str]:
    """What is said in a table of packages of what each is for, by package."""
    found = dict(re.findall(r"^\| ([a-z][\w-]+) \| ([\w, ()-]+) \|", text, re.MULTILINE))
    return {name: use for name, use in found.items() if name != "package"}


@pytest.mark.parametrize(("extra", "package"), [(extra, name) for extra in LISTS for name in names(LISTS[extra])])
def test_every_dependency_has_a_row_that_says_what_it_is_for(extra: str, package: str) -> None:
    assert re.search(rf"\b{extra}\b", (rows(OPEN) | rows(NVIDIA))[package])


def test_no_row_is_of_a_package_that_nothing_asks_for() -> None:
    asked = {name for each in LISTS.values() for name in names(each)}
    assert set(rows(OPEN) | rows(NVIDIA)) - asked == {"nvidia-nvjitlink"}  # numba-cuda asks for it


@pytest.mark.parametrize("package", sorted(rows(OPEN) | rows(NVIDIA)))
def test_nvidias_terms_are_those_of_the_packages_that_name_them(package: str) -> None:
    try:
        metadata = importlib.metadata.metadata(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    assert (metadata.get("License-Expression") == PROPRIETARY) == (package in rows(NVIDIA))


def test_what_is_quoted_is_what_the_licence_file_says() -> None:
    try:
        files = importlib.metadata.files("nvidia-cuda-nvrtc") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    text = " ".join(next(file for file in files if file.name == "License.txt").read_text().split())
    quotes = re.findall(r"^> (.+)$", NVIDIA, re.MULTILINE)
    assert len(quotes) == 4
    assert [quote for quote in quotes if quote not in text] == []


def test_ptx_text_runs_with_none_of_nvidias_packages() -> None:
    script = """
import sys
sys.modules.update(dict.fromkeys(("nvidia", "cuda", "cuda.bindings", "cuda.core"), None))
import numpy as np, gridstride as gs
text = ".version 8.0\\n.target sm_80\\n.address_size 64\\n"
text += ".visible .entry one(.param .u64 out) {\\n .reg .b64 %rd<2>;\\n"
text += " ld.param.u64 %rd1, [out];\\n st.global.u32 [%rd1], 1;\\n ret;\\n}\\n"
x = np.zeros(1, "i4")
with gs.use("virtual"):
    gs.ptx(text)["one"][1, 1](x)
print(x[0])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("1\n", "")
