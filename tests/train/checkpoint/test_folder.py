"""A run's folder: what is said of it."""

from __future__ import annotations

from gridstride.train.checkpoint.folder import command
from gridstride.train.config import run_config as settings


def test_the_command_that_goes_on_names_the_run_it_means() -> None:
    assert command(settings.load(), "--resume") == "gridstride train --resume"
    elsewhere = settings.load(changes=["run.name=mine", "run.folder=my runs"])
    assert command(elsewhere, "--resume") == "gridstride train --name mine --set 'run.folder=my runs' --resume"
