"""A conversation that is kept within a model's context."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Message = dict[str, str]


@dataclass(slots=True)
class ChatHistory:
    """What was said, after the `system` message where there is one."""

    system: str | None = None
    turns: list[Message] = field(default_factory=list)

    def messages(self) -> list[Message]:
        first = [] if self.system is None else [{"role": "system", "content": self.system}]
        return first + self.turns

    def say(self, text: str) -> None:
        self.turns.append({"role": "user", "content": text})

    def answered(self, text: str) -> None:
        self.turns.append({"role": "assistant", "content": text})

    def unsay(self) -> None:
        """The last thing said was never answered."""
        if self.turns and self.turns[-1]["role"] == "user":
            self.turns.pop()

    def forget_oldest(self) -> bool:
        """Drop the oldest question with its answer; False where only the newest is left."""
        later = [number for number, turn in enumerate(self.turns) if turn["role"] == "user" and number > 0]
        if not later:
            return False
        del self.turns[: later[0]]
        return True

    def trim(self, fits: Callable[[Sequence[Message]], bool]) -> int | None:
        """Forget the oldest until the rest fits: how many messages went; None where nothing fits, and all is kept."""
        retained = list(self.turns)
        while not fits(self.messages()):
            if not self.forget_oldest():
                self.turns = retained
                return None
        return len(retained) - len(self.turns)

    def save(self, path: str | Path) -> None:
        """Write it as JSON, as chat completions take it; FileExistsError where the file exists."""
        text = json.dumps({"messages": self.messages()}, ensure_ascii=False, indent=2) + "\n"
        with open(Path(path).expanduser(), "x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
