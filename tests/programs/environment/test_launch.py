from __future__ import annotations

import pytest

from gridstride.programs.environment.launch import settings_of, settings_text
from gridstride.programs.program_errors import ProgramError
from gridstride.programs.run import Settings


def test_settings_come_back_from_their_text() -> None:
    settings = Settings("a100", sanitize=True, gpus=2)
    assert settings_of(settings_text(settings)) == settings
    assert settings_text(Settings()) == "{}"


@pytest.mark.parametrize("text", ["sanitize", "[1]", '{"chips": "a100"}'])
def test_a_text_of_another_s_is_refused(text: str) -> None:
    with pytest.raises(ProgramError, match="is not what gridstride env writes"):
        settings_of(text)
