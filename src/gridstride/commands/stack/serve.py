"""`gridstride serve`: a model behind OpenAI's HTTP interface, until it is told to end."""

from __future__ import annotations

import json
import logging
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.options.serve_options import build_of, check, settings_of
from gridstride.commands.terminal import WrongUse

if TYPE_CHECKING:
    from gridstride.commands.options.serve_words import ServeOptions
    from gridstride.serve.http.settings import Settings
    from gridstride.serve.http.state import Server


def run(model: str | None, options: ServeOptions, *, as_json: bool) -> bool:
    """Serve; True when the server has ended in good order, False when no engine could be made."""
    check(options)
    folder = _folder(model)
    settings = settings_of(folder, options)
    _log_to_stderr()
    with _listener(options, settings) as listener:
        return _serve(folder, listener, options, settings, as_json=as_json)


def _serve(folder: Path, listener: socket.socket, options: ServeOptions, settings: Settings, *, as_json: bool) -> bool:
    from gridstride.models.errors import ModelError
    from gridstride.models.openmp import let_waiting_threads_sleep
    from gridstride.serve.process.child import EngineProcess
    from gridstride.serve.process.supervisor import NoEngine

    started = time.monotonic()
    build = build_of(folder, options)
    let_waiting_threads_sleep()
    child = EngineProcess(build)  # it loads PyTorch and the model while this process imports what it needs itself
    try:
        from gridstride.models.text.tokenizer import Tokenizer
        from gridstride.serve.http import lifecycle

        tokenizer = Tokenizer.load(folder)
        _check_templates(folder, options, settings)
        say = _Ready(listener, started, as_json=as_json)
        lifecycle.run(
            build, tokenizer, listener, settings=settings, max_queue=options.max_queue, first=child, on_ready=say
        )
    except ModelError as error:
        raise WrongUse(str(error)) from error
    except NoEngine as error:
        if error.expected:
            raise WrongUse(str(error)) from error
        print(f"error: {error}", file=sys.stderr)
        if as_json:
            print(json.dumps({"error": str(error)}))
        return False
    finally:
        child.kill()
    return True


class _Ready:
    """Says on stdout that requests can come, and where to."""

    def __init__(self, listener: socket.socket, started: float, *, as_json: bool) -> None:
        from gridstride.serve.http.connections.listen import url_of

        self._url, self._started, self._as_json = url_of(listener), started, as_json

    def __call__(self, server: Server) -> None:
        ready, seconds = server.ready, time.monotonic() - self._started
        names, adapters = server.settings.names, list(server.settings.adapters)
        if self._as_json:
            message = {
                "url": self._url, "models": names, "adapters": adapters, "device": ready.device,
                "code": ready.code, "code_words": ready.code_words,
                "context": ready.context, "longest": ready.longest, "blocks": ready.blocks,
                "block_size": ready.block_size, "max_running": ready.max_running, "seconds": round(seconds, 3),
                "engine_pid": server.supervisor.pid,
            }  # fmt: skip
            print(json.dumps(message), flush=True)
            return
        cache = ready.blocks * ready.block_size
        print(f"{names[0]} is served at {self._url}/v1 from {ready.device} after {seconds:.1f} s", flush=True)
        if adapters:
            print(f"  adapters, by the request's model: {', '.join(adapters)}", flush=True)
        print(f"  context {ready.context} tokens, cache {cache}, {ready.max_running} sequences at a time", flush=True)
        if ready.code_words:
            print(f"  computed by {ready.code_words}", flush=True)
        print(f"  try: curl {self._url}/v1/completions -H 'Content-Type: application/json' \\", flush=True)
        words = json.dumps({"model": names[0], "prompt": "def ", "max_tokens": 32})
        print(f"         -d '{words}'", flush=True)


def _folder(model: str | None) -> Path:
    from gridstride.models.errors import ModelError
    from gridstride.models.huggingface.find import find

    try:
        return find(model)
    except ModelError as error:
        raise WrongUse(str(error)) from error


def _check_templates(folder: Path, options: ServeOptions, settings: Settings) -> None:
    """WrongUse for a given one that is broken; of the folder's own it is said, as completions need none."""
    from gridstride.models.text.chat import fault, template

    if settings.chat_template is not None:
        if broken := fault(settings.chat_template):
            raise WrongUse(f"--chat-template {options.chat_template} {broken}")
    elif (own := template(folder)) is not None and (broken := fault(own)):
        print(f"warning: the chat template of {folder} {broken}: chats are refused; --chat-template FILE gives another",
              file=sys.stderr)  # fmt: skip


def _listener(options: ServeOptions, settings: Settings) -> socket.socket:
    from gridstride.serve.http.connections.listen import CannotListen, listening, public

    try:
        listener = listening(options.host, options.port, patience=settings.write_timeout)
    except CannotListen as error:
        raise WrongUse(str(error)) from error
    if public(listener) and not settings.api_keys:
        message = "other machines can reach this server, and nobody needs a key: --api-key-file FILE changes that"
        print(f"warning: {message}", file=sys.stderr)
    return listener


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # its warnings are what strangers send
