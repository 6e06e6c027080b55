import pytest

from openosce.cases import Diagnosis, GraderPart
from openosce.grading import POLICIES, match_option
from openosce.grading.options import named_options

CHOICES = ("Gout", "Septic arthritis", "Type 1 diabetes mellitus", "Systemic lupus erythematosus (SLE)")


def letters(reply, choices=CHOICES):
    return "".join("ABCDEFGHIJ"[index] for index in named_options(reply, choices))


def verdict(reply, answer, policy="paper", choices=CHOICES):
    return match_option(reply, GraderPart(Diagnosis(name=answer), tuple(choices), "x"), POLICIES[policy])


@pytest.mark.parametrize(
    "reply",
    [
        "B", "b", "b)", "(B)", "B.", "B:", "[B]", "'B'", "Ｂ", "**B**", "B\n", "\\boxed{B}", "Option B", "option b",
        "Option (B)", "option **B**", "The answer is B.", "The answer is: B", "The correct answer is **B**.",
        "Answer: b",
        "**Answer:** B", "Answer\nB", "Final Diagnosis: B", "The correct option is B", "The answer is option B.",
        "I would choose B", "I'd pick B.", "It's B.", "I think it is B", "The answer is B because it fits",
        "Choice B is right",
        "B\n\nExplanation: A patient may limp.", "B) because it fits", "**B. Septic arthritis**",
        "B - septic arthritis",
        "B. septic arthritis", "SEPTIC ARTHRITIS", "septic\n  arthritis", "It is septic arthritis.",
        "“Septic arthritis”",
        "The best answer is B, septic arthritis.",
    ],
)  # fmt: skip
def test_an_option_is_named_by_letter_or_text(reply):
    assert letters(reply) == "B"


@pytest.mark.parametrize(
    "reply",
    [
        "", "   ", "?", "None", "Z", "E", "Option E", "A patient with fever", "The answer is A patient's decision",
        "Answer: a matter of debate", "It is B cell lymphoma", "Hepatitis B. It is viral", "vitamin A. deficiency",
        "Group A strep", "B-cell lymphoma", "C. difficile colitis", "The answer is C. difficile", "gouty arthritis",
        "ragout",
        "Type 1 diabetes", "I cannot choose", "1", "\0",
    ],
)  # fmt: skip
def test_what_names_no_option_names_none(reply):
    assert letters(reply) == ""
    assert verdict(reply, "Gout").evidence.startswith("no_option")
    assert verdict(reply, "Gout").value == 0.0


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ("Gout or septic arthritis", "AB"),
        ("Septic arthritis, not gout", "BA"),
        ("A, B", "AB"),
        ("B or C", "BC"),
        ("a and b", "AB"),
        ("Option A or B", "AB"),
        ("I choose option B over option A", "BA"),
        ("B. Gout", "BA"),
        ("A. Gout\nB. Septic arthritis", "AB"),
        ("A) Gout is wrong; B) septic arthritis is right", "AB"),
    ],
)
def test_a_reply_that_names_two_options_is_ambiguous_and_the_first_named_counts_only_by_policy(reply, named):
    assert letters(reply) == named
    for index in (0, 1):
        assert verdict(reply, CHOICES[index]).evidence.startswith("ambiguous")
        assert verdict(reply, CHOICES[index]).value == 0.0
        assert verdict(reply, CHOICES[index], "first_named").value == float("AB"[index] == named[0])


def test_the_option_read_is_the_evidence():
    assert verdict("B", "Septic arthritis").evidence == "named: Septic arthritis"
    assert (verdict("B", "Septic arthritis").value, verdict("B", "Gout").value) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("reply", "choices", "named"),
    [
        ("Hepatitis A", ("Hepatitis", "Hepatitis A"), "B"),
        ("Hepatitis", ("Hepatitis", "Hepatitis A"), "A"),
        ("HSV-1", ("HSV", "HSV-1"), "B"),
        ("Hepatitis", ("Hepatitis (A)", "Hepatitis (B)"), ""),
        ("Hepatitis (B)", ("Hepatitis (A)", "Hepatitis (B)"), "B"),
        ("t(8;14)", ("t(15;17)", "t(8;14)"), "B"),
        ("Lupus", ("Lupus (SLE)", "Gout"), "A"),
        ("Lupus (SLE)", ("Gout", "Lupus (SLE)"), "B"),
        ("C. difficile colitis", ("C. difficile colitis", "Gout", "Mumps"), "A"),
        ("Guillain-Barre syndrome", ("Gout", "Guillain–Barré syndrome"), "B"),
        ("Tourette's", ("Tourette’s", "Gout"), "A"),
        ("Sarcoma", ('Sarcoma\n"', "Gout"), "A"),
        ("gout", ("Mumps", "Gout."), "B"),
        ("the a+b* (c pattern", ("a+b* (c", "[z"), "A"),
        ("[z", ("a+b* (c", "[z"), "B"),
        ("aab", ("a+b", "x"), ""),
        ("C++ it is", ("C", "C++"), "B"),
        ("anything", (), ""),
        ("gout", ("", "Gout"), "B"),
    ],
)
def test_odd_options_are_told_apart(reply, choices, named):
    assert letters(reply, choices) == named


def test_padding_never_costs_a_point_in_the_default_policy():
    choices = (" Gout ", "Mumps")
    for reply in ("Gout", "A", "gout.", "The answer is gout"):
        assert verdict(reply, "Gout ", choices=choices).value == 1.0
        assert verdict(reply, " Gout", choices=choices).value == 1.0


@pytest.mark.parametrize(
    ("reply", "answer", "value"),
    [
        ("It is GOUT, surely", "Gout", 1.0),
        ("Gout", "Gout ", 0.0),
        ("Gout or mumps", "Gout ", 1.0),
        ("Gouty mumps", "Gout", 1.0),
        ("Gout or mumps", "Mumps", 1.0),
        ("Gout", "Mumps", 0.0),
        ("A", "Gout", 0.0),
    ],
)
def test_the_published_rule_looks_for_the_unstripped_answer_anywhere(reply, answer, value):
    found = verdict(reply, answer, "as_published")
    assert found.value == value
    assert found.evidence.startswith("contains")


@pytest.mark.parametrize("filling", ["\n", " ", "(", "A, ", "option ", "*", "gout ", "A or ", "answer is "])
def test_a_very_long_reply_is_read_to_its_end(filling):
    assert "B" in letters(filling * 20_000 + "\nseptic arthritis")
