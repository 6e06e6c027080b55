import pytest

from openosce.grading.diagnosis_text import after_marker, stated_diagnoses


def stated(reply, *names):
    return stated_diagnoses(reply, lambda text: text in names)


@pytest.mark.parametrize(
    "reply",
    [
        "Gout", "gout.", "A gout", "Gout?", "(Gout)", "Gout (podagra)", "Gout,", "\tGout \n", "*Gout*", '"Gout"',
        "[Gout]",
        "Final Diagnosis: Gout", "final diagnosis - gout.", "**Final Diagnosis:** Gout", "FINAL DIAGNOSIS\nGOUT",
        "Final  Diagnosis\u00a0:\u00a0Gout", "Well. Final Diagnosis: gout",
        "Final Diagnosis: mumps. Final Diagnosis: gout",
        "Final Diagnosis: gout. The final diagnosis should be confirmed by a doctor.", "The final diagnosis is gout.",
        "Final diagnosis is likely to be gout", "Based on your symptoms, the most likely diagnosis is gout.",
        "The most likely diagnosis in this patient is gout.", "My diagnosis would be gout", "Diagnosis: gout",
        "Dx: gout",
        "I think you have gout.", "It's gout", "This could be gout", "The patient most likely has gout.",
        "possible gout",
        "Your symptoms are consistent with gout", "The clinical findings suggest gout",
        "Gout. This is due to uric acid.",
        "Gout. However, infection or injury should be ruled out.", "Gout\n\nReasons:\n- red toe\n- pain", "1. Gout",
        "The most likely diagnosis is:\n1. Gout",
    ],
)  # fmt: skip
def test_one_diagnosis_is_read_out_of_its_wrapping(reply):
    assert [(name.casefold(), rest) for name, rest in stated(reply)] == [("gout", None)]


@pytest.mark.parametrize(
    "reply",
    [
        "", " ", "!", "...", "\0", "Final Diagnosis:", "None", "none.", "N/A", "Unknown", "Undetermined",
        "No diagnosis",
        "No clear diagnosis can be made", "Unable to determine", "I cannot give a diagnosis", "I can't tell",
        "I can’t tell",
        "The diagnosis cannot be determined.", "There is insufficient information", "Not enough information.",
        "Further tests are needed", "As an AI, I cannot diagnose", "It is impossible to say", "I don’t know",
        "Final Diagnosis: None",
    ],
)  # fmt: skip
def test_a_reply_that_declines_states_no_diagnosis(reply):
    assert stated(reply) == []


@pytest.mark.parametrize(
    "reply",
    [
        "Gout or mumps", "Gout, or mumps", "Gout vs. mumps", "Gout versus mumps", "Gout; mumps", "Gout/mumps",
        "gout and/or mumps",
        "1. Gout\n2. Mumps", "1) Gout\n\n2) Mumps", "- Gout\n- Mumps", "• Gout.\n• Mumps.", "* Gout\n* Mumps",
        "Final Diagnosis:\n- Gout\n- Mumps", "The most likely diagnoses are:\n1. Gout\n2. Mumps\nBoth are common.",
    ],
)  # fmt: skip
def test_alternatives_are_rivals(reply):
    assert [name.casefold() for name, _ in stated(reply)] == ["gout", "mumps"]


@pytest.mark.parametrize(
    ("reply", "main", "rest"),
    [
        ("Pneumonia with sepsis", "Pneumonia", "sepsis"),
        ("Pneumonia, complicated by sepsis.", "Pneumonia", "sepsis"),
        ("Hypertension due to hyperaldosteronism", "Hypertension", "hyperaldosteronism"),
        ("Gout with possible infection", "Gout", "infection"),
        ("Secondary syphilis", "Secondary syphilis", None),
    ],
)
def test_what_comes_with_a_main_diagnosis_is_told_from_it(reply, main, rest):
    assert stated(reply) == [(main, rest)]


@pytest.mark.parametrize(
    "name",
    [
        "Autism with delay",
        "Hyperactivity/inattention",
        "Legg or Perthes disease",
        "Unknown fever",
        "0.25",
        "t(15;17)",
        "No flow",
    ],
)
def test_a_known_name_is_not_taken_apart(name):
    assert stated(f"Final Diagnosis: {name}", name) == [(name, None)]
    assert stated(f"1. gout\n2. {name}", name) == [("gout", None), (name, None)]


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("Hepatitis B. The virus is common.", "Hepatitis B"),
        ("St. Vitus dance", "St. Vitus dance"),
        ("E. Coli infection", "E. Coli infection"),
        ("E. coli infection. Common.", "E. coli infection"),
        ("Diabetes mellitus (type 2)", "Diabetes mellitus (type 2"),
        ("Hemophilia (A). Rare.", "Hemophilia (A"),
        ("Vitamin B12 deficiency", "Vitamin B12 deficiency"),
        ("Multiple sclerosis", "Multiple sclerosis"),
        ("Nonetheless disease", "Nonetheless disease"),
        ("Crohn’s disease", "Crohn’s disease"),
    ],
)
def test_signs_inside_a_name_do_not_end_it(reply, name):
    assert stated(reply) == [(name, None)]


def test_without_the_marker_the_whole_reply_is_read():
    assert after_marker(" I say: gout ") == "I say: gout"
    assert after_marker("Final Diagnosis: mumps. Final diagnosis: gout") == "gout"


@pytest.mark.parametrize(
    "filling", ["most likely ", "the ", "based on ", "(", "Final Diagnosis ", " with", "a) ", "\n", "i think ", " "]
)
def test_a_very_long_reply_is_read_at_once(filling):
    assert stated("Final Diagnosis: gout. " + filling * 20_000)[:1] != []
    assert all(len(name) < 1_000 for name, _ in stated(filling * 20_000 + "gout"))
