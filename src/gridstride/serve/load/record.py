"""What one request went through, as its user saw it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class RequestRecord:
    """Times in seconds on the clock of `time.perf_counter`; `due` is when the plan wanted it sent."""

    due: float
    sent: float
    chunks: list[float] = field(default_factory=list)  # when text came
    end: float = 0.0
    prompt_tokens: int = 0
    output_tokens: int = 0
    counted: bool = False  # the server said how many tokens; else each chunk with text counts as one
    finish: str | None = None
    error: str | None = None  # its kind, as it is counted
    message: str = ""  # what the server said about it

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def ttft(self) -> float:
        """Time to first token: a user who should have been served at `due` waits from there."""
        return (self.chunks[0] if self.chunks else self.end) - self.due

    @property
    def e2e(self) -> float:
        return self.end - self.due

    @property
    def tpot(self) -> float | None:
        """Mean time per output token after the first; None for a single token."""
        if self.output_tokens < 2 or not self.chunks:
            return None
        return (self.end - self.chunks[0]) / (self.output_tokens - 1)

    @property
    def gaps(self) -> list[float]:
        """Between one text and the next: inter-token latencies where the server sends each token by itself."""
        return [b - a for a, b in zip(self.chunks, self.chunks[1:], strict=False)]
