"""The built-in summarizer: the patient's own sentences in the third person, and nothing else."""

import asyncio
import re

import pytest

from openosce.cases import STARTER, patient_part, read_cases
from openosce.roles import RecordSummarizer
from openosce.roles.language import stem
from openosce.roles.record_patient import NOTHING_MORE, UNKNOWN, in_lay_words

NOTHING_TOLD = "The patient could not say anything about the complaint."
FRAME = "the patient s informant their they themselves does not has had is would"


def stems_of(text: str) -> set[str]:
    return {stem(word) for word in re.findall(r"[a-z0-9]+", text.lower())}


def summarize(*statements: str) -> str:
    return asyncio.run(RecordSummarizer().summarize(statements))


def test_statements_are_told_of_the_patient_in_their_order():
    assert summarize("My eyes itch.", "I take aspirin.") == "The patient's eyes itch. The patient takes aspirin."


@pytest.mark.parametrize("nothing", [UNKNOWN, NOTHING_MORE, "", "  "])
def test_what_the_patient_could_not_tell_is_left_out(nothing: str):
    assert summarize("I cough.", nothing, "I smoke.") == "The patient coughs. The patient smokes."


def test_a_patient_who_knew_nothing_is_said_to_have_told_nothing():
    assert summarize() == NOTHING_TOLD
    assert summarize(UNKNOWN, NOTHING_MORE) == NOTHING_TOLD


def test_a_denied_finding_stays_denied():
    assert summarize("No rash.", "No, no fever.") == "No rash. No fever."


def test_a_summary_adds_no_word_of_its_own():
    for case in read_cases(STARTER):
        part = patient_part(case)
        said = [part.opening or "", *map(in_lay_words, part.facts)]
        assert stems_of(summarize(*said)) <= stems_of(" ".join(said)) | stems_of(FRAME), case.id


def test_an_informants_words_are_told_of_the_patient_and_the_informant():
    said = ("My little boy has a fever.", "I measured 39.8.", "My son's lips are red.", "The patient is 3 years old.")
    assert summarize(*said) == (
        "The patient has a fever. The informant measured 39.8. The patient's lips are red. The patient is 3 years old."
    )


def test_a_patient_who_mentions_a_child_is_still_the_patient():
    assert summarize("My son says I look pale.", "I faint.") == (
        "The patient's son says the patient looks pale. The patient faints."
    )


def test_markup_and_template_signs_are_kept_as_text():
    assert summarize("I feel <b>weak</b> {{ x }}.") == "The patient feels <b>weak</b> {{ x }}."
