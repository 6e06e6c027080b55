import numpy as np
import pytest

from openosce.statistics import cohens_kappa, detection, fleiss_kappa, gwet_ac1, kendalls_w, raw_agreement

NAN = np.nan


def seeded(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def two_raters(table: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """The ratings behind a table of counts: rows are the first rater's categories, columns the second's."""
    pairs = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    a, b = np.array(pairs, dtype=float).T
    return a, b


def many_raters(table: list[list[int]]) -> np.ndarray:
    """The ratings behind a table of counts: rows are cases, columns categories."""
    return np.array([np.repeat(np.arange(len(row)), row) for row in table], dtype=float)


FOURTEEN_RATERS = many_raters(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)
"""The worked example of encyclopaedias: P = .378, P_e = .213, kappa = .210."""

PSYCHIATRISTS = np.array(
    [
        list(row)
        for row in (
            "444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 144444 224445 "
            "333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 111155 224444 133333 555555"
        ).split()
    ],
    dtype=float,
)
"""Fleiss (1971): 30 patients, 6 diagnoses each, 5 categories."""

ANXIETY = np.array(
    [list(row) for row in ("332 361 344 464 523 542 221 346 531 231 221 632 133 533 221 221 113 233 432 342".split())],
    dtype=float,
)
"""Three raters of 20 people, distributed with the R package irr, whose printed results the tests below quote."""

FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
"""Krippendorff's example of four observers and 12 units, which Gwet (2014) computes his coefficients of, too."""


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ([[20, 5], [10, 15]], 0.4),  # raw .7, by chance .5
        ([[45, 15], [25, 15]], 0.1304),  # raw .6 twice, with other margins
        ([[25, 35], [5, 35]], 0.2593),
        ([[118, 5], [2, 0]], -0.0234),  # Gwet (2008): 94 % raw, and kappa below zero
    ],
)
def test_cohens_kappa_of_known_tables(table, kappa):
    assert cohens_kappa(*two_raters(table), rng=seeded()).value == pytest.approx(kappa, abs=5e-5)


@pytest.mark.parametrize(("weights", "kappa"), [(None, 0.4842), ("linear", 0.4701)])
def test_cohens_kappa_agrees_with_the_manual_of_sas(weights, kappa):
    ratings = two_raters([[0, 4, 1], [0, 8, 0], [0, 1, 5]])
    assert cohens_kappa(*ratings, weights, rng=seeded()).value == pytest.approx(kappa, abs=5e-5)


@pytest.mark.parametrize(("weights", "kappa"), [(None, -0.006289308), ("linear", 0.1459075), ("quadratic", 0.2520325)])
def test_cohens_kappa_agrees_with_r(weights, kappa):
    without_gap = np.where(ANXIETY == 6, 5, ANXIETY)[:, 1:]  # R goes by places, and the last two raters never say 5
    assert cohens_kappa(*without_gap.T, weights, rng=seeded()).value == pytest.approx(kappa, abs=5e-8)


def test_weights_go_by_the_number_and_not_by_its_place():
    a, b = [1, 2, 3, 1, 2, 3], [1, 3, 3, 2, 2, 3]
    near, far = cohens_kappa(a, b, "linear", rng=seeded()), cohens_kappa([1, 2, 9, 1, 2, 9], b, "linear", rng=seeded())
    assert near.value > far.value
    stretched = cohens_kappa(np.array(a) * 10, np.array(b) * 10, "linear", rng=seeded())
    assert stretched.value == pytest.approx(near.value)


def test_quadratic_kappa_is_the_concordance_of_lin():
    a, b = seeded(3).integers(1, 6, (2, 200)).astype(float)
    b = np.where(seeded(4).random(200) < 0.5, a, b)
    lin = 2 * np.cov(a, b, ddof=0)[0, 1] / (a.var() + b.var() + (a.mean() - b.mean()) ** 2)
    assert cohens_kappa(a, b, "quadratic", rng=seeded()).value == pytest.approx(lin)


def test_fleiss_kappa_of_published_examples():
    assert fleiss_kappa(PSYCHIATRISTS, rng=seeded()).value == pytest.approx(0.4302445, abs=5e-8)
    assert fleiss_kappa(FOURTEEN_RATERS, rng=seeded()).value == pytest.approx(0.210, abs=5e-4)
    assert raw_agreement(FOURTEEN_RATERS, rng=seeded()).value == pytest.approx(0.378, abs=5e-4)


def test_fleiss_kappa_of_two_raters_is_scotts_pi():
    a, b = two_raters([[20, 5], [10, 15]])
    pi = (0.7 - (0.55**2 + 0.45**2)) / (1 - (0.55**2 + 0.45**2))  # chance from both raters' margins together
    assert fleiss_kappa(np.array([a, b]).T, rng=seeded()).value == pytest.approx(pi)


def test_fleiss_kappa_takes_changing_raters_and_refuses_changing_numbers():
    moved = np.array([[1, 1, NAN], [NAN, 1, 2], [2, NAN, 2], [NAN, NAN, NAN]])
    ours = fleiss_kappa(moved, rng=seeded())
    assert (ours.value, ours.n_cases) == (fleiss_kappa([[1, 1], [1, 2], [2, 2]], rng=seeded()).value, 3)
    uneven = fleiss_kappa([[1, 1, 1], [1, 2, NAN]], rng=seeded())
    assert uneven.value is None
    assert "2 to 3 ratings" in uneven.reason


def test_ac1_of_published_examples():
    table = two_raters([[118, 5], [2, 0]])
    assert gwet_ac1(np.array(table).T, rng=seeded()).value == pytest.approx(0.9408, abs=5e-5)  # Gwet (2008)
    ours = gwet_ac1(FOUR_OBSERVERS, rng=seeded())  # Gwet (2014)
    assert (ours.value, ours.n_cases) == (pytest.approx(0.77544, abs=5e-6), 11)
    assert raw_agreement(FOUR_OBSERVERS, rng=seeded()).value == pytest.approx(0.8181818)


def test_ac1_counts_categories_that_nobody_chose():
    ratings = [[1, 1], [1, 1], [1, 2]]  # p = 2/3; pi = 5/6 and 1/6, so p_e = 2·5/36 / (q - 1)
    for q in (2, 3, 5):
        by_chance = 10 / 36 / (q - 1)
        expected = (2 / 3 - by_chance) / (1 - by_chance)
        assert gwet_ac1(ratings, q, rng=seeded()).value == pytest.approx(expected)
    assert gwet_ac1([[1, 1], [1, 1]], 2, rng=seeded()).value == 1
    alone = gwet_ac1([[1, 1], [1, 1]], rng=seeded())
    assert alone.value is None
    assert "n_categories" in alone.reason
    with pytest.raises(ValueError, match="3 categories occur"):
        gwet_ac1([[1, 2], [3, 3]], 2, rng=seeded())


def test_raw_agreement_is_a_mean_over_cases_and_not_over_pairs():
    ratings = [[1, 1, NAN], [1, 2, NAN], [1, 1, 2], [1, NAN, NAN]]  # shares 1, 0, 1/3, none
    ours = raw_agreement(ratings, rng=seeded())
    assert (ours.value, ours.n_cases) == (pytest.approx(4 / 9), 3)


def test_the_names_of_the_categories_do_not_matter():
    ratings = seeded(5).integers(0, 3, (80, 3)).astype(float)
    renamed = np.array([7.0, -2.0, 0.5])[ratings.astype(int)]
    for statistic in (fleiss_kappa, gwet_ac1, raw_agreement):
        assert statistic(ratings, rng=seeded()).value == pytest.approx(statistic(renamed, rng=seeded()).value)
    a, b = (cohens_kappa(*side[:, :2].T, rng=seeded()) for side in (ratings, renamed))
    assert a.value == pytest.approx(b.value)


def test_the_order_of_the_raters_does_not_matter():
    assert cohens_kappa(*ANXIETY[:, :2].T, rng=seeded()) == cohens_kappa(*ANXIETY[:, 1::-1].T, rng=seeded())
    for statistic in (fleiss_kappa, gwet_ac1, raw_agreement, kendalls_w):
        assert statistic(ANXIETY, rng=seeded()).value == pytest.approx(statistic(ANXIETY[:, ::-1], rng=seeded()).value)


def test_raters_who_call_everything_the_same_have_no_kappa():
    both = cohens_kappa([1, 1, 1], [1, 1, 1], rng=seeded())
    assert (both.value, both.n_cases) == (None, 3)
    assert "chance alone" in both.reason
    assert "chance alone" in fleiss_kappa([[2, 2], [2, 2]], rng=seeded()).reason


def test_a_kappa_that_one_constant_rater_forces_to_zero_says_so():
    one = cohens_kappa([1, 1, 1, 1], [1, 1, 1, 0], rng=seeded())
    assert (one.value, one.ci_low, one.ci_high) == (0, None, None)
    assert "0 whatever the agreement" in one.reason


def test_unknown_weights_are_refused():
    with pytest.raises(ValueError, match="got 'cubic'"):
        cohens_kappa([1], [1], "cubic", rng=seeded())  # type: ignore[arg-type]


def test_sensitivity_and_specificity_are_counted_as_in_textbooks():
    verdicts, truth = two_raters([[85, 10], [15, 90]])  # rows: called wrong, called right
    ours = detection(verdicts, truth, rng=seeded())
    assert (ours.sensitivity.value, ours.sensitivity.n_cases) == (pytest.approx(0.9), 100)
    assert (ours.specificity.value, ours.specificity.n_cases) == (pytest.approx(0.85), 100)
    half = 1.96 * np.sqrt(0.9 * 0.1 / 100)
    assert (ours.sensitivity.ci_low, ours.sensitivity.ci_high) == pytest.approx((0.9 - half, 0.9 + half), abs=0.015)


def test_a_verdict_may_be_the_share_of_a_cases_trials():
    ours = detection([0.8, 1, 0.4, 0, NAN, 1], [1, 1, 0, 0, 1, NAN], rng=seeded())
    assert (ours.sensitivity.value, ours.specificity.value) == pytest.approx((0.9, 0.8))
    assert (ours.sensitivity.n_cases, ours.specificity.n_cases) == (2, 2)


def test_what_the_experts_never_found_has_no_rate():
    ours = detection([1, 0, 1], [1, 1, 1], rng=seeded())
    assert ours.sensitivity.value == pytest.approx(2 / 3)
    assert (ours.specificity.value, ours.specificity.n_cases) == (None, 0)
    assert "truly negative" in ours.specificity.reason


@pytest.mark.parametrize(
    ("verdicts", "truth", "message"),
    [([1.2], [1], r"1 are not, such as 1\.2"), ([1], [0.5], r"such as 0\.5"), ([1], [1, 0], "A has 1, B has 2")],
)
def test_what_is_no_verdict_is_refused(verdicts, truth, message):
    with pytest.raises(ValueError, match=message):
        detection(verdicts, truth, rng=seeded())
