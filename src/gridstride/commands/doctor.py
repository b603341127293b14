"""`gridstride doctor`: what this machine has, what will be used, and how to mend what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gridstride.commands.terminal import emit, stdout

if TYPE_CHECKING:
    from rich.console import Console

    from gridstride.commands.examine import Check


def run(*, as_json: bool) -> bool:
    """Examine, show, and say whether kernels can be compiled and run here."""
    from gridstride.commands.examine import examine

    checks = list(examine())
    healthy = all(check.ok is not False for check in checks)
    if as_json:
        emit({"healthy": healthy, "checks": [_entry(check) for check in checks]})
    else:
        _show(stdout(), checks)
        console = stdout()
        console.print()
        if healthy:
            console.print("All that is needed is here. Start with:  gridstride climb matmul", style="bold")
        else:
            console.print("Something that is needed is missing: see the lines marked ✗.", style="bold red")
    return healthy


def _entry(check: Check) -> dict[str, Any]:
    return {"section": check.section, "name": check.name, "value": check.value, "ok": check.ok, "mend": check.mend}


def _show(console: Console, checks: Iterable[Check]) -> None:
    from rich.text import Text

    section = ""
    for check in checks:
        if check.section != section:
            section = check.section
            console.print(Text(f"\n{section}" if console.is_terminal else section, style="bold"))
        sign, style = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("–", "dim")}[check.ok]
        console.print(Text.assemble("  ", (sign, style), f" {check.name:14}  {check.value}"))
        if check.mend:
            console.print(Text(f"    {'':14}  {check.mend}", style="yellow" if check.ok is False else "dim"))
