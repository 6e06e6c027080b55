import numpy as np
import pytest

from openosce.statistics import krippendorff_alpha

NAN = np.nan
LEVELS = ["nominal", "ordinal", "interval", "ratio"]

FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
"""Krippendorff (2011), section C: four observers, 12 units, the last with one rating."""

THREE_CODERS = np.array(
    [
        [NAN, NAN, NAN, NAN, NAN, 3, 4, 1, 2, 1, 1, 3, 3, NAN, 3],
        [1, NAN, 2, 1, 3, 3, 4, 3, NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, 2, 1, 3, 4, 4, NAN, 2, 1, 1, 3, 3, NAN, 4],
    ]
).T
"""The worked example of encyclopaedias."""


def seeded(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def alpha(ratings, level: str = "nominal") -> float | None:
    return krippendorff_alpha(ratings, level, rng=seeded(), n_resamples=1).value  # type: ignore[arg-type]


def by_coincidences(ratings: np.ndarray, level: str) -> float:
    """Alpha by its definition: coincidences of values, and ordinal distances by the sums between two values."""
    values = np.unique(ratings[~np.isnan(ratings)])
    coincidences = np.zeros((len(values), len(values)))
    for unit in ratings:
        known = np.searchsorted(values, unit[~np.isnan(unit)])
        for i, c in enumerate(known):
            for j, k in enumerate(known):
                if i != j:
                    coincidences[c, k] += 1 / (len(known) - 1)
    margins = coincidences.sum(axis=1)

    def distance(c: int, k: int) -> float:
        low, high = min(c, k), max(c, k)
        return {
            "nominal": float(c != k),
            "ordinal": (margins[low : high + 1].sum() - (margins[c] + margins[k]) / 2) ** 2,
            "interval": (values[c] - values[k]) ** 2,
            "ratio": ((values[c] - values[k]) / (values[c] + values[k])) ** 2,
        }[level]

    distances = np.array([[distance(c, k) for k in range(len(values))] for c in range(len(values))])
    observed, expected = (coincidences * distances).sum(), (np.outer(margins, margins) * distances).sum()
    return 1 - (margins.sum() - 1) * observed / expected


@pytest.mark.parametrize(
    ("ratings", "level", "published"),
    [
        (FOUR_OBSERVERS, "nominal", 0.743),
        (FOUR_OBSERVERS, "ordinal", 0.815),
        (FOUR_OBSERVERS, "interval", 0.849),
        (FOUR_OBSERVERS, "ratio", 0.797),
        (THREE_CODERS, "nominal", 0.691),
        (THREE_CODERS, "interval", 0.811),
    ],
)
def test_alpha_of_published_examples(ratings, level, published):
    assert alpha(ratings, level) == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_agrees_with_its_definition_by_coincidences(level):
    ratings = seeded(3).integers(1, 7, (40, 5)).astype(float)
    ratings[seeded(4).random(ratings.shape) < 0.3] = NAN
    ratings[:, 1] = np.where(seeded(5).random(40) < 0.7, ratings[:, 0], ratings[:, 1])
    assert 0.01 < alpha(ratings, level) < 0.6
    assert alpha(ratings, level) == pytest.approx(by_coincidences(ratings, level))


def test_every_level_ignores_what_it_does_not_measure():
    swapped = np.array([NAN, 30.0, 10.0, 50.0, 20.0, 40.0])[np.nan_to_num(FOUR_OBSERVERS).astype(int)]
    assert alpha(swapped, "nominal") == pytest.approx(alpha(FOUR_OBSERVERS, "nominal"))
    assert alpha(np.exp(FOUR_OBSERVERS), "ordinal") == pytest.approx(alpha(FOUR_OBSERVERS, "ordinal"))
    assert alpha(7 - 3 * FOUR_OBSERVERS, "interval") == pytest.approx(alpha(FOUR_OBSERVERS, "interval"))
    assert alpha(9 * FOUR_OBSERVERS, "ratio") == pytest.approx(alpha(FOUR_OBSERVERS, "ratio"))
    assert alpha(swapped, "ordinal") != pytest.approx(alpha(FOUR_OBSERVERS, "ordinal"), abs=0.05)
    assert alpha(np.exp(FOUR_OBSERVERS), "interval") != pytest.approx(alpha(FOUR_OBSERVERS, "interval"), abs=0.01)


@pytest.mark.parametrize("level", LEVELS)
def test_raters_are_exchangeable_within_a_case(level):
    shuffled = seeded(2).permuted(FOUR_OBSERVERS, axis=1)
    assert alpha(shuffled, level) == pytest.approx(alpha(FOUR_OBSERVERS, level))


@pytest.mark.parametrize("level", LEVELS)
def test_of_two_categories_every_level_but_ratio_says_the_same(level):
    yes_no = np.where(FOUR_OBSERVERS > 2, 1.0, np.where(np.isnan(FOUR_OBSERVERS), NAN, 0.0))
    assert alpha(yes_no, level) == pytest.approx(alpha(yes_no, "nominal"))


@pytest.mark.parametrize("level", LEVELS)
def test_a_case_with_one_rating_or_none_does_not_count(level):
    more = np.vstack([FOUR_OBSERVERS, [[NAN] * 4, [5, NAN, NAN, NAN]]])
    ours = krippendorff_alpha(more, level, rng=seeded())
    assert ours == krippendorff_alpha(FOUR_OBSERVERS, level, rng=seeded())
    assert ours.n_cases == 11


@pytest.mark.parametrize("level", LEVELS)
def test_full_agreement_is_1_and_guessing_about_0(level):
    truth = seeded(1).integers(1, 6, 400).astype(float)
    assert alpha(np.array([truth, truth, truth]).T, level) == pytest.approx(1, abs=1e-12)
    guessed = krippendorff_alpha(seeded(2).integers(1, 6, (400, 3)), level, rng=seeded())
    assert guessed.ci_low < 0 < guessed.ci_high


@pytest.mark.parametrize("level", LEVELS)
def test_the_last_bit_of_a_rating_does_not_matter(level):
    noisy = FOUR_OBSERVERS * (1 + np.finfo(float).eps * seeded(2).integers(-2, 3, FOUR_OBSERVERS.shape))
    assert alpha(noisy, level) == pytest.approx(alpha(FOUR_OBSERVERS, level))


@pytest.mark.parametrize("level", LEVELS)
def test_one_rating_for_all_gives_no_alpha(level):
    ours = krippendorff_alpha(np.full((5, 2), 3), level, rng=seeded())
    assert (ours.value, ours.n_cases) == (None, 5)
    assert "chance alone" in ours.reason


def test_ratings_that_are_not_of_the_level_are_refused():
    with pytest.raises(ValueError, match=r"0 or more, got -1"):
        krippendorff_alpha([[1, -1]], "ratio", rng=seeded())
    with pytest.raises(ValueError, match="got 'cardinal'"):
        krippendorff_alpha([[1, 1]], "cardinal", rng=seeded())  # type: ignore[arg-type]


def test_two_zeros_are_alike_at_the_ratio_level():
    # Distances: 0-1 and 0-2 are 1, 1-2 is 1/9; three 0, one 1, two 2; one pair of six ratings apart.
    among_all = 2 * (3 * 1 + 3 * 2 + 1 * 2 / 9)
    assert alpha([[0, 0], [2, 2], [1, 0]], "ratio") == pytest.approx(1 - 5 * 2 / among_all)
