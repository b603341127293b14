"""The one page that is shown to who has not logged in: a form, and nothing that has to be fetched."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

_STYLE = Markup((Path(__file__).parent / "login.css").read_text())


def login_page(wrong: str = "") -> str:
    """The page, with what was wrong about the last attempt."""
    message = Markup('<p class="wrong" role="alert">{}</p>').format(wrong) if wrong else ""
    return str(
        Markup(
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>GridStride</title>'
            '<link rel="icon" href="data:,">'
            '<meta name="viewport" content="width=device-width, initial-scale=1"><style>{}</style></head><body><main>'
            "<h1>GridStride</h1><p>This workbench is open to other machines, and asks for its password.</p>{}"
            '<form method="post"><label for="password">Password</label>'
            '<input id="password" name="password" type="password" autocomplete="current-password" autofocus required>'
            '<button type="submit">Open the workbench</button></form></main></body></html>'
        ).format(_STYLE, message)
    )
