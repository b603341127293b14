"""What commands that ask a model share: which folder, which sampling, a model in this process."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.terminal import WrongUse, interrupts_held, within
from gridstride.serve.engine.sampling import COMMAND_OPTIONS, Sampling

if TYPE_CHECKING:
    from gridstride.serve.local import Local

_DTYPES = ("auto", "float32", "bfloat16", "float16")
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


class SamplingOptions:
    """How tokens are drawn, by the names of `Sampling`; None: as the model's folder says, else plainly."""

    def __init__(self, **options: float | None) -> None:
        assert options.keys() <= COMMAND_OPTIONS.keys(), options
        self._options = {name: options[name] for name in COMMAND_OPTIONS if options.get(name) is not None}

    @property
    def max_tokens(self) -> int | None:
        return None if (value := self._options.get("max_tokens")) is None else int(value)

    @property
    def seed(self) -> int | None:
        return None if (value := self._options.get("seed")) is None else int(value)

    def check(self) -> None:
        """WrongUse that names the option."""
        for name, value in self._options.items():
            option = COMMAND_OPTIONS[name]
            within(f"--{name.replace('_', '-')}", value, option.least, option.most)

    def given(self) -> dict[str, float]:
        """Those that were said, but for the length and the seed."""
        options = self._options.items()
        return {name: value for name, value in options if value is not None and name not in ("max_tokens", "seed")}


def sampling(folder: Path, wishes: SamplingOptions, *, max_tokens: int) -> Sampling:
    """The wishes, then the folder's own, then plain ones; a fresh seed where none is wished."""
    from gridstride.models.huggingface import generation

    seed = secrets.randbits(31) if wishes.seed is None else wishes.seed
    return Sampling.of(max_tokens=max_tokens, seed=seed, **(generation.sampling(folder) | wishes.given()))


@contextmanager
def usage_errors() -> Iterator[None]:
    """Inside, what is wrong with a model or a request is wrong use of the command."""
    needs("torch", "tokenizers", "safetensors", extra="torch")
    from gridstride.models.openmp import let_waiting_threads_sleep

    let_waiting_threads_sleep()
    with interrupts_held():
        import torch  # noqa: F401
    from gridstride.models.errors import ModelError
    from gridstride.serve.engine.admission import Refused

    try:
        yield
    except (ModelError, Refused) as error:
        raise WrongUse(str(error)) from error


def needs(*packages: str, extra: str) -> None:
    """WrongUse that says how to install what is missing."""
    if missing := [name for name in packages if find_spec(name) is None]:
        raise WrongUse(f"{', '.join(missing)} not installed: pip install 'gridstride[{extra}]'")


def loaded(folder: Path, *, device: str | None, dtype: str, quantization: str | None = None, most: int = 1) -> Local:
    """The folder's model in this process."""
    if dtype not in _DTYPES:
        raise WrongUse(f"--dtype {dtype} is none of {', '.join(_DTYPES)}")
    from gridstride.serve.local import Local

    return Local.load(
        folder, device=device, dtype=None if dtype == "auto" else dtype, quantization=quantization, most=most
    )


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
