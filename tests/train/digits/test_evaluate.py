"""Which digits the classifier takes for which."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from gridstride.train.digits.data import CLASSES, LabelledImages  # noqa: E402
from gridstride.train.digits.evaluate import confusion  # noqa: E402


def test_rows_are_what_images_show_and_columns_what_they_are_taken_for() -> None:
    labels = torch.tensor([3, 3, 3, 8])
    counts = confusion(torch.tensor([3, 5, 5, 8]), LabelledImages(torch.zeros(4, 8, 8), labels))
    assert len(counts) == CLASSES
    assert (counts[3][3], counts[3][5], counts[5][3], counts[8][8]) == (1, 2, 0, 1)
    assert sum(map(sum, counts)) == 4
