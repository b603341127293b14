"""Messages to the text that a model was trained to continue, by the chat template of its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2

from gridstride.models.errors import ModelError, TemplateError
from gridstride.models.huggingface.fields import read_object, read_text
from gridstride.models.text import template_sandbox as sandbox
from gridstride.models.text.tokenizer import Tokenizer, special_tokens


def render(
    model: str | Path | Tokenizer,
    messages: Sequence[Mapping[str, Any]],
    *,
    add_generation_prompt: bool = True,
    continue_final_message: bool = False,
    tools: Sequence[Mapping[str, Any]] | None = None,
    chat_template: str | None = None,
    marks: tuple[str, str] = ("", ""),
    **values: Any,
) -> str:
    """The conversation as text with its special tokens: encode it with `special=False`.

    `values` reach the template by name, as `enable_thinking` does. With `continue_final_message` the text ends where
    the last message does, without what closes it, so that the model goes on with it. `chat_template` stands instead of
    the folder's; `marks` surround what it says the model generates. ModelError where the folder has no template, or
    where the template refuses the messages.
    """
    folder = model.folder if isinstance(model, Tokenizer) else Path(model)
    if folder is None:
        raise ModelError("a tokenizer that was not loaded from a folder has no chat template")
    text = template(folder) if chat_template is None else chat_template
    if text is None:
        raise TemplateError(
            f"{folder} has no chat template (chat_template in tokenizer_config.json, or chat_template.jinja): "
            "it continues text, so give it a prompt",
            reason="the model has no chat template: it continues text, which /v1/completions takes as a prompt",
        )
    values_of_template = {**_special(folder), "documents": None, **values}
    plain = {"messages": _plain(messages), "tools": _plain(tools)}
    begins = add_generation_prompt and not continue_final_message
    try:
        rendered = sandbox.render(text, values_of_template | plain | {"add_generation_prompt": begins}, marks=marks)
        return _open(rendered, messages, folder) if continue_final_message else rendered
    except jinja2.TemplateError as error:
        reason = _error_text(error)
        raise TemplateError(
            f"the chat template of {folder} {reason}", reason=f"the model's chat template {reason}"
        ) from error


def fault(text: str) -> str | None:
    """What is wrong with a template, as in "is broken in line 3: …"; None for one that can be tried."""
    try:
        sandbox.compile_only(text)
    except jinja2.TemplateError as error:
        return _error_text(error).rstrip(".")
    return None


@lru_cache(maxsize=16)
def template(folder: Path) -> str | None:
    """The folder's chat template; None where it has none. Read once for each folder."""
    own = folder / "chat_template.jinja"
    if own.exists():
        return read_text(own)
    path = folder / "tokenizer_config.json"
    entry = read_object(path).get("chat_template") if path.exists() else None
    if isinstance(entry, list):  # several by name
        named = {entry.get("name"): entry.get("template") for entry in entry if isinstance(entry, dict)}
        entry = named.get("default")
    if entry is not None and not isinstance(entry, str):
        raise ModelError(f"{path}: chat_template is no text")
    return entry


@lru_cache(maxsize=16)
def _special(folder: Path) -> dict[str, str]:
    return special_tokens(folder)


def _open(text: str, messages: Sequence[Mapping[str, Any]], folder: Path) -> str:
    """The conversation up to the end of its last message's own text."""
    content = str(messages[-1].get("content") or "")
    for last in (content, content.strip()):  # templates often strip
        if last and (start := text.rfind(last)) >= 0:
            return text[: start + len(last)]
    why = "does not show the last message, which therefore cannot be continued"
    raise TemplateError(f"the chat template of {folder} {why}", reason=f"the model's chat template {why}")


def _plain(value: Any) -> Any:
    """The same in types of JSON alone: a template gets no object with methods of its own."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    raise ModelError(f"a message holds {type(value).__name__}: text, numbers, lists and objects can be in it")


def _error_text(error: jinja2.TemplateError) -> str:
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"is broken in line {error.lineno}: {error.message}"
    return f"refuses: {error.message or type(error).__name__}"
