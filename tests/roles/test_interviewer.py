"""The built-in doctor: it asks by a checklist, adapts to what it hears, and ranks by illness scripts."""

import asyncio
from collections.abc import Callable
from importlib import resources

import pytest
import yaml
from scipy.stats import binomtest

from openosce.benchmarks.craft_md.station import CraftMDStation
from openosce.cases import STARTER, Case, GraderPart, patient_part, read_cases
from openosce.cases.record import Diagnosis
from openosce.encounters import DOCTOR, PATIENT, Encounter, EndReason, Message, Transcript, run_encounter
from openosce.grading import find_policy, match_option
from openosce.grading.options import named_options
from openosce.roles import Interviewer, Question, RecordPatient
from openosce.roles.illness_scripts import script_names
from openosce.roles.interviewer import FINAL, MOST_QUESTIONS

CHECKLIST = yaml.safe_load((resources.files("openosce.roles") / "checklist.yaml").read_text(encoding="utf-8"))
MODULES = {module["name"]: set(module["ask"]) for module in CHECKLIST["modules"]}
CASES = read_cases(STARTER)
UNSCRIPTED = ("Alpha sickness", "Beta sickness", "Gamma sickness", "Delta sickness")


class Says:
    """A patient whose reply depends on the last question alone."""

    def __init__(self, reply: str | Callable[[str], str]) -> None:
        self._reply = reply

    async def speak(self, transcript: Transcript) -> str:
        return self._reply if isinstance(self._reply, str) else self._reply(transcript[-1].text)


def hold(patient: object, seed: str = "1|c|0", cap: int = 60) -> Encounter:
    station = CraftMDStation(cap, any_case=True)
    return asyncio.run(run_encounter(station, {DOCTOR: Interviewer(seed), PATIENT: patient}))


def questions(encounter: Encounter) -> list[str]:
    return [m.text for m in encounter.transcript[1:] if m.speaker == DOCTOR and not m.text.startswith(FINAL)]


def answer(question: Question, seed: str = "1|c|0") -> str:
    return asyncio.run(Interviewer(seed).answer(question))


def mcq(told: str | Transcript, choices: tuple[str, ...], arm: str = "vignette_mcq") -> Question:
    return Question(arm, told, None, choices)


def complaint(text: str) -> Callable[[str], str]:
    """A patient that has this complaint and denies everything else."""
    return lambda asked: text if "symptoms have brought" in asked else "No."


# --- nothing but what every doctor is handed


def test_the_record_behind_the_same_words_changes_neither_conversation_nor_answers():
    case = next(case for case in CASES if case.id == "acute-pericarditis-01")
    other = case.model_copy(
        update={
            "id": "other",
            "specialty": "Dermatology",
            "diagnosis": Diagnosis(name="Gout"),
            "tests": (),
            "examination": {},
        }
    )

    def examined(behind: Case) -> tuple[Transcript, list[str]]:
        encounter = hold(RecordPatient(patient_part(behind)))
        put = [
            mcq(behind.vignette or "", behind.choices),
            mcq(encounter.transcript, behind.choices, "multi_turn_mcq"),
            Question("vignette_frq", behind.vignette or ""),
        ]
        return encounter.transcript, [answer(question) for question in put]

    assert examined(case) == examined(other)


def test_what_is_told_decides_the_answer():
    choices = ("Pityriasis rosea", "Celiac disease")
    assert answer(mcq("A herald patch came before the rash.", choices)) == "Pityriasis rosea"
    assert answer(mcq("The itchy rash on both elbows and the bloating after bread.", choices)) == "Celiac disease"


# --- the conversation


def test_the_same_seed_holds_the_same_conversation_and_another_seed_asks_in_another_order():
    part = patient_part(CASES[0])
    first, again, other = (hold(RecordPatient(part), seed) for seed in ("1|a|0", "1|a|0", "1|a|1"))
    assert first == again
    assert questions(first) != questions(other)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_no_question_is_asked_twice_and_the_talk_ends_with_a_diagnosis_under_the_cap(case: Case):
    for trial in range(3):
        encounter = hold(RecordPatient(patient_part(case)), f"7|{case.id}|{trial}")
        asked = questions(encounter)
        assert encounter.ended is EndReason.DIAGNOSED
        assert len(asked) == len(set(asked)) <= MOST_QUESTIONS
        assert len(encounter.transcript) < 60
        assert all("?" in question for question in asked)
        assert encounter.transcript[-1].text.removeprefix(f"{FINAL} ") in script_names()


@pytest.mark.parametrize("reply", ["", "Yes.", "No.", "I don't know.", "x" * 10_000, "Oui, j'ai mal.", "{{ x }}", "?"])
def test_the_talk_ends_within_the_maximum_whatever_the_patient_says(reply: str):
    encounter = hold(Says(reply))
    assert encounter.ended is EndReason.DIAGNOSED
    assert len(questions(encounter)) <= MOST_QUESTIONS


def test_a_lower_cap_ends_the_talk_before_a_diagnosis():
    encounter = hold(Says("Yes."), cap=6)
    assert encounter.ended is EndReason.MESSAGE_CAP
    assert len(encounter.transcript) == 6


@pytest.mark.parametrize(
    ("words", "module"),
    [("I have an itchy rash.", "skin"), ("My knees are stiff.", "joints"), ("My urine is dark.", "urine")],
)
def test_a_module_is_asked_once_the_patient_has_confirmed_its_words(words: str, module: str):
    assert MODULES[module] & set(questions(hold(Says(complaint(words)))))


@pytest.mark.parametrize(
    ("words", "module"),
    [
        ("I feel odd, but I have no rash and no itch.", "skin"),
        ("I feel odd, but I have no stiff joint.", "joints"),
        ("I feel odd, without any change of my urine.", "urine"),
        ("I feel odd, but it's not in my throat.", "throat"),
    ],
)
def test_a_module_is_not_asked_when_its_words_were_only_denied(words: str, module: str):
    assert not MODULES[module] & set(questions(hold(Says(complaint(words)))))


def test_a_bare_yes_confirms_what_was_asked():
    def reply(asked: str) -> str:
        return "Yes." if "tired" in asked else complaint("I feel odd.")(asked)

    def reply_about_pain(asked: str) -> str:
        return "Yes." if "stiff in the morning" in asked else complaint("My shoulders.")(asked)

    assert "Are you stiff in the morning, and for how long?" in questions(hold(Says(reply_about_pain)))
    assert not MODULES["skin"] & set(questions(hold(Says(reply))))


# --- written answers


def test_without_a_script_for_any_choice_it_says_so_and_names_exactly_one_by_seeded_chance():
    named = set()
    for trial in range(30):
        seed = f"1|c|{trial}"
        reply = answer(mcq("A man coughs.", UNSCRIPTED), seed)
        assert "By chance" in reply
        (index,) = named_options(reply, UNSCRIPTED)
        assert answer(mcq("A man coughs.", UNSCRIPTED), seed) == reply
        named.add(index)
    assert named == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "choices",
    [
        ("No illness", "Chickenpox", "Scurvy of old", "None of the above"),
        ("Type 1 diabetes mellitus", "Diabetes mellitus", "Type 1", "Insipidus"),
        (" padded one ", "(bracketed)", "a.b*c", "Hand, foot"),
        ("I", "II", "III", "IV"),
        ("Aspirin 81 mg", "Aspirin 325 mg", "No treatment", "Observation"),
    ],
)
def test_the_option_chosen_by_chance_can_always_be_matched(choices: tuple[str, ...]):
    for trial in range(8):
        reply = answer(mcq("", choices), f"1|c|{trial}")
        assert len(named_options(reply, choices)) == 1, reply


def test_where_no_script_fits_it_goes_by_chance_among_all_choices():
    choices = ("Pityriasis rosea", *UNSCRIPTED[:3])
    replies = {answer(mcq("", choices), f"1|c|{trial}") for trial in range(40)}
    assert all("By chance" in reply for reply in replies)
    assert {named_options(reply, choices)[0] for reply in replies} == {0, 1, 2, 3}


def test_a_choice_keeps_its_own_wording_without_the_blanks_around_it():
    reply = answer(mcq("A herald patch.", ("  Gibert disease  ", "Ringworm of the body")))
    assert reply == "Gibert disease"


def test_in_a_free_response_every_script_is_a_candidate():
    assert answer(Question("vignette_frq", "A herald patch, a collarette and a christmas tree.")) == (
        "Final Diagnosis: Pityriasis rosea"
    )
    names = {answer(Question("vignette_frq", ""), f"1|c|{trial}").rsplit(": ", 1)[1] for trial in range(60)}
    assert len(names) > 10
    assert names <= set(script_names())


def test_arms_have_chances_of_their_own():
    choices = UNSCRIPTED
    pairs = {
        (answer(mcq("", choices, "vignette_mcq"), f"{n}"), answer(mcq("", choices, "single_turn_mcq"), f"{n}"))
        for n in range(20)
    }
    assert any(first != second for first, second in pairs)


@pytest.mark.parametrize(
    ("text", "sex"),
    [
        ("A 5-year-old girl is brought by her father, a man of 40.", "female"),
        ("He coughs.", "male"),
        ("My wife sent me, she worries. I'm 70 years old and male.", "male"),
    ],
)
def test_the_sex_of_the_patient_is_heard_before_that_of_relatives(text: str, sex: str):
    reply = answer(mcq(f"{text} Missed period and vaginal bleeding.", ("Ectopic pregnancy", "Alpha sickness")))
    assert ("By chance" in reply) is (sex == "male")


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 42])
def test_on_the_starter_vignettes_it_is_better_than_chance_and_worse_than_perfect(seed: int):
    right = 0
    for case in CASES:
        reply = answer(mcq(case.vignette or "", case.choices), f"{seed}|{case.id}|0")
        part = GraderPart(case.diagnosis, case.choices, case.specialty or "")
        right += match_option(reply, part, find_policy("paper")).value == 1
    assert len(CASES) == 12
    assert 7 <= right < 12
    assert binomtest(right, 12, 0.25, alternative="greater").pvalue < 0.05


def test_an_empty_conversation_is_answered_too():
    assert len(named_options(answer(mcq((), UNSCRIPTED, "multi_turn_mcq")), UNSCRIPTED)) == 1
    greeting = (Message(DOCTOR, PATIENT, "Hello?"),)
    assert asyncio.run(Interviewer("s").speak(greeting)).endswith("?")
