"""The editor of a lab's file: saved as it is typed, and reloaded when another program writes the file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from nicegui import ui

from gridstride.course.course_errors import ProgressError
from gridstride.course.lesson import Day
from gridstride.workbench.lab_text import ChangedElsewhere, LabText
from gridstride.workbench.pages.frame import button, trouble

_TICK = 1.0  # seconds between two looks at what is to be saved, and at the file
_LANGUAGES: dict[str, Literal["C++", "TOML", "Python"]] = {".cu": "C++", ".toml": "TOML", ".py": "Python"}
_DRAFT = (Path(__file__).parents[1] / "draft.js").read_text(encoding="utf-8")
_OPENED = """(() => {
    const text = document.querySelector(".editor .cm-content");
    text?.setAttribute("aria-label", "The lab's file; Escape, then Tab leaves it");
    text?.setAttribute("tabindex", "0");
    return {dark: document.body.classList.contains("body--dark"), draft: labDraft.watch(WATCHED)};
})()"""
"""Names the text for who hears the page, and says whether it is dark, and what was typed with no server there."""
_RESTORED = "What was typed while the workbench could not be reached is restored."


class Editor:
    """CodeMirror on the learner's file; `on_run` is called for Ctrl-Enter."""

    def __init__(self, text: LabText, day: Day) -> None:
        self._text, self._client = text, ui.context.client
        self.on_run: Callable[[], Awaitable[None]] | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._conflict, self._trouble = False, ""
        self._one_at_a_time = asyncio.Lock()  # a second save would take the first one's text for another program's
        ui.add_body_html(f"<script>{_DRAFT}</script>")
        with ui.element("div").classes("file"):
            ui.label(str(_short(text.path))).classes("mono small soft")
            self._state = ui.label("saved").classes("small soft").props('role="status"')
        self._notice = ui.element("div")
        self._editor = ui.codemirror(
            text.text, language=_LANGUAGES.get(Path(day.lab.file).suffix), theme="vscodeLight", line_wrapping=True,
            keymap={"Mod-Enter": self._run, "Mod-s": self._save_now},
        ).classes("editor")  # fmt: skip
        self._editor.on_value_change(lambda: self.on_change())
        self._editor.disable()
        ui.timer(_TICK, self._tick)
        self._client.on_disconnect(self._save_quietly)
        ui.timer(0, self._open, once=True)

    @property
    def text(self) -> str:
        """What stands in it."""
        return self._editor.value or ""

    async def save(self) -> bool:
        """Write the file; False where another program has written it too, and the learner must choose."""
        try:
            async with self._one_at_a_time:
                await asyncio.to_thread(self._text.save, self.text)
        except ChangedElsewhere as changed:
            self._ask_version(str(changed))
            return False
        except ProgressError as error:
            self._show_status(str(error))
            return False
        self._settled("saved")
        return True

    def mark(self, findings: Iterable[Mapping[str, Any]]) -> None:
        """Colour the lines of the findings, which say what is wrong under the pointer."""
        count = self.text.count("\n") + 1
        lines: dict[int, list[str]] = {}
        for finding in findings:
            if finding["line"] and finding["line"] <= count:
                lines.setdefault(finding["line"], []).append(finding["message"])
        self._editor.decorations = [{"kind": "line", "line": line, "class": "found-line"} for line in lines]
        self._editor.line_tooltips = {line: "\n\n".join(messages) for line, messages in lines.items()}

    def reveal(self, line: int) -> None:
        """Scroll to a line."""
        self._editor.reveal_line(line)

    async def _run(self) -> None:
        if self.on_run is not None:
            await self.on_run()

    async def _save_now(self) -> None:
        await self.save()

    async def _save_quietly(self) -> None:
        """The page is gone: what was typed last is kept, and a conflict waits for the next one."""
        if not self._conflict and self.text != self._text.text:
            await self.save()

    async def _tick(self) -> None:
        if self._conflict:
            return
        if self.text != self._text.text:
            self._state.text = "saving …"
            await self.save()
            return
        try:
            async with self._one_at_a_time:
                changed = await asyncio.to_thread(self._text.changed)
                if changed is not None and self.text == self._text.text:
                    self._text.text = self._editor.value = changed
                    self._settled("reloaded: another program wrote the file")
                elif self._trouble:
                    self._settled("saved")
        except ProgressError as error:
            self._show_status(str(error))

    def _ask_version(self, text: str) -> None:
        self._conflict, self._trouble = True, ""
        self._state.text = "not saved"
        self._notice.clear()
        with self._notice:
            trouble(f"{text}, and here it was edited too. Which text is to be kept?")
            with ui.element("div").classes("choices"):
                button("What stands in the editor", self._keep_mine)
                button("What the other program wrote", self._take_theirs)

    async def _keep_mine(self) -> None:
        async with self._one_at_a_time:
            await asyncio.to_thread(self._text.save, self.text, over=True)
        self._settled("saved")

    async def _take_theirs(self) -> None:
        async with self._one_at_a_time:
            self._editor.value = await asyncio.to_thread(self._text.reload)
        self._settled("reloaded")

    def _settled(self, state: str) -> None:
        """The file and the editor have one text."""
        self._conflict, self._trouble = False, ""
        self._notice.clear()
        self._state.text = state
        self._client.run_javascript(f"window.labDraft?.settled({json.dumps(self._text.text)})")

    def _show_status(self, text: str) -> None:
        """Once: it is looked at again each second."""
        self._state.text = "not saved"
        if text == self._trouble:
            return
        self._trouble = text
        self._notice.clear()
        with self._notice:
            trouble(text)

    async def _open(self) -> None:
        """The page is connected: what is typed from now on reaches the server, in its order."""
        self._editor.enable()
        watched = json.dumps([self._editor.id, str(self._text.path), self._text.text])[1:-1]
        try:
            opened = await ui.run_javascript(f"return {_OPENED.replace('WATCHED', watched)}", timeout=2.0)
        except TimeoutError:  # the page has gone
            return
        self._editor.set_theme("vscodeDark" if opened["dark"] else "vscodeLight")
        if opened["draft"] is not None:
            self._restore(**opened["draft"])

    def _restore(self, saved: str, text: str) -> None:
        """Put back what was typed with no server there; `saved` is what the file had before that."""
        if text == self.text:
            return
        unchanged = saved == self._text.text
        self._editor.value = text
        if not unchanged:
            self._ask_version(f"{self._text.path} was changed by another program or window")
            return
        ui.notify(_RESTORED, close_button="Close", timeout=0)


def _short(path: Path) -> Path:
    """Below the home folder from ~ on."""
    return Path("~") / path.relative_to(Path.home()) if path.is_relative_to(Path.home()) else path
