"""Many tests at once give the very p of one test at a time, whose digits are those of the article."""

import numpy as np
import pytest

from openosce.statistics import centred_bootstrap_p
from openosce.statistics.published import published_p_values


@pytest.fixture
def arms():
    """Means over five trials, as the article's: their differences tie often, and rounding decides."""
    trials = np.random.default_rng(1).integers(0, 6, (2, 3, 137)) / 5
    return trials[0], trials[1]


def test_every_p_is_that_of_the_test_alone_to_the_last_bit(arms):
    alone = [
        centred_bootstrap_p(a, b, rng=np.random.RandomState(20), as_published=True).p
        for a, b in zip(*arms, strict=True)
    ]
    assert published_p_values(*arms, rng=np.random.RandomState(20)).tolist() == alone


def test_the_draws_do_not_depend_on_how_many_are_held_at_once(arms, monkeypatch):
    whole = published_p_values(*arms, rng=np.random.RandomState(20))
    monkeypatch.setattr("openosce.statistics.published._CHUNK_CELLS", 1)
    assert published_p_values(*arms, rng=np.random.RandomState(20)).tolist() == whole.tolist()


def test_arms_that_do_not_differ_have_a_p_of_one():
    assert published_p_values([[1, 0, 1]], [[1, 0, 1]], rng=np.random.RandomState(20)).tolist() == [1.0]


@pytest.mark.parametrize(
    ("a", "b", "resamples", "said"),
    [
        ([[1, np.nan]], [[0, 1]], 10, "1 values are; score them 0"),
        ([[1, 0]], [[0, 1, 1]], 10, "same tests and cases"),
        ([[]], [[]], 10, "no case"),
        ([[1, 0]], [[0, 1]], 0, "1 resample or more"),
    ],
)
def test_what_cannot_be_tested_is_refused(a, b, resamples, said):
    with pytest.raises(ValueError, match=said):
        published_p_values(a, b, rng=np.random.RandomState(20), n_resamples=resamples)
