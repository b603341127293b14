"""The digits pipeline: it reads, learns, and says which digits it takes for which."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
import torch

from gridstride.train.digits import data, evaluate
from gridstride.train.digits.fit import FitSettings
from gridstride.train.digits.run import _save, train
from gridstride.train.errors import TrainFailed

RECORDED = Path(__file__).parents[2] / "bench/results/digits.json"
WORST, MEAN = 0.975, 0.985
"""What every seed and what ten seeds are to reach on any processor: bench/digits.py."""


@pytest.mark.timeout(600)
def test_it_reads_39_of_40_digits_it_has_never_seen(tmp_path: Path) -> None:
    record = train(tmp_path / "digits", FitSettings(), device="cpu", precision="fp32", say=lambda text: None)
    assert record["test_accuracy"] >= WORST
    assert json.loads((tmp_path / "digits" / "result.json").read_text()) == record
    assert (tmp_path / "digits" / "confusion.png").read_bytes().startswith(b"\x89PNG")
    counts = torch.tensor(record["confusion"])
    assert counts.sum() == record["test_images"] == 450
    assert counts.diagonal().sum() / counts.sum() == pytest.approx(record["test_accuracy"])


def test_ten_seeds_reached_it_whatever_instructions_the_processor_had() -> None:
    rows = json.loads(RECORDED.read_text())["rows"]
    assert {row["detail"]["instructions"] for row in rows} == {"DEFAULT", "AVX2", "AVX512"}
    for row in rows:
        accuracies = row["detail"]["test_accuracy"]
        assert len(accuracies) == 10
        assert min(accuracies) >= WORST
        assert sum(accuracies) / 10 >= MEAN


def test_a_full_disk_is_said_and_what_was_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    _save(tmp_path, {"w": torch.zeros(2)}, {"a": 1})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr("os.replace", full)
    with pytest.raises(TrainFailed, match="cannot be written: No space left"):
        _save(tmp_path, {"w": torch.ones(2)}, {"a": 2})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_no_image_is_in_two_parts() -> None:
    digits = data.load(seed=0)
    parts = (digits.train, digits.validation, digits.test)
    assert sum(map(len, parts)) == 1797
    images = torch.cat([part.images for part in parts]).flatten(1)
    assert len(images.unique(dim=0)) == 1797


def test_a_shifted_image_is_the_image_moved() -> None:
    image = torch.zeros(500, 8, 8)
    image[:, 3, 4] = 1.0
    moved = data.shifted(image, torch.Generator().manual_seed(0))
    places = {tuple(place) for place in moved.nonzero()[:, 1:].tolist()}
    assert places == {(row, column) for row in (2, 3, 4) for column in (3, 4, 5)}
    assert moved.sum() == 500


def test_confusion_counts_what_is_shown_by_what_it_is_taken_for() -> None:
    part = data.LabelledImages(torch.zeros(4, 8, 8), torch.tensor([1, 1, 2, 9]))
    counts = evaluate.confusion(torch.tensor([1, 7, 2, 9]), part)
    assert (counts[1][1], counts[1][7], counts[2][2], counts[9][9]) == (1, 1, 1, 1)
    assert sum(map(sum, counts)) == 4
