"""What an engine is made of beside its model's folder, for the process that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.serve.engine.speculation import Speculation


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """As `gridstride serve` has them; None: as the machine or the model's folder has it."""

    device: str | None = None
    dtype: str | None = None
    memory: int | None = None
    """Bytes of the cache."""
    block_size: int | None = None
    policy: str = "continuous"
    max_running: int = 1
    warm: bool = True
    """What takes time once is done before the first request, not during it."""
    longest: int | None = None
    """Tokens of a sequence, where these are to be fewer than the model's context."""
    tensor_parallel: int = 1
    """Processes that share each layer."""
    adapters: Sequence[str] = ()
    """Folders of those that a request may choose by their place, from 1 on."""
    speculation: Speculation | None = None
    draft: str | None = None
    """The folder of the speculation's small model."""
    quantization: str | None = None
    """"int8" for weights of 8 bits."""
