"""Pictures of a lab's program: what its process says of its launches, looked at before it is shown."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from gridstride.compiler import compile_cuda
from gridstride.course.content import day
from gridstride.course.labs import program_pictures
from gridstride.course.labs.program_pictures import NothingToShow, launches_of, lines, page
from gridstride.programs.calls.launch_pictures import LaunchPictures
from gridstride.programs.process.confined import Outcome
from gridstride.programs.run import Ended
from gridstride.programs.timeline.calls import TimelineCalls
from gridstride.protocol import Shape
from gridstride.virtual.gpu import VirtualGPU

SOURCE = """// two kernels
extern "C" __global__ void copy(const float* from, float* to)
{
    to[threadIdx.x] = from[8 * threadIdx.x];
}
extern "C" __global__ void twice(float* to, int rounds)
{
    for (int k = 0; k < rounds; ++k) to[threadIdx.x] *= 2.0f;
}
int main() { }
"""


@pytest.fixture(scope="module")
def said() -> list[Mapping[str, Any]]:
    """What the process of a program says that launches both."""
    device = VirtualGPU("h200", memory=64 << 20, workers=1)
    module = device.load(compile_cuda(SOURCE, arch="sm_90", filename="two.cu").ptx)
    calls = TimelineCalls(device)
    calls.pictures = LaunchPictures(device)
    a, b = device.allocate(4096), device.allocate(4096)
    for memory in (a, b):
        device.copy_in(memory, np.zeros(4096, np.uint8))
    shape = Shape((1, 1, 1), (32, 1, 1), 0)
    calls.launch(module.kernels["copy"], shape, a.to_bytes(8, "little") + b.to_bytes(8, "little"), 0)
    calls.launch(module.kernels["twice"], shape, b.to_bytes(8, "little") + (500).to_bytes(4, "little"), 0)
    return json.loads(json.dumps(calls.pictures.words()))  # type: ignore[no-any-return]


def outcome(launches: Any, **how: Any) -> Outcome:
    return Outcome(Ended(0, 0.1, launches=launches, **how), "", "")


def test_the_heaviest_launch_comes_first_and_arrays_have_their_names(said: list[Mapping[str, Any]]) -> None:
    first, second = launches_of(outcome(said), "h200", SOURCE, "two.cu")
    assert (first.called, second.called) == ("twice<<<1, 32>>>", "copy<<<1, 32>>>")
    assert first.us > second.us
    assert {access.array for access in second.profile.accesses} == {"from", "to"}
    (line,) = (line for line in second.profile.lines if line.number == 4)
    assert line.counters.sectors_per_request == pytest.approx((32 + 4) / 2)


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize("change", [
    lambda words: words.update(us=float("nan")),
    lambda words: words.update(us="long"),
    lambda words: words.update(launches=-1),
    lambda words: words.update(shape=[[0, 1, 1], [32, 1, 1], 0]),
    lambda words: words.pop("run"),
    lambda words: words["run"].update(counters={}),
    lambda words: words["run"].update(kernel=7),
    lambda words: words.update(accesses=[{"line": 1}]),
    lambda words: words.update(way=[{"lanes": 0}]),
])  # fmt: skip
def test_what_is_no_launch_is_not_shown(said: list[Mapping[str, Any]], change: Change) -> None:
    words = copy.deepcopy(said)
    change(words[0])  # type: ignore[arg-type]
    with pytest.raises(NothingToShow, match="is none"):
        launches_of(outcome(words), "h200", SOURCE, "two.cu")


def test_names_play_no_tricks_on_the_page(said: list[Mapping[str, Any]]) -> None:
    words = copy.deepcopy(said)
    words[0]["run"]["kernel"] = "\x1b[2J<script>"  # type: ignore[index]
    (launch, *_) = sorted(launches_of(outcome(words), "h200", SOURCE, "two.cu"), key=lambda each: each.kernel)
    assert "\x1b" not in launch.called


def test_a_run_without_launches_says_why_there_are_no_pictures() -> None:
    with pytest.raises(NothingToShow, match="launched no kernel"):
        launches_of(outcome([]), "h200", SOURCE, "two.cu")
    with pytest.raises(NothingToShow, match="signal 11"):
        launches_of(outcome([], signal=11), "h200", SOURCE, "two.cu")


def test_the_page_opens_the_heaviest_and_has_the_others_a_click_away(
    said: list[Mapping[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    file = tmp_path / "add.cu"
    file.write_text(SOURCE)
    found = launches_of(outcome(said), "h200", SOURCE, "two.cu")
    monkeypatch.setattr(program_pictures, "_observed", lambda *_: (found, "add 1000 a.bin"))
    html = page(day(3), file)
    opened = re.findall(r'<details class="launch" name="launch"( open)?>\s*<summary><h2>([^<]*)', html)
    assert opened == [(" open", "twice&lt;&lt;&lt;1, 32&gt;&gt;&gt;"), ("", "copy&lt;&lt;&lt;1, 32&gt;&gt;&gt;")]
    for heading in ("Source", "Speed of light", "What a warp touches", "Divergence", "Occupancy", "Rooflines"):
        assert html.count(f"<h3>{heading}</h3>") == 2, heading
    assert html.count("<svg") >= 8
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", html)
    shown = list(lines(day(3), file))
    assert shown[1].startswith("  twice<<<1, 32>>>: ")
    assert any(re.match(r" +8 \| for \(int k = 0;.*% of time", each) for each in shown)


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_the_solution_of_day_3_is_shown_from_a_run_of_its_own() -> None:
    pytest.importorskip("ziglang")
    html = page(day(3), day(3).solution)
    assert "add&lt;&lt;&lt;4, 256&gt;&gt;&gt;" in html
    assert "Reads global memory of a (32 lanes, 4 bytes each): 4 sectors" in html
