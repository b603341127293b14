"""How a model's makers want a text's hidden states made into one: sentence-transformers' 1_Pooling/config.json."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gridstride.models.errors import ModelError
from gridstride.models.huggingface.fields import Fields, read_object

Pooling = Literal["last", "mean"]
_FILE = Path("1_Pooling", "config.json")
_FLAGS: dict[str, Pooling] = {"pooling_mode_lasttoken": "last", "pooling_mode_mean_tokens": "mean"}
_WORDS: dict[str, Pooling] = {"lasttoken": "last", "mean": "mean"}


def pooling(folder: str | Path) -> Pooling:
    """What the folder says, `last` where it says nothing; ModelError for what is neither of the two."""
    path = Path(folder) / _FILE
    if not path.exists():
        return "last"
    fields = Fields(read_object(path), str(path))
    word = fields.values.get("pooling_mode")
    if word is not None:
        if word not in _WORDS:
            raise fields.wrong("pooling_mode", f"supported are {', '.join(_WORDS)}")
        return _WORDS[word]
    modes = [name for name in fields.values if name.startswith("pooling_mode_") and fields.flag(name, False)]
    if len(modes) != 1 or modes[0] not in _FLAGS:
        raise ModelError(f"{path} wants {', '.join(modes) or 'nothing'}: supported is one of {', '.join(_FLAGS)}")
    return _FLAGS[modes[0]]
