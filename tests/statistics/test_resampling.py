import numpy as np
import pytest
from scipy import stats

from openosce.statistics import centred_bootstrap_p, cluster_bootstrap, paired_difference, sign_flip_p

RNG = np.random.default_rng(7)
A = RNG.binomial(5, RNG.beta(1, 1, 60)) / 5
B = RNG.binomial(5, RNG.beta(2, 1, 60)) / 5
C = RNG.binomial(5, RNG.beta(1, 2, 60)) / 5
ARMS = np.array([A, B, C])
BOTH = pytest.mark.parametrize("test", [centred_bootstrap_p, sign_flip_p])


def seeded(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def bounds(result) -> tuple[float, float]:
    return result.ci_low, result.ci_high


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_intervals_agree_with_scipy(confidence):
    result = cluster_bootstrap(ARMS, rng=seeded(), confidence=confidence)
    options = {"method": "percentile", "confidence_level": confidence, "n_resamples": 10_000, "rng": seeded(2)}
    for values, ours in [(A, result.arms[0]), (A - B, result.differences[0, 1])]:
        reference = stats.bootstrap((values,), np.mean, **options).confidence_interval
        assert bounds(ours) == pytest.approx((reference.low, reference.high), abs=0.006)


def test_the_p_of_a_pair_agrees_with_the_distribution_of_scipy():
    d = A - B
    drawn = stats.bootstrap((d,), np.mean, n_resamples=10_000, rng=seeded(2)).bootstrap_distribution
    reference = ((np.abs(drawn - d.mean()) >= abs(d.mean())).sum() + 1) / 10_001
    assert 0.01 < reference < 0.5
    assert centred_bootstrap_p(A, B, rng=seeded()).p == pytest.approx(reference, abs=0.02)


def test_every_pair_is_compared_and_every_arm_estimated():
    result = cluster_bootstrap(ARMS, rng=seeded(), n_resamples=100)
    assert len(result.arms) == 3
    assert list(result.differences) == [(0, 1), (0, 2), (1, 2)]
    assert [arm.mean for arm in result.arms] == pytest.approx(ARMS.mean(axis=1))
    assert result.differences[1, 2].difference == pytest.approx((B - C).mean())
    assert {arm.method for arm in result.arms} == {"95% percentile bootstrap over cases, 100 resamples"}


def test_only_the_pairs_asked_for_are_compared():
    every = cluster_bootstrap(ARMS, rng=seeded())
    some = cluster_bootstrap(ARMS, rng=seeded(), pairs=[(2, 0)])
    assert list(some.differences) == [(2, 0)]
    turned = every.differences[0, 2]
    assert bounds(some.differences[2, 0]) == pytest.approx((-turned.ci_high, -turned.ci_low))
    assert cluster_bootstrap(ARMS, rng=seeded(), pairs=[]).differences == {}


def test_a_pair_is_the_bootstrap_of_its_differences():
    pair = cluster_bootstrap(ARMS, rng=seeded()).differences[0, 1]
    alone = cluster_bootstrap([A - B], rng=seeded()).arms[0]
    assert bounds(pair) == pytest.approx(bounds(alone))


def test_the_p_of_a_pair_is_that_of_the_test_alone():
    pair = cluster_bootstrap(ARMS, rng=seeded()).differences[0, 1]
    assert pair.p == centred_bootstrap_p(A, B, rng=seeded()).p


def test_an_arm_does_not_depend_on_the_arms_beside_it():
    together, alone = cluster_bootstrap(ARMS, rng=seeded()).arms[0], cluster_bootstrap([A], rng=seeded()).arms[0]
    assert bounds(together) == pytest.approx(bounds(alone))


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others():
    assert cluster_bootstrap(ARMS, rng=seeded(3)) == cluster_bootstrap(ARMS, rng=seeded(3))
    assert cluster_bootstrap(ARMS, rng=seeded(3)) != cluster_bootstrap(ARMS, rng=seeded(4))


def test_a_change_of_unit_changes_the_interval_and_not_p():
    here, there = cluster_bootstrap(ARMS, rng=seeded()), cluster_bootstrap(100 * ARMS + 3, rng=seeded())
    assert bounds(there.arms[1]) == pytest.approx(tuple(100 * bound + 3 for bound in bounds(here.arms[1])))
    assert bounds(there.differences[0, 1]) == pytest.approx(tuple(100 * b for b in bounds(here.differences[0, 1])))
    assert there.differences[0, 1].p == here.differences[0, 1].p


def test_a_missing_case_leaves_its_arm_and_its_pairs_and_nothing_else():
    holed = ARMS.copy()
    holed[0, :10] = np.nan
    holed[1, 5:20] = np.nan
    result = cluster_bootstrap(holed, rng=seeded())
    assert [arm.n_cases for arm in result.arms] == [50, 45, 60]
    assert result.arms[0].mean == pytest.approx(A[10:].mean())
    assert result.differences[0, 1].n_cases == 40
    assert result.differences[0, 1].difference == pytest.approx((A - B)[20:].mean())
    assert bounds(result.arms[2]) == pytest.approx(bounds(cluster_bootstrap(ARMS, rng=seeded()).arms[2]))


def test_missing_cases_give_about_the_interval_of_the_others_alone():
    holed = np.concatenate([A, np.full(40, np.nan)])
    ours, alone = cluster_bootstrap([holed], rng=seeded()).arms[0], cluster_bootstrap([A], rng=seeded()).arms[0]
    assert bounds(ours) == pytest.approx(bounds(alone), abs=0.012)


def test_without_cases_there_is_nothing_but_a_reason():
    for empty in (np.empty((2, 0)), np.full((2, 5), np.nan)):
        result = cluster_bootstrap(empty, rng=seeded(), n_resamples=10)
        assert [(arm.mean, arm.ci_low, arm.n_cases) for arm in result.arms] == [(None, None, 0)] * 2
        assert "no case" in result.arms[0].reason
        assert (result.differences[0, 1].difference, result.differences[0, 1].p) == (None, None)
        assert "both sides" in result.differences[0, 1].reason
    assert cluster_bootstrap(np.empty((0, 5)), rng=seeded()).arms == ()


def test_arms_without_a_common_case_are_not_compared():
    result = cluster_bootstrap([[0, 1, np.nan, np.nan], [np.nan, np.nan, 1, 0]], rng=seeded(), n_resamples=100)
    assert result.arms[0].ci_low is not None
    assert "both sides" in result.differences[0, 1].reason


def test_one_case_or_cases_that_all_agree_have_a_mean_and_no_interval():
    one = cluster_bootstrap([[0.4]], rng=seeded(), n_resamples=10).arms[0]
    assert (one.mean, one.ci_low) == (0.4, None)
    assert "one case" in one.reason
    alike = cluster_bootstrap([[1.0] * 12, [0.8] * 12], rng=seeded(), n_resamples=10)
    assert (alike.arms[0].mean, alike.arms[0].ci_low) == (1.0, None)
    assert "all 12 cases have the same value" in alike.arms[0].reason
    pair = alike.differences[0, 1]
    assert (pair.difference, pair.ci_low, pair.p) == (pytest.approx(0.2), None, None)
    assert "same difference" in pair.reason


def test_too_few_resamples_to_meet_a_rare_case_are_said():
    rare = np.full((2, 1_000), np.nan)
    rare[:, :2] = [[0, 1], [1, 0]]
    result = cluster_bootstrap(rare, rng=seeded(1), n_resamples=1)
    assert (result.arms[0].mean, result.arms[0].ci_low, result.differences[0, 1].p) == (0.5, None, None)
    assert "more resamples" in result.arms[0].reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"case_means": A}, "shape"),
        ({"case_means": [[0, np.inf], [0, 1]]}, "1 of 4 values are infinite"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"n_resamples": 0}, "1 resample"),
        ({"pairs": [(0, 3)]}, r"rows from 0 to 2, got \(0, 3\)"),
    ],
)
def test_what_cannot_be_resampled_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        cluster_bootstrap(**({"case_means": ARMS, "rng": seeded()} | change))


def test_a_bare_seed_is_refused():
    with pytest.raises(TypeError, match=r"default_rng\(seed\) makes it, got int"):
        cluster_bootstrap(ARMS, rng=1)


def test_sign_flips_agree_with_the_exact_test_of_scipy():
    a, b = A[:10], B[:10]
    exact = stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", vectorized=True
    ).pvalue
    assert 0.01 < exact < 0.9
    assert sign_flip_p(a, b, rng=seeded(), n_resamples=50_000).p == pytest.approx(exact, abs=0.01)


def test_sign_flips_of_three_equal_differences_are_extreme_twice_in_eight():
    assert sign_flip_p([0.3] * 3, [0.1] * 3, rng=seeded(), n_resamples=50_000).p == pytest.approx(2 / 8, abs=0.01)


@BOTH
def test_on_many_cases_p_is_near_that_of_the_paired_t_test(test):
    rng = seeded(11)
    a, b = rng.normal(0.05, 1, 1_000), rng.normal(0, 1, 1_000)
    assert test(a, b, rng=seeded()).p == pytest.approx(paired_difference(a, b).p, abs=0.02)


@BOTH
def test_swapping_the_sides_negates_the_difference_and_keeps_p(test):
    ab, ba = test(A, B, rng=seeded()), test(B, A, rng=seeded())
    assert ba.difference == pytest.approx(-ab.difference)
    assert ba.p == ab.p


@BOTH
def test_rounding_does_not_decide_ties(test):
    p = {test(A + shift, B + shift, rng=seeded()).p for shift in (0, 0.1, 0.7, 3)}
    assert len(p) == 1


@BOTH
def test_a_clear_difference_has_the_smallest_p_and_never_zero(test):
    assert test(A + 9, B, rng=seeded(), n_resamples=999).p == 1 / 1_000


@BOTH
def test_cases_that_are_missing_on_one_side_are_left_out(test):
    a, b = np.append(A, [np.nan, 1]), np.append(B, [1, np.nan])
    assert test(a, b, rng=seeded()) == test(A, B, rng=seeded())
    assert test(a, b, rng=seeded()).n_cases == 60


@BOTH
def test_without_a_common_case_there_is_nothing_but_a_reason(test):
    for a, b in [([], []), ([np.nan, 1], [1, np.nan])]:
        result = test(a, b, rng=seeded())
        assert (result.difference, result.p, result.n_cases) == (None, None, 0)
        assert "both sides" in result.reason


@BOTH
def test_unpaired_or_infinite_values_are_refused(test):
    with pytest.raises(ValueError, match="A has 2, B has 3"):
        test([0, 1], [0, 1, 1], rng=seeded())
    with pytest.raises(ValueError, match="infinite"):
        test([0, np.inf], [0, 1], rng=seeded())
    with pytest.raises(ValueError, match="shape"):
        test(ARMS, ARMS, rng=seeded())
    with pytest.raises(ValueError, match="1 resample"):
        test(A, B, rng=seeded(), n_resamples=0)


@BOTH
def test_the_old_generator_is_refused(test):
    with pytest.raises(TypeError, match=r"numpy\.random\.Generator.*got RandomState"):
        test(A, B, rng=np.random.RandomState(20))


def test_the_bootstrap_has_no_p_where_resampling_moves_nothing():
    one, alike = centred_bootstrap_p([1], [0], rng=seeded()), centred_bootstrap_p([1, 1], [0, 0], rng=seeded())
    assert (one.difference, one.p, alike.difference, alike.p) == (1, None, 1, None)
    assert "one case alone gives no p" in one.reason
    assert "same difference" in alike.reason


def test_sign_flips_need_neither_variance_nor_a_second_case():
    assert sign_flip_p([1], [0], rng=seeded()).p == 1
    assert sign_flip_p(A, A, rng=seeded()).p == 1


def test_as_published_is_near_the_plain_test_and_repeats_itself():
    published = [centred_bootstrap_p(A, B, rng=np.random.RandomState(20), as_published=True).p for _ in range(2)]
    assert published[0] == published[1]
    assert published[0] == pytest.approx(centred_bootstrap_p(A, B, rng=seeded()).p, abs=0.02)


def test_as_published_gives_a_p_where_the_cases_do_not_differ():
    rng = np.random.RandomState(20)
    same = centred_bootstrap_p([1, 0, 1], [1, 0, 1], rng=rng, n_resamples=99, as_published=True)
    shifted = centred_bootstrap_p([1, 1, 1], [0, 0, 0], rng=rng, n_resamples=99, as_published=True)
    assert (same.p, shifted.p) == (1, 0.01)
    assert centred_bootstrap_p([], [], rng=rng, as_published=True).p is None


def test_as_published_takes_the_old_generator_and_no_missing_case():
    with pytest.raises(TypeError, match=r"RandomState\(20\), got Generator"):
        centred_bootstrap_p(A, B, rng=seeded(), as_published=True)
    with pytest.raises(ValueError, match="1 of 2 are; score them 0"):
        centred_bootstrap_p([1, np.nan], [0, 1], rng=np.random.RandomState(20), as_published=True)
