import numpy as np
import pytest

from openosce.statistics import corrected_accuracy, mean_over_cases, rogan_gladen

NAN = np.nan


def seeded(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def validation(n_right: int, n_wrong: int, *, found: int, spared: int) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts and truth of a sample in which the grader passes `found` right answers and fails `spared` wrong ones."""
    verdicts = np.concatenate([np.arange(n_right) < found, np.arange(n_wrong) >= spared])
    return verdicts.astype(float), np.repeat([1.0, 0.0], [n_right, n_wrong])


GRADED = seeded(3).binomial(5, seeded(4).beta(2, 2, 300)) / 5
GOOD = validation(100, 100, found=90, spared=80)


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.83, 1])
@pytest.mark.parametrize(("sensitivity", "specificity"), [(1, 1), (0.9, 0.8), (0.6, 0.55), (0.3, 0.99), (0.2, 0.1)])
def test_the_true_share_comes_back_from_what_the_grader_makes_of_it(share, sensitivity, specificity):
    graded = share * sensitivity + (1 - share) * (1 - specificity)
    assert rogan_gladen(graded, sensitivity, specificity).value == pytest.approx(share)


def test_a_grader_without_errors_needs_no_correction():
    assert rogan_gladen(0.37, 1, 1).value == pytest.approx(0.37)
    assert rogan_gladen(0.37, 1, 1).reason is None


@pytest.mark.parametrize(("graded", "expected"), [(0.1, -1 / 7), (0.95, 7.5 / 7)])
def test_an_estimate_outside_0_to_1_is_not_cut_and_says_so(graded, expected):
    ours = rogan_gladen(graded, 0.9, 0.8)
    assert ours.value == pytest.approx(expected)
    assert "outside 0 to 1" in ours.reason


def test_a_grader_no_better_than_chance_is_named():
    assert rogan_gladen(0.5, 0.7, 0.3).value is None
    assert "add up to 1" in rogan_gladen(0.5, 0.7, 0.3).reason
    worse = rogan_gladen(0.5, 0.3, 0.4)
    assert worse.value == pytest.approx(1 / 3)
    assert "worse than chance" in worse.reason


@pytest.mark.parametrize("shares", [(1.1, 0.9, 0.9), (0.5, -0.1, 0.9), (0.5, 0.9, NAN)])
def test_what_is_no_share_is_refused(shares):
    with pytest.raises(ValueError, match="between 0 and 1, got"):
        rogan_gladen(*shares)


def test_the_corrected_mean_is_that_of_rogan_and_gladen():
    ours = corrected_accuracy(GRADED, *GOOD, rng=seeded())
    assert ours.mean == pytest.approx((GRADED.mean() + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert ours.ci_low < ours.mean < ours.ci_high
    assert ours.n_cases == 300
    assert "200 validated" in ours.method
    assert "2000 resamples" in ours.method


def test_the_interval_agrees_with_the_variance_of_rogan_and_gladen():
    ours = corrected_accuracy(GRADED, *GOOD, rng=seeded(), n_resamples=8_000)
    gain, true = 0.9 + 0.8 - 1, ours.mean
    of_cases = GRADED.var(ddof=1) / 300
    of_sample = true**2 * 0.9 * 0.1 / 100 + (1 - true) ** 2 * 0.8 * 0.2 / 100
    half = 1.96 * np.sqrt(of_cases + of_sample) / gain
    assert (ours.ci_high - ours.ci_low) / 2 == pytest.approx(half, rel=0.06)


def test_both_samples_add_to_the_uncertainty():
    def width(times_cases: int, times_validated: int) -> float:
        sample = (np.tile(side, times_validated) for side in GOOD)
        ours = corrected_accuracy(np.tile(GRADED, times_cases), *sample, rng=seeded())
        return ours.ci_high - ours.ci_low

    assert width(1, 1) > width(1, 20) > width(20, 20)
    assert width(1, 1) > width(20, 1) > width(20, 20)


def test_the_interval_covers_the_truth_where_the_uncorrected_one_does_not():
    rng, share, covered, uncorrected = seeded(8), 0.4, 0, 0
    for _ in range(200):
        right = np.concatenate([rng.random(150) < share, np.arange(120) < 60])
        passed = np.where(right, rng.random(270) < 0.9, rng.random(270) < 0.2).astype(float)
        ours = corrected_accuracy(passed[:150], passed[150:], right[150:], rng=rng, n_resamples=300)
        plain = mean_over_cases(passed[:150])
        covered += ours.ci_low <= share <= ours.ci_high
        uncorrected += plain.ci_low <= share <= plain.ci_high
    assert 0.91 <= covered / 200 <= 0.99  # of 95 %, three standard errors
    assert uncorrected / 200 < 0.7


def test_the_same_seed_gives_the_same_interval_and_the_order_of_cases_does_not_matter():
    ours = corrected_accuracy(GRADED, *GOOD, rng=seeded(3))
    assert ours == corrected_accuracy(GRADED, *GOOD, rng=seeded(3))
    assert ours.ci_low != corrected_accuracy(GRADED, *GOOD, rng=seeded(4)).ci_low
    assert corrected_accuracy(GRADED[::-1], *GOOD, rng=seeded(3)).mean == pytest.approx(ours.mean)


def test_a_missing_value_is_left_out_on_either_side():
    graded = np.append(GRADED, NAN)
    verdicts, truth = np.append(GOOD[0], [NAN, 1]), np.append(GOOD[1], [0, NAN])
    assert corrected_accuracy(graded, verdicts, truth, rng=seeded()) == corrected_accuracy(GRADED, *GOOD, rng=seeded())


def test_a_rate_without_an_error_in_the_sample_is_named():
    ours = corrected_accuracy(GRADED, *validation(30, 30, found=30, spared=25), rng=seeded())
    assert ours.ci_low < ours.mean < ours.ci_high
    assert "sensitivity exactly 0 or 1" in ours.reason
    assert "too narrow" in ours.reason


def test_a_sample_too_small_to_tell_the_grader_from_chance_gives_no_interval():
    ours = corrected_accuracy(GRADED, *validation(10, 10, found=6, spared=6), rng=seeded())
    assert ours.mean is not None
    assert (ours.ci_low, ours.ci_high) == (None, None)
    assert "judge more answers" in ours.reason


def test_an_impossible_mean_keeps_its_interval_and_a_grader_worse_than_chance_has_none():
    low = corrected_accuracy(np.tile([0, 0, 0, 0.4], 50), *GOOD, rng=seeded())
    assert low.mean < 0
    assert low.ci_low < low.mean < low.ci_high
    assert "outside 0 to 1" in low.reason
    worse = corrected_accuracy(GRADED, *validation(50, 50, found=20, spared=20), rng=seeded())
    assert (worse.ci_low, worse.ci_high) == (None, None)
    assert "worse than chance" in worse.reason


def test_resamples_without_a_wrong_answer_are_left_out_and_counted():
    ours = corrected_accuracy(GRADED, *validation(40, 3, found=38, spared=3), rng=seeded(), n_resamples=1_000)
    lost = int(ours.reason.split("not defined in ")[1].split(" of ")[0])
    assert lost == pytest.approx(1_000 * (40 / 43) ** 43, abs=25)
    assert f"{1_000 - lost} of 1000 resamples" in ours.method


@pytest.mark.parametrize(
    ("values", "verdicts", "truth", "reason"),
    [
        ([], [1, 0], [1, 0], "no case has a valid answer"),
        ([NAN], [1, 0], [1, 0], "no case has a valid answer"),
        ([0.5, 0.2], [], [], "truly right"),
        ([0.5, 0.2], [1, 0], [1, 1], "truly wrong"),
        ([0.5, 0.2], [1, 0, 1, 0], [1, 1, 0, 0], "add up to 1"),
    ],
)
def test_without_a_correction_there_is_a_reason(values, verdicts, truth, reason):
    ours = corrected_accuracy(values, verdicts, truth, rng=seeded())
    assert (ours.mean, ours.ci_low, ours.ci_high) == (None, None, None)
    assert reason in ours.reason


def test_one_case_has_a_mean_and_no_interval():
    ours = corrected_accuracy([0.55], *GOOD, rng=seeded())
    assert (ours.mean, ours.ci_low) == (pytest.approx(0.5), None)
    assert "one case alone" in ours.reason


def test_what_cannot_be_corrected_is_refused():
    with pytest.raises(ValueError, match="1 are not, such as 55"):
        corrected_accuracy([55], *GOOD, rng=seeded())
    with pytest.raises(ValueError, match="shape"):
        corrected_accuracy([[0.5]], *GOOD, rng=seeded())
    with pytest.raises(ValueError, match="A has 1, B has 2"):
        corrected_accuracy([0.5], [1], [1, 0], rng=seeded())
    with pytest.raises(ValueError, match="1 resample or more"):
        corrected_accuracy([0.5], *GOOD, rng=seeded(), n_resamples=0)
    with pytest.raises(TypeError, match="Generator"):
        corrected_accuracy([0.5], *GOOD, rng=np.random.RandomState(1))
