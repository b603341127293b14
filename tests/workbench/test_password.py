"""The password of the workbench: kept as a hash, and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.course.learner.progress import LearnerProgress
from gridstride.workbench import password


def test_only_the_password_matches_its_hash_and_each_hash_has_its_own_salt() -> None:
    first, second = password.hashed("correct horse"), password.hashed("correct horse")
    assert first != second
    assert "correct" not in first
    assert password.matches("correct horse", first)
    assert not password.matches("correct house", first)


def test_a_short_one_is_refused_with_both_numbers() -> None:
    with pytest.raises(password.WeakPassword, match="8 characters or more, this one has 7"):
        password.hashed("1234567")


def test_the_newest_is_kept(tmp_path: Path) -> None:
    with LearnerProgress(tmp_path / "progress.sqlite") as database:
        assert password.kept(database) is None
        for word in ("first password", "second password"):
            password.keep(database, word)
        assert password.matches("second password", password.kept(database) or "")


def test_cookies_are_signed_with_what_was_made_once(tmp_path: Path) -> None:
    with LearnerProgress(tmp_path / "progress.sqlite") as database:
        secret = password.cookie_secret(database)
        assert len(secret) == 64
        assert password.cookie_secret(database) == secret


def test_an_empty_variable_is_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(password.VARIABLE, "")
    assert password.from_environment() is None
    monkeypatch.setenv(password.VARIABLE, "from outside")
    assert password.from_environment() == "from outside"
