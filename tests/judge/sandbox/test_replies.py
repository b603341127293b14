"""Whatever a worker answers, the judge comes to a verdict that it can show; a forged one never makes it pass."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gridstride as gs
from gridstride.commands.text.explain_text import profile_text
from gridstride.commands.text.findings import finding_line, finding_lines
from gridstride.judge.explain.explanation import KernelExplanation, _explained
from gridstride.judge.find import find
from gridstride.judge.header import HeaderError, parse_kernel
from gridstride.judge.ladder import Ladder
from gridstride.judge.report.kernel_page import render
from gridstride.judge.sandbox import checked_words, records
from gridstride.judge.sandbox.python_header import parse_python
from gridstride.judge.sandbox.subject import Sandbox
from gridstride.judge.sandbox.wire import Bounds, MessageReader, WireError, WireMessage
from gridstride.judge.submission import submission
from gridstride.judge.symbols import ExpressionError, evaluate

numbers = (
    st.integers() | st.floats() | st.sampled_from([10**400, -(10**30), 1 << 63, 0, -1, float("inf"), float("nan")])
)
anything = st.recursive(
    st.none() | st.booleans() | numbers | st.text(st.characters(), max_size=8) | st.just("9" * 5000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@st.composite
def changed(draw: st.DrawFn, thing: Any) -> Any:
    """What a worker said, with something else in one place of it, or without that place."""
    new = copy.deepcopy(thing)
    at, key = {"": new}, ""
    while isinstance(at[key], dict | list) and at[key] and draw(st.integers(0, 5)):
        at = at[key]
        key = draw(st.sampled_from(list(at) if isinstance(at, dict) else range(len(at))))
    if isinstance(at, dict) and draw(st.booleans()):
        at.pop(key)
        return new if key else None
    if isinstance(at[key], int) and draw(st.booleans()):
        at[key] = draw(numbers)
    else:
        at[key] = draw(anything)
    return at[""] if key == "" and set(at) == {""} else new


@pytest.mark.parametrize("parse", [records.findings_of, records.blame_of, records.accesses_of, records.steps_of])
@given(words=anything)
def test_anything_is_read_as_what_it_should_be_or_refused(parse: Any, words: Any) -> None:
    """Nothing else is raised, and what is refused is said in one line."""
    said = ""
    try:
        parse(words)
    except checked_words.MalformedError as refused:
        said = str(refused)
    assert len(said.splitlines()) <= 1


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_no_bytes_are_too_strange_for_the_reader(pieces: list[bytes]) -> None:
    """Each is waited on, a message, or refused; nothing else is raised."""
    reader = MessageReader(Bounds(words=1000, buffers=3, nbytes=1000))
    answer: object = None
    for piece in pieces:
        try:
            answer = reader.feed(piece)
        except WireError as refused:
            answer = refused
        if answer is not None:
            break
    assert answer is None or isinstance(answer, WireMessage | WireError)


# -- a real judgement, replayed with one answer forged -----------------------------------------------------------------
class Tape:
    """What a real worker answered to each request, and what is said in its place from now on."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, tuple[bytes, ...]], WireMessage] = {}
        self.forged: tuple[str, Any] | None = None

    def key(self, message: WireMessage) -> tuple[str, str, tuple[bytes, ...]]:
        return message.words["do"], json.dumps(message.words), tuple(map(bytes, message.buffers))

    def answer(self, message: WireMessage) -> WireMessage:
        real = self.known[self.key(message)]
        if self.forged is not None and self.forged[0] == message.words["do"]:
            return WireMessage(self.forged[1], real.buffers)
        return real

    def said(self, what: str) -> Any:
        return next(reply.words for (did, _, _), reply in self.known.items() if did == what)


RIGHT = """// entry: add
// grid: ceil(n/64)
// block: 64
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) s[threadIdx.x] = a[i];
    if (i < n) c[i] = s[threadIdx.x] + b[i];
}
"""


@pytest.fixture(scope="module", params=[RIGHT, RIGHT.replace("+ b", "- b")], ids=["right", "wrong"])
def taped(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Tape, Path, Ladder]]:
    path = tmp_path_factory.mktemp("replies") / "add.cu"
    path.write_text(request.param)
    judge = Ladder(find("vector_add"), device=gs.VirtualGPU(), seed=5, sandbox=True)
    judge._prepared = judge.cases()[:1]
    tape, ask = Tape(), Sandbox.ask

    def taping(sandbox: Sandbox, message: WireMessage, **how: Any) -> WireMessage:
        reply = ask(sandbox, message, **how)
        tape.known[tape.key(message)] = reply
        return reply

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sandbox, "ask", taping)
        explained = explanation(path, judge)
        assert explained.profile is not None
        patch.setattr(Sandbox, "ask", lambda sandbox, message, **how: tape.answer(message))
        yield tape, path, judge
    judge.close()


def explanation(path: Path, judge: Ladder) -> KernelExplanation:
    """Judged, and shown in every way that there is."""
    made = _explained(submission(path), judge, False, lambda _: None)
    for finding in made.result.findings:
        finding_line(finding)
        finding_lines(finding, made.file.source)
    if made.profile is not None:
        profile_text(made.profile)
    json.dumps(made.json(), allow_nan=False)
    render(made, command="gridstride explain")
    return made


@pytest.mark.parametrize("what", ["build", "attempt", "observe", "accesses", "blame"])
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_forged_reply_is_a_verdict_and_no_traceback(
    what: str, taped: tuple[Tape, Path, Ladder], data: st.DataObject
) -> None:
    tape, path, judge = taped
    wrong = "- b" in path.read_text()
    if what == "blame" and not wrong:
        return
    words = data.draw(changed(tape.said(what)))
    tape.forged = what, words if isinstance(words, dict) else {"": words}
    try:
        made = explanation(path, judge)
    finally:
        tape.forged = None
    assert made.result.verdict == "fail" or not wrong


# -- what the judge reads of the file itself ---------------------------------------------------------------------------
PIECES = [
    "grid: ", "block: ", "warps: ", "constants: ", "needs: ", "entry: k", "shared: ", "expect: ", "²", "٣", "n",
    "9" * 5000, "1", "/", "*", "(", ")", ",", " ", "BLOCK=", "-", ".", "ceil", "\n# ", "\n// ", "1e9", "\x00", "\ud800",
]  # fmt: skip
headers = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=14).map("".join)


@given(headers)
def test_any_header_is_read_or_refused_in_one_line(text: str) -> None:
    for parse, source in ((parse_python, f"# {text}\nimport triton"), (parse_kernel, f"// {text}\n__global__")):
        said = ""
        try:
            read = parse(source, filename="k")
            launch = getattr(read, "kernel", read).launch
            if launch is not None:
                launch.shape({"n": 1 << 24})
        except (HeaderError, ExpressionError) as refused:
            said = str(refused)
        assert len(said.splitlines()) <= 1


@pytest.mark.parametrize("warps", ["²", "٣٣", "9" * 5000, "-1"])
def test_warps_that_are_no_number_are_a_wrong_header(warps: str) -> None:
    with pytest.raises(HeaderError, match="is not a whole number"):
        parse_python(f"# entry: k\n# grid: n\n# warps: {warps} \nimport triton", filename="k.py")


def test_a_number_beyond_all_floats_is_said_so() -> None:
    with pytest.raises(ExpressionError, match="beyond all numbers"):
        evaluate("*".join(["n"] * 60) + "/7", {"n": 1 << 24})
