"""What commands that ask a model share: which folder, which sampling, a model in this process."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.terminal import WrongUse, interrupts_held, within

if TYPE_CHECKING:
    from gridstride.serve.local import Local
    from gridstride.serve.sampling import Sampling

_DTYPES = ("auto", "float32", "bfloat16", "float16")
_MOST_TOKENS = 1 << 24
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How tokens are drawn; None: as the model's folder says, else plainly."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None

    def check(self) -> None:
        """WrongUse that names the option."""
        within("--max-tokens", self.max_tokens, 1, _MOST_TOKENS)
        within("--temperature", self.temperature, 0, 100)
        within("--top-k", self.top_k, 0, _MOST_TOKENS)
        within("--top-p", self.top_p, 0, 1)
        within("--min-p", self.min_p, 0, 1)
        within("--repetition-penalty", self.repetition_penalty, 0.01, 100)
        within("--seed", self.seed, 0, (1 << 63) - 1)

    def given(self) -> dict[str, float]:
        """Those that were said, but for the length and the seed."""
        names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def sampling(folder: Path, wishes: Wishes, *, max_tokens: int) -> Sampling:
    """The wishes, then the folder's own, then plain ones; a fresh seed where none is wished."""
    from gridstride.models import generation
    from gridstride.serve.sampling import Sampling

    said = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
    said |= generation.sampling(folder) | wishes.given()
    return Sampling(
        max_tokens=max_tokens,
        seed=secrets.randbits(31) if wishes.seed is None else wishes.seed,
        temperature=said["temperature"],
        top_k=int(said["top_k"]),
        top_p=max(said["top_p"], 1e-9),  # 0 means the likeliest token alone
        min_p=said["min_p"],
        repetition_penalty=said["repetition_penalty"],
    )


@contextmanager
def mistakes_told() -> Iterator[None]:
    """Inside, what is wrong with a model or a request is wrong use of the command."""
    needs("torch", "tokenizers", "safetensors", extra="torch")
    with interrupts_held():
        import torch  # noqa: F401
    from gridstride.models.errors import ModelError
    from gridstride.serve.admission import Refused

    try:
        yield
    except (ModelError, Refused) as error:
        raise WrongUse(str(error)) from error


def needs(*packages: str, extra: str) -> None:
    """WrongUse that says how to install what is missing."""
    if missing := [name for name in packages if find_spec(name) is None]:
        raise WrongUse(f"{', '.join(missing)} not installed: pip install 'gridstride[{extra}]'")


def loaded(folder: Path, *, device: str | None, dtype: str, most: int = 1) -> Local:
    """The folder's model in this process."""
    if dtype not in _DTYPES:
        raise WrongUse(f"--dtype {dtype} is none of {', '.join(_DTYPES)}")
    from gridstride.serve.local import Local

    return Local.load(folder, device=device, dtype=None if dtype == "auto" else dtype, most=most)


def shown(text: str) -> str:
    """A model's text for a terminal: what is no text there, and could command it, shows as a replacement."""
    return text.translate(_CONTROLS)


def key_in(file: str | None) -> str | None:
    """An API key from a file, its first word; None for no file."""
    if file is None:
        return None
    try:
        words = Path(file).expanduser().read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise WrongUse(f"--api-key-file {file} cannot be read: {reason}") from error
    if not words or not (words[0].isascii() and words[0].isprintable()):
        raise WrongUse(f"--api-key-file {file} holds no key")
    return words[0]
