import pytest
from PIL import Image as Pillow

from openosce.cases import Case, Diagnosis, Fact, Image, ImageStore, Patient, Test
from openosce.cases.checks import check_cases, duplicate_ids, missing_parts

CHOICES = ("Gout", "Measles", "Mumps", "Rabies")


def case(**parts):
    default = {"id": "a", "source": "s", "diagnosis": Diagnosis(name="Gout"), "choices": CHOICES}
    default |= {"vignette": "He limps.", "question": "Why?"}
    return Case(**default | parts)


def kinds(*cases):
    return [(problem.severity, problem.kind) for problem in check_cases(cases)]


def test_nothing_is_found_in_a_sound_case():
    assert kinds(case()) == []


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"diagnosis": Diagnosis(name="Ague")}, ("wrong", "answer equals no choice exactly")),
        ({"diagnosis": Diagnosis(name="gout")}, ("risky", "answer equals no choice exactly")),
        ({"choices": (*CHOICES[:3], "Rabies ")}, ("risky", "blank-padded choice")),
        ({"choices": (*CHOICES[:3], "mumps")}, ("wrong", "repeated choice")),
        ({"choices": (*CHOICES[:3], 'Rabies\n"')}, ("risky", "broken choice")),
        ({"choices": (*CHOICES[:3], " ")}, ("wrong", "blank answer or choice")),
        ({"choices": (), "diagnosis": Diagnosis(name="  ")}, ("wrong", "blank answer or choice")),
        ({"question": None}, ("risky", "no question sentence")),
        ({"vignette": "Why? He limps."}, ("risky", "further question")),
        ({"vignette": "He has gout."}, ("risky", "diagnosis named to the patient")),
        ({"vignette": "On examination, the toe is red."}, ("risky", "no history")),
    ],
)
def test_each_kind_of_problem_is_found(parts, found):
    assert found in kinds(case(**parts))


def test_a_blank_padded_answer_is_risky_where_it_equals_a_stripped_choice():
    assert kinds(case(diagnosis=Diagnosis(name="Gout "))) == [
        ("risky", "answer equals no choice exactly"),
        ("risky", "blank-padded answer"),
    ]


def test_an_id_that_occurs_twice_is_wrong_in_both_cases():
    cases = [case(), case(id="b"), case()]
    assert [(p.case_id, p.kind) for p in check_cases(cases)] == [("a", "duplicate id"), ("a", "duplicate id")]
    assert duplicate_ids(cases) == ["a"]


@pytest.mark.parametrize(
    ("told", "leaks"),
    [
        ("My GOUT is back.", True),
        ("(gout)", True),
        ("a gouty toe", False),
        ("ragout", False),
        ("The podagra\n  of old", True),
        ("C++ and gout-like pain", True),
        ("Nothing.", False),
    ],
)
@pytest.mark.parametrize("where", ["opening", "occupation", "informant", "fact", "lay", "vignette"])
def test_a_name_of_the_diagnosis_leaks_as_a_whole_word_wherever_the_patient_has_it(told, leaks, where):
    fact = Fact(fact=told if where == "fact" else "Limps", lay=told if where == "lay" else None)
    own = {where: told} if where in ("opening", "occupation", "informant") else {}
    parts = {"vignette": told} if where == "vignette" else {}
    subject = case(
        patient=Patient(facts=(fact,), **own), diagnosis=Diagnosis(name="Gout", synonyms=("podagra of old",)), **parts
    )
    assert (("risky", "diagnosis named to the patient") in kinds(subject)) is leaks


def test_a_diagnosis_of_regex_characters_is_looked_for_as_text():
    subject = case(diagnosis=Diagnosis(name="(.*)+["), choices=("(.*)+[", "x"), vignette="He limps.")
    assert kinds(subject) == []
    assert kinds(subject.model_copy(update={"vignette": "He has (.*)+[ again."})) == [
        ("risky", "diagnosis named to the patient")
    ]


def test_missing_parts_are_listed_for_each_benchmark():
    assert missing_parts(case())["craft-md"] == []
    assert missing_parts(case(vignette=None, choices=CHOICES[:3]))["craft-md"] == ["vignette", "four choices"]
    assert missing_parts(case())["agentclinic"] == ["objective", "patient.facts", "examination or tests"]
    assert missing_parts(case())["medqa-cs"] == [
        "station.doorway", "station.dialogue", "station.challenge", "station.differential"
    ]  # fmt: skip


CBC = Test(name="Complete blood count", result="normal")
TALK = {"objective": "Assess.", "patient": Patient(facts=(Fact(fact="Limps"),)), "tests": (CBC,), "vignette": None}
EXAMINED = {"Foot": {"inspection": "red toe"}}


@pytest.mark.parametrize(
    ("parts", "where"),
    [
        ({"examination": {"Foot": {"inspection": "a GOUT toe"}}}, "the examination Foot: inspection names 'Gout'"),
        ({"tests": (Test(name="Puncture", result="consistent with gout."),)}, "the test Puncture names 'Gout'"),
        ({"tests": (Test(name="Gout test", result="positive"),)}, "the test Gout test names 'Gout'"),
        ({"tests": (Test(name="Puncture", result="a gouty toe"),)}, None),
    ],
)
def test_a_finding_that_names_the_diagnosis_is_risky_and_says_where(parts, where):
    found = check_cases([case(**TALK | {"examination": EXAMINED} | parts)])
    assert [(p.severity, p.kind, p.message) for p in found] == (
        [("risky", "diagnosis named in the findings", where)] if where else []
    )


def test_a_diagnosis_that_stands_beside_the_image_is_risky():
    shown = case(images=(Image(path="foot.png", caption="Gout of the toe"), Image(path="hand.png", shows="gout")))
    assert kinds(shown) == [("risky", "diagnosis named beside the image")]


@pytest.mark.parametrize(
    ("parts", "sections"),
    [
        ({"examination": EXAMINED}, []),
        ({}, ["examination"]),
        ({"examination": EXAMINED, "tests": ()}, ["tests"]),
        ({"examination": EXAMINED, "tests": (), "images": (Image(path="a.png"),)}, []),
        ({"examination": EXAMINED, "patient": None}, ["patient"]),
        ({"examination": EXAMINED | {"Hand": {}}}, ["examination Hand"]),
        ({"objective": None, "tests": ()}, []),
    ],
)
def test_an_empty_section_of_a_case_that_has_an_objective_is_risky(parts, sections):
    found = [p for p in check_cases([case(**TALK | parts)]) if p.kind == "empty section"]
    assert [p.message.split(";")[0].removeprefix("nothing under ") for p in found] == sections


def test_images_are_looked_at_only_where_it_is_said_where_they_are(tmp_path):
    Pillow.new("RGB", (4, 4)).save(tmp_path / "there.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG and nothing else")
    paths = ("there.png", "missing.png", "broken.png", "https://example.org/a.png")
    subject = case(images=tuple(Image(path=path) for path in paths))
    assert kinds(subject) == []
    found = check_cases([subject], ImageStore(tmp_path, tmp_path / "cache"))
    assert [(p.severity, p.kind) for p in found] == [("wrong", "image cannot be had")] * 3
    assert [p.message.partition(": ")[0] for p in found] == list(paths[1:])
    assert str(tmp_path) not in str(found)
