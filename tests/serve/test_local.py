"""A model in this process: its answers, and that nothing runs on after one was left."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny import write_model

from gridstride.models.errors import ModelError
from gridstride.models.huggingface import folder
from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.local import Local

PROMPT = list(range(40, 52))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def shared(path: Path) -> Local:
    return Local.load(path, device="cpu", most=4)


@pytest.fixture
def local(shared: Local) -> Iterator[Local]:
    yield shared
    assert shared._engine.idle
    assert shared._engine.stats().blocks_used == 0


def wish(**how: object) -> Sampling:
    return Sampling(**{"max_tokens": 24, "temperature": 0.0, "ignore_eos": True} | how)


def text(local: Local, sampling: Sampling, stop: tuple[str, ...] = ()) -> str:
    return "".join(piece.text for _, piece in local.answers(PROMPT, [sampling], stop=stop))


def test_an_answer_is_what_the_model_finds_likeliest(local: Local, path: Path) -> None:
    import torch

    decoder, ids = folder.load(path), list(PROMPT)
    for _ in range(24):
        with torch.no_grad():
            ids.append(int(decoder.logits(decoder(torch.tensor([ids])))[0, -1].argmax()))
    drawn = [token for _, piece in local.answers(PROMPT, [wish()]) for token in piece.tokens]
    assert drawn == ids[len(PROMPT) :]


def test_several_answers_come_side_by_side(local: Local) -> None:
    seen = [(number, piece.finish) for number, piece in local.answers(PROMPT, [wish(seed=n) for n in range(3)])]
    assert sorted(number for number, finish in seen if finish) == [0, 1, 2]
    assert [number for number, _ in seen[:3]] == [0, 1, 2]


def test_an_answer_depends_on_its_seed_alone(local: Local) -> None:
    one = text(local, wish(temperature=1.0, seed=7))
    together = dict.fromkeys(range(3), "")
    for number, piece in local.answers(PROMPT, [wish(temperature=1.0, seed=seed) for seed in (6, 7, 8)]):
        together[number] += piece.text
    assert together[1] == one
    assert len(set(together.values())) == 3


def test_a_stop_string_ends_it(local: Local) -> None:
    whole = text(local, wish())
    stop = whole[5:8]
    assert text(local, wish(), (stop,)) == whole[: whole.index(stop)]


def test_who_stops_reading_leaves_nothing_running(local: Local) -> None:
    answers = local.answers(PROMPT, [wish(max_tokens=100)])
    next(answers)
    answers.close()


def test_ctrl_c_ends_the_answer_between_two_steps(local: Local) -> None:
    def interrupted() -> None:
        for place, _ in enumerate(local.answers(PROMPT, [wish(max_tokens=100)])):
            if place == 3:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert text(local, wish()) == text(local, wish())


def test_ctrl_c_within_a_step_waits_for_its_end(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    step, done = local._engine.step, []

    def interrupted() -> object:
        signal.raise_signal(signal.SIGINT)
        done.append(step())
        return done[-1]

    monkeypatch.setattr(local._engine, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(local.answers(PROMPT, [wish()]))
    monkeypatch.undo()
    assert done


def test_what_cannot_fit_is_refused(local: Local) -> None:
    with pytest.raises(Refused, match="context is 128"):
        list(local.answers(PROMPT, [wish(max_tokens=500)]))


def test_of_several_wishes_a_bad_one_starts_none(local: Local) -> None:
    with pytest.raises(Refused):
        list(local.answers(PROMPT, [wish(), wish(max_tokens=500)]))


@pytest.mark.parametrize(
    ("device", "told"),
    [("abacus", "--device abacus is none"), ("cuda:77", "--device cuda:77"), ("mps", "is not served|is none")],
)
def test_a_device_that_is_not_there_is_told(device: str, told: str, path: Path) -> None:
    with pytest.raises(ModelError, match=told):
        Local.load(path, device=device)
