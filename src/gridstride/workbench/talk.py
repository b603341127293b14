"""A conversation with the model that `gridstride serve` has on this machine: asked in a thread, read as it comes."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass, field

from gridstride.serve.client.conversation import ChatHistory
from gridstride.serve.client.remote import Remote, RemoteError, TooLong


class NoServer(RuntimeError):
    """Nothing that can be talked to answers at the port; the message says what is there instead."""


@dataclass(slots=True)
class Talk:
    """One window's conversation. `answer` is what has come of the newest answer, `forgotten` how many messages had to
    go for it to fit.
    """

    port: int
    model: str = ""
    answer: str = ""
    forgotten: int = 0
    conversation: ChatHistory = field(default_factory=ChatHistory)
    _server: Remote | None = None
    _stopped: bool = False

    @property
    def url(self) -> str:
        """Of this machine alone: whoever may open the page reaches no other machine through it."""
        return f"http://127.0.0.1:{self.port}"

    async def connect(self) -> None:
        """Ask the server which model it has; NoServer."""
        self.close()
        try:
            self._server = await asyncio.to_thread(Remote, self.url)
        except RemoteError as error:
            raise NoServer(str(error)) from error
        self.model = self._server.model

    async def say(self, text: str) -> None:
        """Have it answered; NoServer, after which it counts as not said where nothing has come."""
        self.answer, self.forgotten, self._stopped = "", 0, False
        self.conversation.say(text)
        try:
            await asyncio.to_thread(self._ask)
        except RemoteError as error:
            raise NoServer(str(error)) from error
        finally:
            if self.answer:
                self.conversation.answered(self.answer)
            else:
                self.conversation.unsay()

    def stop(self) -> None:
        """Keep what has come of the answer, and let the server stop."""
        self._stopped = True

    def close(self) -> None:
        """End the connection."""
        self.stop()
        if self._server is not None:
            self._server.close()
            self._server = None

    def _ask(self) -> None:
        if self._server is None:
            raise RemoteError(f"{self.url} is not connected")
        turn_count = len(self.conversation.turns)
        while True:
            try:
                with closing(self._server.answer(self.conversation.messages(), {})) as texts:
                    for text in texts:
                        self.answer += text
                        if self._stopped:
                            return
                return
            except TooLong:
                if not self.conversation.forget_oldest():
                    raise
                self.forgotten = turn_count - len(self.conversation.turns)
