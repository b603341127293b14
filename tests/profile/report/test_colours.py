"""Every category of the account has a colour of the style sheet's."""

from __future__ import annotations

from pathlib import Path

from gridstride.profile import account, report
from gridstride.profile.account import Category
from gridstride.profile.report.colours import class_of

CATEGORIES = [value for value in vars(account).values() if isinstance(value, Category)]


def test_every_category_has_one() -> None:
    sheet = (Path(str(report.__file__)).parent / "profile.css").read_text()
    assert len(CATEGORIES) > 10
    assert [category.key for category in CATEGORIES if f".{class_of(category.key)}" not in sheet] == []
