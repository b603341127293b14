"""A server that speaks as much of OpenAI's protocol as a chat needs, and answers what it was told to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@contextmanager
def model_server(*answers: Sequence[str] | str | tuple[int, str, str]) -> Iterator[tuple[int, list[Any]]]:
    """Its port, and the requests as they come. An answer is its pieces, or words for a failure, or (status, code,
    words); the last one is given again and again.
    """
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(200, json.dumps({"data": [{"id": "tiny"}]}))

        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            answer = answers[min(len(asked), len(answers)) - 1]
            if isinstance(answer, tuple):
                status, code, words = answer
                self._reply(status, json.dumps({"error": {"message": words, "code": code}}))
            elif isinstance(answer, str):
                self._reply(500, json.dumps({"error": {"message": answer}}))
            else:
                pieces = [json.dumps({"choices": [{"delta": {"content": piece}}]}) for piece in answer]
                self._reply(200, "".join(f"data: {piece}\n\n" for piece in [*pieces, "[DONE]"]))

        def _reply(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Nothing: the tests' own output is enough."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
