"""What may be asked of speculative decoding, and how far a sequence goes with its guesses."""

from __future__ import annotations

import pytest

from gridstride.serve.engine.speculation import MOST_TOKENS, Pace, Speculation


@pytest.mark.parametrize("tokens", [0, MOST_TOKENS + 1])
def test_a_number_of_tokens_out_of_range_is_refused(tokens: int) -> None:
    with pytest.raises(ValueError, match=f"speculation of {tokens} tokens must be from 1 to {MOST_TOKENS}"):
        Speculation(tokens=tokens)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="speculation by 'medusa' is none of ngram, draft"):
        Speculation("medusa")


def verifications(pace: Pace, steps: int, accepted: int) -> int:
    """Of so many steps those that verify, each of which accepts up to so many tokens."""
    found = 0
    for _ in range(steps):
        if count := pace.next():
            pace.judge(count, min(accepted, count))
            found += 1
    return found


def test_guesses_that_are_all_right_grow_to_the_most() -> None:
    pace = Pace(16)
    assert verifications(pace, 3, 16) == 3
    assert pace.next() == 16


def test_a_guess_is_as_long_as_the_last_one_was_right() -> None:
    pace = Pace(16)
    pace.judge(8, 3)
    assert pace.next() == 3


def test_no_guess_is_longer_than_allowed() -> None:
    assert Pace(2).next() == 2


def test_a_text_whose_guesses_are_all_wrong_pays_for_three_steps_in_a_hundred_at_most() -> None:
    assert verifications(Pace(8), 200, 0) <= 6
    assert verifications(Pace(8), 2000, 0) <= 2000 * 0.02


def test_one_right_token_in_each_guess_is_no_loss_and_goes_on() -> None:
    assert verifications(Pace(8), 100, 1) == 100


def test_a_single_wrong_guess_among_right_ones_is_no_reason_to_pause() -> None:
    pace = Pace(8)
    verifications(pace, 4, 8)
    pace.judge(8, 0)
    assert pace.next() > 0


def test_a_text_that_begins_to_repeat_itself_is_found_out_within_a_pause() -> None:
    pace = Pace(8)
    verifications(pace, 500, 0)
    assert verifications(pace, 100, 8) >= 36
    verifications(pace, 20, 8)
    pace.judge(8, 0)
    assert pace.next() > 0
