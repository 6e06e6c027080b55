import math
import re

import numpy as np
import pytest
from scipy import stats

from openosce.statistics import mcnemar, mcnemar_of_cases

COUNTS = [(0, 1), (1, 7), (6, 16), (9, 9), (40, 25), (0, 30), (700, 600)]


@pytest.mark.parametrize(("only_a", "only_b"), COUNTS)
def test_the_exact_p_agrees_with_the_binomial_test_of_scipy(only_a, only_b):
    reference = stats.binomtest(only_a, only_a + only_b, 0.5).pvalue
    assert mcnemar(only_a, only_b).exact_p == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize(
    ("only_a", "only_b", "exact", "mid"),
    [
        (1, 7, 2 * (1 + 8) / 2**8, (2 * (1 + 8) - 8) / 2**8),  # airway hyper-responsiveness, as published: .070, .039
        (6, 16, 0.0525, 0.0347),  # response before and after consolidation therapy
        (3, 3, 1, 1 - 0.5 * 20 / 2**6),
    ],
)
def test_the_examples_of_the_mid_p_article(only_a, only_b, exact, mid):
    ours = mcnemar(only_a, only_b)
    assert (ours.exact_p, ours.mid_p) == pytest.approx((exact, mid), abs=5e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 21])
def test_the_mid_p_of_equal_doctors_is_one_half_on_average(n):
    chances = [math.comb(n, k) / 2**n for k in range(n + 1)]
    mid_p = [mcnemar(k, n - k).mid_p for k in range(n + 1)]
    assert sum(chance * p for chance, p in zip(chances, mid_p, strict=True)) == pytest.approx(0.5)


@pytest.mark.parametrize(("only_a", "only_b"), COUNTS)
def test_the_sides_may_be_swapped_and_mid_p_is_the_smaller(only_a, only_b):
    one, other = mcnemar(only_a, only_b), mcnemar(only_b, only_a)
    assert (one.exact_p, one.mid_p) == (other.exact_p, other.mid_p)
    assert 0 < one.mid_p < one.exact_p <= 1


def test_marks_are_compared_case_by_case():
    a, b = [1, 1, 1, 0, 0, 1, np.nan, 0], [0, 0, 1, 1, 0, 0, 1, np.nan]
    ours = mcnemar_of_cases(a, b)
    assert (ours.n_only_a, ours.n_only_b, ours.n_cases) == (3, 1, 6)
    assert ours.exact_p == mcnemar(3, 1).exact_p
    assert mcnemar_of_cases(np.array([True, False]), np.array([False, False])).n_only_a == 1


def test_agreements_do_not_matter():
    few, many = mcnemar_of_cases([1, 0, 0], [0, 1, 1]), mcnemar_of_cases([1, 0, 0] + [1] * 50, [0, 1, 1] + [1] * 50)
    assert (few.exact_p, few.mid_p) == (many.exact_p, many.mid_p)


def test_without_disagreement_there_is_no_p_and_a_reason():
    alike = mcnemar_of_cases([1, 0, 1], [1, 0, 1])
    assert (alike.exact_p, alike.mid_p, alike.n_cases) == (None, None, 3)
    assert "right on one side alone" in alike.reason
    for a, b in [([], []), ([np.nan, 1], [1, np.nan])]:
        assert "both sides" in mcnemar_of_cases(a, b).reason
    assert mcnemar(0, 0).exact_p is None


def test_what_is_no_count_is_refused():
    with pytest.raises(ValueError, match="got -1 and 2"):
        mcnemar(-1, 2)
    with pytest.raises(TypeError):
        mcnemar(0.5, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="disagree on 5 cases, which is more than the 4"):
        mcnemar(2, 3, n_cases=4)


def test_what_is_no_mark_is_refused():
    with pytest.raises(ValueError, match=r"1 are not, such as 0\.4"):
        mcnemar_of_cases([1, 0.4], [0, 1])
    with pytest.raises(ValueError, match="A has 1, B has 2"):
        mcnemar_of_cases([1], [0, 1])
    with pytest.raises(ValueError, match="infinite"):
        mcnemar_of_cases([np.inf], [1])
    with pytest.raises(ValueError, match="shape"):
        mcnemar_of_cases([[1]], [[1]])


DISAGREEMENTS = {
    ("GPT-4", "GPT-3.5"): [(12, 2)],
    ("GPT-4", "LLaMA-2-7b"): [(11, 3), (14, 5)],
    ("GPT-3.5", "Mistral-v2-7b"): [(9, 0), (13, 3)],
    ("GPT-3.5", "LLaMA-2-7b"): [(5, 7), (5, 14)],
    ("Mistral-v2-7b", "LLaMA-2-7b"): [(0, 11)],
}
"""Of 45 conversations: the only counts that fit the published shares; the table cuts p off after four places."""


def test_the_exact_p_of_supplementary_table_18(shared):
    text = (shared / "papers" / "craft-md-2025-nature-medicine-with-supplement.txt").read_text(encoding="utf-8")
    table = text.split("P-value (McNemar's test)")[1].split("Supplementary Table 18")[0]
    published = re.findall(r"(GPT\S+|Mistral\S+|LLaMA\S+)\t(\S+)\t(0\.\d{4})", table)
    assert len(published) == 9
    for (a, b), counts in DISAGREEMENTS.items():
        printed = [float(p) for first, second, p in published if (first, second) == (a, b)]
        ours = [math.floor(mcnemar(*count).exact_p * 1e4) / 1e4 for count in counts]
        assert ours == pytest.approx(printed[: len(ours)])
