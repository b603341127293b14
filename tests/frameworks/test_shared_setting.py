"""A setting is ours from the first user to the last, whatever their order."""

from __future__ import annotations

from gridstride.frameworks.shared_setting import SettingUser, SharedSetting


class Noted(SharedSetting):
    def __init__(self) -> None:
        super().__init__()
        self.changes: list[str] = []

    def put_ours(self) -> None:
        self.changes.append("ours")

    def put_back(self) -> None:
        self.changes.append("theirs")


def test_the_first_user_sets_it_and_the_last_one_puts_it_back() -> None:
    setting = Noted()
    with SettingUser(setting) as first, SettingUser(setting) as second:
        first.take()
        second.take()
        first.deactivate()
        first.deactivate()
        assert setting.changes == ["ours"]
    assert setting.changes == ["ours", "theirs"]


def test_who_never_took_it_puts_nothing_back() -> None:
    setting = Noted()
    with SettingUser(setting):
        pass
    assert setting.changes == []
