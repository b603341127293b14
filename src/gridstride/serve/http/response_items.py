"""The items of an answer of `/v1/responses`, and the events that tell of them as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gridstride.serve.answers.reader import ArgumentsDelta, CallBegun, Content, Event, Reasoning
from gridstride.serve.http.identifiers import new_id

_PARTS = {"message": "output_text", "reasoning": "reasoning_text"}
Item = dict[str, Any]


class Items:
    """Thoughts, what is said, and calls, each an item: one is open at a time."""

    def __init__(self) -> None:
        self.output: list[Item] = []
        self._open: Item | None = None

    def take(self, events: Iterable[Event]) -> Iterator[Item]:
        """The events of what has come."""
        for event in events:
            match event:
                case Content(text):
                    yield from self._text("message", text)
                case Reasoning(text):
                    yield from self._text("reasoning", text)
                case CallBegun(_, id, name):
                    yield from self.close("completed")
                    call = {"type": "function_call", "call_id": id, "name": name, "arguments": ""}
                    yield from self._begin("fc", call)
                case ArgumentsDelta(_, text):
                    assert self._open is not None
                    self._open["arguments"] += text
                    yield self._about("response.function_call_arguments.delta", delta=text)

    def close(self, status: str) -> Iterator[Item]:
        """The open item is at its end."""
        item = self._open
        if item is None:
            return
        item["status"] = status
        if item["type"] == "function_call":
            call = {"name": item["name"], "arguments": item["arguments"]}
            yield self._about("response.function_call_arguments.done", **call)
        else:
            part = item["content"][0]
            yield self._about(f"response.{part['type']}.done", content_index=0, text=part["text"], **_extra(part))
            yield self._about("response.content_part.done", content_index=0, part=dict(part))
        yield {"type": "response.output_item.done", "output_index": len(self.output) - 1, "item": _copy(item)}
        self._open = None

    def _text(self, kind: str, text: str) -> Iterator[Item]:
        if self._open is None or self._open["type"] != kind:
            yield from self.close("completed")
            yield from self._begin_text(kind)
        assert self._open is not None
        part = self._open["content"][0]
        part["text"] += text
        yield self._about(f"response.{part['type']}.delta", content_index=0, delta=text, **_extra(part))

    def _begin_text(self, kind: str) -> Iterator[Item]:
        own: Item = {"role": "assistant"} if kind == "message" else {"summary": []}
        yield from self._begin("msg" if kind == "message" else "rs", {"type": kind, "content": [], **own})
        part: Item = {"type": _PARTS[kind], "text": "", **({"annotations": []} if kind == "message" else {})}
        assert self._open is not None
        self._open["content"].append(part)
        yield self._about("response.content_part.added", content_index=0, part=dict(part))

    def _begin(self, prefix: str, item: Item) -> Iterator[Item]:
        self._open = {"id": f"{prefix}_{new_id()}", "status": "in_progress", **item}
        self.output.append(self._open)
        yield {"type": "response.output_item.added", "output_index": len(self.output) - 1, "item": _copy(self._open)}

    def _about(self, type: str, **more: Any) -> Item:
        """An event of the open item."""
        assert self._open is not None
        return {"type": type, "item_id": self._open["id"], "output_index": len(self.output) - 1, **more}


def _extra(part: Item) -> Item:
    """Of a text's events; log-probabilities are given by chat completions."""
    return {"logprobs": []} if part["type"] == "output_text" else {}


def _copy(item: Item) -> Item:
    """As it is now."""
    return {**item, "content": [dict(part) for part in item["content"]]} if "content" in item else dict(item)
