"""Kinds of findings of a verdict: those of runs, and the judge's own."""

from __future__ import annotations

from gridstride.judge.finding_kinds import KINDS, is_fault, unknown_kind
from gridstride.virtual.abi.finding_kinds import KINDS as OF_RUNS


def test_every_kind_of_a_run_is_one_of_a_verdict_and_means_the_same() -> None:
    assert all((KINDS[name].fault, KINDS[name].meaning) == (row.fault, row.meaning) for name, row in OF_RUNS.items())


def test_a_wrong_result_is_no_fault_and_what_nobody_knows_is_one() -> None:
    assert not is_fault("wrong_result")
    assert is_fault("input_changed")
    assert is_fault("never heard of")


def test_a_name_that_is_none_gets_the_one_that_is_meant() -> None:
    assert unknown_kind("race") == ""
    assert unknown_kind("Wrong-Results").endswith("did you mean wrong_result?")
    assert ", ".join(sorted(KINDS)) in unknown_kind("zzz")
