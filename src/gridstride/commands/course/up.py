"""`gridstride up`: the course in a browser, until it is told to end."""

from __future__ import annotations

import getpass
import importlib.util
import json
import os
import sys
import webbrowser
from typing import TYPE_CHECKING

from gridstride.commands.course.course_target import course_errors, opened
from gridstride.commands.terminal import WrongUse, print_stderr

if TYPE_CHECKING:
    import socket

    from gridstride.workbench.server import Key

_WRITE_TIMEOUT = 30.0  # seconds for a browser that takes nothing of what it is sent


def run(*, host: str, port: int, open_browser: bool, as_json: bool) -> bool:
    """Serve until Ctrl-C; True when the server has ended in good order."""
    if importlib.util.find_spec("nicegui") is None:
        raise WrongUse("the workbench needs NiceGUI: pip install 'gridstride[workbench]'")
    from gridstride.course.learner.workspace import VARIABLE
    from gridstride.serve.http.connections.listen import CannotListen, listening, public, url_of
    from gridstride.workbench.server import AlreadyUp, only_one

    try:
        with course_errors(), only_one() as tell, listening(host, port, patience=_WRITE_TIMEOUT) as listener:
            key = _key(public=public(listener))
            tell(url_of(listener))
            _serve(listener, url_of(listener), key, open_browser=open_browser, as_json=as_json)
    except (AlreadyUp, CannotListen) as error:
        raise WrongUse(str(error)) from error
    except OSError as error:
        why = f"{error.strerror} ({error.filename})"
        raise WrongUse(f"the course's folder cannot be used: {why}; set {VARIABLE} to another folder") from error
    return True


def _serve(listener: socket.socket, url: str, key: Key, *, open_browser: bool, as_json: bool) -> None:
    from gridstride.workbench.server import serve

    def ready() -> None:
        print(json.dumps({"url": url}) if as_json else f"the workbench is at {url} (Ctrl-C ends it)", flush=True)
        if open_browser and _has_a_screen():
            webbrowser.open(url)

    serve(listener, url, key, on_ready=ready)


def _key(*, public: bool) -> Key:
    """What the gate asks; a password only where other machines reach it."""
    from gridstride.workbench import password
    from gridstride.workbench.server import Key

    with opened() as progress:
        secret = password.cookie_secret(progress)
        if not public:
            return Key(secret, None)
        key = password.from_environment()
        if key is None and password.kept(progress) is None:
            key = _typed_key()
        if key is not None:
            try:
                password.keep(progress, key)
            except password.WeakPassword as error:
                raise WrongUse(str(error)) from error
        return Key(secret, password.kept(progress))


def _typed_key() -> str:
    """A new password, typed twice."""
    from gridstride.workbench.password import VARIABLE

    if not sys.stdin.isatty():
        raise WrongUse(
            f"other machines could reach the workbench, and it has no password yet: set {VARIABLE}, or leave --host out"
        )
    print_stderr("Other machines will reach the workbench: choose a password (it is kept as a hash).")
    first = getpass.getpass("password: ")
    if getpass.getpass("again: ") != first:
        raise WrongUse("the two passwords differ")
    return first


def _has_a_screen() -> bool:
    """Whether a browser could show a window: a text browser would take the terminal."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
