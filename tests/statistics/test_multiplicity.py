import numpy as np
import pytest

from openosce.statistics import holm


def test_a_hand_worked_example():
    # Sorted .005, .01, .03, .04 times 4, 3, 2, 1 = .02, .03, .06, .04; the last may not be smaller than its forerunner.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_one_test_needs_no_adjustment():
    assert holm([0.03]) == [0.03]


def test_no_test_gives_no_p():
    assert holm([]) == []


def test_adjusted_p_are_never_smaller_and_keep_the_order():
    p = np.random.default_rng(3).random(40) ** 3
    adjusted = np.array(holm(p.tolist()))
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


def test_a_test_without_p_is_no_part_of_the_family():
    assert holm([0.02, None, 0.04]) == pytest.approx([0.04, None, 0.04])


def test_equal_p_get_equal_adjusted_p():
    assert holm([0.02, 0.02, 0.02]) == pytest.approx([0.06, 0.06, 0.06])


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(bad):
    with pytest.raises(ValueError, match="p value"):
        holm([0.5, bad])
