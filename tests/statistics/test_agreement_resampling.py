"""What every statistic of agreement owes its reader, whatever it measures."""

from functools import partial

import numpy as np
import pytest

from openosce.statistics import (
    cohens_kappa,
    detection,
    fleiss_kappa,
    gwet_ac1,
    kendall_tau_b,
    kendalls_w,
    krippendorff_alpha,
    pearson,
    raw_agreement,
    spearman,
)

NAN = np.nan
TRUTH = np.random.default_rng(1).integers(1, 6, 80).astype(float)
ERRORS = np.random.default_rng(2).random((80, 3)) < 0.3
RATINGS = np.where(ERRORS, np.random.default_rng(3).integers(1, 6, (80, 3)), TRUTH[:, None])


def of_two(statistic, ratings, **options):
    ratings = np.asarray(ratings, dtype=float)
    return statistic(ratings[:, 0], ratings[:, 1], **options)


def sensitivity(ratings, **options):
    return detection(*(np.asarray(ratings, dtype=float)[:, :2].T > 2).astype(float), **options).sensitivity


STATISTICS = {
    "pearson": partial(of_two, pearson),
    "spearman": partial(of_two, spearman),
    "tau": partial(of_two, kendall_tau_b),
    "kappa": partial(of_two, cohens_kappa),
    "linear kappa": partial(of_two, partial(cohens_kappa, weights="linear")),
    "quadratic kappa": partial(of_two, partial(cohens_kappa, weights="quadratic")),
    "W": kendalls_w,
    "fleiss": fleiss_kappa,
    "nominal alpha": krippendorff_alpha,
    "ordinal alpha": partial(krippendorff_alpha, level="ordinal"),
    "interval alpha": partial(krippendorff_alpha, level="interval"),
    "ratio alpha": partial(krippendorff_alpha, level="ratio"),
    "AC1": gwet_ac1,
    "raw": raw_agreement,
    "sensitivity": sensitivity,
}
EVERY = pytest.mark.parametrize("statistic", STATISTICS.values(), ids=STATISTICS.keys())


def seeded(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@EVERY
def test_the_interval_holds_the_value_and_says_how_it_was_made(statistic):
    result = statistic(RATINGS, rng=seeded())
    assert 0 < result.ci_low < result.value < result.ci_high < 1
    assert result.method.endswith("; 95% percentile bootstrap over cases, 2000 resamples")
    assert result.reason is None


@EVERY
def test_the_interval_is_of_the_values_of_resampled_cases(statistic):
    drawn = seeded(5).integers(0, 80, size=(2, 80))  # the resamples of 80 cases that this seed draws
    values = sorted(statistic(RATINGS[cases], rng=seeded(), n_resamples=1).value for cases in drawn)
    result = statistic(RATINGS, rng=seeded(5), n_resamples=2, confidence=1 - 1e-12)
    assert [result.ci_low, result.ci_high] == pytest.approx(values, abs=1e-9)


@EVERY
def test_the_same_seed_gives_the_same_interval_and_another_seed_another(statistic):
    assert statistic(RATINGS, rng=seeded(3)) == statistic(RATINGS, rng=seeded(3))
    assert statistic(RATINGS, rng=seeded(3)).ci_low != statistic(RATINGS, rng=seeded(4)).ci_low


@EVERY
def test_the_order_of_the_cases_does_not_matter(statistic):
    shuffled = RATINGS[seeded(9).permutation(80)]
    here, there = (statistic(ratings, rng=seeded(), n_resamples=8_000) for ratings in (RATINGS, shuffled))
    assert here.value == pytest.approx(there.value)
    assert (here.ci_low, here.ci_high) == pytest.approx((there.ci_low, there.ci_high), abs=0.02)  # another draw


@EVERY
def test_a_wider_confidence_is_a_wider_interval(statistic):
    narrow, wide = (statistic(RATINGS, rng=seeded(), confidence=confidence) for confidence in (0.5, 0.99))
    assert wide.ci_low < narrow.ci_low < narrow.ci_high < wide.ci_high


@EVERY
def test_full_agreement_is_1_and_its_interval_has_no_width_to_offer(statistic):
    result = statistic(np.array([TRUTH] * 3).T, rng=seeded())
    assert result.value == pytest.approx(1, abs=1e-12)
    assert (result.ci_low, result.ci_high) == (None, None)
    assert "the same value" in result.reason


@EVERY
def test_four_times_the_cases_halve_the_interval(statistic):
    once, fourfold = (statistic(np.tile(RATINGS, (times, 1)), rng=seeded()) for times in (1, 4))
    assert (fourfold.ci_high - fourfold.ci_low) / (once.ci_high - once.ci_low) == pytest.approx(0.5, abs=0.08)


@EVERY
def test_no_case_is_no_value_and_a_reason(statistic):
    result = statistic(np.empty((0, 2)), rng=seeded())
    assert (result.value, result.ci_low, result.ci_high, result.n_cases) == (None, None, None, 0)
    assert result.reason.startswith("no case")


@EVERY
def test_one_case_gives_no_interval(statistic):
    result = statistic([[4, 4]], rng=seeded())
    assert (result.ci_low, result.ci_high) == (None, None)
    assert result.reason


@pytest.mark.parametrize("statistic", [kendalls_w, fleiss_kappa, krippendorff_alpha, gwet_ac1, raw_agreement])
def test_ratings_of_another_shape_are_refused(statistic):
    for ratings, message in [
        ([1, 2, 3], r"\(n_cases, n_raters\), got shape \(3,\)"),
        ([[1], [2]], "two raters or more, got 1"),
        ([[1, np.inf]], "infinite"),
    ]:
        with pytest.raises(ValueError, match=message):
            statistic(ratings, rng=seeded())


@EVERY
def test_what_is_no_resampling_is_refused(statistic):
    with pytest.raises(ValueError, match="1 resample or more, got 0"):
        statistic(RATINGS, rng=seeded(), n_resamples=0)
    with pytest.raises(ValueError, match="between 0 and 1, got 95"):
        statistic(RATINGS, rng=seeded(), confidence=95)
    with pytest.raises(TypeError, match="got RandomState"):
        statistic(RATINGS, rng=np.random.RandomState(1))


def test_the_caller_keeps_the_ratings_as_they_were():
    ratings = RATINGS * (1 + 1e-15)
    before = ratings.copy()
    for statistic in STATISTICS.values():
        statistic(ratings, rng=seeded(), n_resamples=2)
    assert (ratings == before).all()


def test_two_thousand_cases_of_real_numbers_are_no_trouble():
    ratings = seeded(1).normal(50, 9, (2_000, 3))
    for name in ("pearson", "spearman", "tau", "W", "ordinal alpha"):
        result = STATISTICS[name](ratings, rng=seeded(), n_resamples=50)
        assert result.ci_high - result.ci_low < 0.2
