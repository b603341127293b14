"""The table of layouts: every struct of the ABI is in it once, and every pointer's target too."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from gridstride.virtual import abi
from gridstride.virtual.abi.execution_records import LAUNCH, WARP
from gridstride.virtual.abi.layout import Layout
from gridstride.virtual.abi.layout_table import LAYOUTS, layouts_by_name, target_layout


def test_every_layout_is_in_the_table_under_a_name_of_its_own() -> None:
    modules = [import_module(f"{abi.__name__}.{module.name}") for module in pkgutil.iter_modules(abi.__path__)]
    declared = {id(value): value.name for m in modules for value in vars(m).values() if isinstance(value, Layout)}
    assert sorted(declared.values()) == sorted(LAYOUTS)
    assert {id(layout) for layout in LAYOUTS.values()} == set(declared)


def test_two_layouts_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="there is a layout 'node' already"):
        layouts_by_name(Layout("node", "count:i32"), Layout("node", "count:i64"))


def test_every_target_is_in_the_table() -> None:
    assert {name for layout in LAYOUTS.values() for name in layout.target.values()} <= set(LAYOUTS)


def test_the_target_of_a_pointer_is_a_layout_and_that_of_other_fields_none() -> None:
    assert target_layout(WARP, "launch") is LAUNCH
    assert target_layout(WARP, "params") is None
    assert target_layout(WARP, "state") is None
