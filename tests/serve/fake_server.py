"""The real server in front of the counting engine: python fake_server.py FOLDER JSON, which prints its address."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def main(folder: str, words: str) -> None:
    from gridstride.models.text.tokenizer import Tokenizer
    from gridstride.serve.http import lifecycle
    from gridstride.serve.http.connections.listen import listening, url_of
    from gridstride.serve.http.settings import Settings
    from gridstride.serve.process.child import EngineProcess
    from gridstride.serve.process.protocol import Build

    given = json.loads(words)
    keys = frozenset(given.pop("api_keys", ()))
    settings = Settings(names=("fake", "alias"), api_keys=keys, **given.pop("settings", {}))
    max_queue = given.pop("max_queue", 1000)
    logging.basicConfig(level=logging.WARNING)
    listener = listening("127.0.0.1", 0, patience=settings.write_timeout)
    print(f"listens at {url_of(listener)}", file=sys.stderr, flush=True)
    build = Build(factory="fake_engine:build", options=given)
    lifecycle.run(
        build, Tokenizer.load(folder), listener, settings=settings, max_queue=max_queue, first=EngineProcess(build),
        on_ready=lambda server: print(
            json.dumps({"url": url_of(listener), "engine_pid": server.supervisor.pid}), flush=True
        ),
    )  # fmt: skip
    assert "torch" not in sys.modules


if __name__ == "__main__":
    main(*sys.argv[1:])
