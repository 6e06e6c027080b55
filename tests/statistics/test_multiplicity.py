import numpy as np
import pytest
from scipy import stats

from openosce.statistics import benjamini_hochberg, hochberg, holm

EVERY = pytest.mark.parametrize("adjust", [holm, hochberg, benjamini_hochberg])
MANY = (np.random.default_rng(3).random(40) ** 3).tolist()


@pytest.mark.parametrize(
    ("adjust", "adjusted"),
    [
        # .005, .01, .03, .04 times 4, 3, 2, 1 = .02, .03, .06, .04; the last may not be smaller than its forerunner.
        (holm, [0.03, 0.06, 0.06, 0.02]),
        # The same products; the third may not be larger than its successor.
        (hochberg, [0.03, 0.04, 0.04, 0.02]),
        # times 4/1, 4/2, 4/3, 4/4 = .02, .02, .04, .04
        (benjamini_hochberg, [0.02, 0.04, 0.04, 0.02]),
    ],
)
def test_a_hand_worked_example(adjust, adjusted):
    assert adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx(adjusted)


@pytest.mark.parametrize(("adjust", "n_rejected"), [(holm, 3), (hochberg, 3), (benjamini_hochberg, 4)])
def test_the_example_of_benjamini_and_hochberg(adjust, n_rejected):
    p = ".0001 .0004 .0019 .0095 .0201 .0278 .0298 .0344 .0459 .3240 .4262 .5719 .6528 .7590 1.0".split()
    assert sum(q <= 0.05 for q in adjust([float(value) for value in p])) == n_rejected


def test_benjamini_hochberg_agrees_with_scipy():
    assert benjamini_hochberg(MANY) == pytest.approx(stats.false_discovery_control(MANY), rel=1e-12)


def test_hochberg_is_never_above_holm_and_benjamini_hochberg_never_above_both():
    strict, step_up, share = (np.array(adjust(MANY)) for adjust in (holm, hochberg, benjamini_hochberg))
    assert (step_up <= strict).all()
    assert (share <= step_up).all()


@EVERY
def test_one_test_needs_no_adjustment(adjust):
    assert adjust([0.03]) == [0.03]


@EVERY
def test_no_test_gives_no_p(adjust):
    assert adjust([]) == []
    assert adjust([None, None]) == [None, None]


@EVERY
def test_adjusted_p_are_never_smaller_and_keep_the_order(adjust):
    adjusted = np.array(adjust(MANY))
    assert (adjusted >= MANY).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(MANY)]) >= 0).all()


@EVERY
def test_a_test_without_p_is_no_part_of_the_family(adjust):
    assert adjust([0.02, None, 0.04]) == pytest.approx([0.04, None, 0.04])


@pytest.mark.parametrize(("adjust", "adjusted"), [(holm, 0.06), (hochberg, 0.02), (benjamini_hochberg, 0.02)])
def test_equal_p_get_equal_adjusted_p(adjust, adjusted):
    assert adjust([0.02, 0.02, 0.02]) == pytest.approx([adjusted] * 3)


@EVERY
@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(adjust, bad):
    with pytest.raises(ValueError, match="p value"):
        adjust([0.5, bad])
