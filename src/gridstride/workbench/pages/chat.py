"""A chat with the model that `gridstride serve` has on this machine, or how to start one."""

from __future__ import annotations

from nicegui import ui

from gridstride.plain import plain
from gridstride.workbench.pages.frame import button, trouble
from gridstride.workbench.talk import NoServer, Talk

_PORT = 8000  # where `gridstride serve` listens unless told otherwise
_LOOK = 0.1  # seconds between two looks at an answer that comes
_START = "gridstride serve FOLDER"


async def build() -> None:
    """The page; the conversation is this window's, and ends with it."""
    ui.html("<h1>Chat</h1>", sanitize=False)
    chat = _Chat()
    ui.context.client.on_disconnect(chat.leave)
    await chat.connect()


class _Chat:
    """The port, what was said, and the field for what is said next."""

    def __init__(self) -> None:
        self._talk, self._busy = Talk(_PORT), False
        with ui.element("div").classes("predict"):
            self._port = ui.number(label="Port of the server", value=_PORT, min=1, max=65535, format="%d")
            self._port.props("outlined dense").classes("port")
            self._connect = button("Connect", self.connect)
            self._status = ui.label().classes("status").props('role="status"')
        self._trouble = ui.element("div")
        self._conversation_area = ui.element("div").classes("said-so-far")
        self._conversation_area.props('role="log" aria-label="Conversation" tabindex="0"')
        with ui.element("div").classes("say") as self._form:
            self._text = ui.textarea(label="Say something; Ctrl-Enter sends it").props("outlined autogrow")
            self._text.on("keydown.ctrl.enter", self.send)
            with ui.element("div").classes("runs"):
                self._send = button("Send", self.send, strong=True).props('aria-keyshortcuts="Control+Enter"')
                self._stop = button("Stop", self._talk.stop)
                self._anew = button("Begin anew", self._begin)
        self._stop.visible = self._form.visible = False
        self._newest: ui.label | None = None
        self._timer = ui.timer(_LOOK, self._look, active=False)

    async def connect(self) -> None:
        """To the port in the field: who answers there, or how to have someone there."""
        if self._busy:
            return
        self._talk.port = int(self._port.value or _PORT)
        self._trouble.clear()
        self._status.text = "connecting …"
        try:
            await self._talk.connect()
        except NoServer as error:
            self._status.text, self._form.visible = "", False
            self._none_there(str(error))
            return
        self._status.text, self._form.visible = f"{self._talk.model} answers", True

    async def send(self) -> None:
        """Say what stands in the field, and show the answer as it comes."""
        text = (self._text.value or "").strip()
        if self._busy or not text:
            return
        self._text.value = ""
        self._trouble.clear()
        self._turn("You", text)
        self._newest = self._turn(self._talk.model, "…")
        self._set_busy(True)
        try:
            await self._talk.say(text)
        except NoServer as error:
            with self._trouble:
                trouble(str(error))
        self._set_busy(False)
        self._look()
        if not self._talk.answer:
            self._newest.text = "(no answer)"
            self._text.value = text  # it was not said: it may be sent again
        if self._talk.forgotten:
            self._status.text = f"the context is full: the oldest {self._talk.forgotten} messages are forgotten"

    def leave(self) -> None:
        """The window has gone, and with it the wish for an answer."""
        self._talk.stop()

    def _begin(self) -> None:
        if not self._busy:
            self._talk.conversation.turns.clear()
            self._conversation_area.clear()

    def _look(self) -> None:
        if self._newest is not None and self._talk.answer:
            self._newest.text = plain(self._talk.answer)

    def _set_busy(self, busy: bool) -> None:
        self._busy = self._timer.active = self._stop.visible = busy
        for control in (self._send, self._anew, self._connect):
            control.set_enabled(not busy)

    def _turn(self, who: str, text: str) -> ui.label:
        with self._conversation_area, ui.element("div").classes("turn"):
            ui.label(who).classes("soft small")
            return ui.label(plain(text)).classes("text")

    def _none_there(self, error: str) -> None:
        with self._trouble:
            trouble(f"No model can be talked to: {error}.")
            ui.label("Start one in a terminal, then connect. FOLDER holds a model: config.json, tokenizer.json and "
                     "safetensors files; --port chooses another port.").classes("prose")  # fmt: skip
            with ui.element("pre").classes("listing").props('tabindex="0"'):
                ui.label(_START)
