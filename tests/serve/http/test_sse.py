"""An event from a template is the event that would be written anew."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.http.sse import EventTemplate

TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_only_the_text_changes(texts: list[str], model: str) -> None:
    template = EventTemplate(lambda text: {"model": model, "choices": [{"text": text, "end": None}]})
    for text in texts:
        data = template.filled(text)
        assert data.startswith(b"data: ")
        assert data.endswith(b"\n\n")
        assert len(data.splitlines()) == 2
        assert json.loads(data[6:]) == {"model": model, "choices": [{"text": text, "end": None}]}
