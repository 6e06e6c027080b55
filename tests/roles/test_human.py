import asyncio
import io

import pytest

from openosce.encounters import DOCTOR, PATIENT, STATION, Message
from openosce.roles import Human, Question


@pytest.fixture
def keyboard(monkeypatch):
    def type_in(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return type_in


def test_somebody_at_the_keyboard_is_shown_only_what_the_role_hears_and_each_line_once(keyboard, capsys):
    keyboard("Since when?\nAny fever?\n")
    human = Human(DOCTOR, "Find the diagnosis.", "case gout-1")
    talk = (
        Message(DOCTOR, PATIENT, "Hello!"),
        Message(PATIENT, DOCTOR, "My toe hurts.", ("toe.png",)),
        Message(STATION, PATIENT, "a word for the patient alone", heard_by=(PATIENT,)),
    )
    assert asyncio.run(human.speak(talk)) == "Since when?"
    first = capsys.readouterr()
    assert first.out == ""
    assert "you are the doctor" in first.err and "Find the diagnosis." in first.err
    assert "patient: My toe hurts. [image: toe.png]" in first.err and "for the patient alone" not in first.err
    talk += (Message(DOCTOR, PATIENT, "Since when?"), Message(PATIENT, DOCTOR, "Since Monday."))
    assert asyncio.run(human.speak(talk)) == "Any fever?"
    second = capsys.readouterr().err
    assert "Since Monday." in second and "My toe hurts." not in second and "Find the diagnosis." not in second


def test_an_empty_line_is_asked_for_again_and_the_end_of_input_stops_the_run(keyboard):
    keyboard("\n   \n gout \n")
    human = Human(PATIENT, "You are ill.", "case")
    assert asyncio.run(human.speak((Message(DOCTOR, PATIENT, "Hello!"),))) == "gout"
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(human.speak((Message(DOCTOR, PATIENT, "Hello!"),)))


def test_choices_are_shown_with_their_letters(keyboard, capsys):
    keyboard("B\n")
    human = Human(DOCTOR, "", "case gout-1")
    question = Question("vignette_mcq", "A man with a red toe.", "What is it?", ("Gout", "Cellulitis "))
    assert asyncio.run(human.answer(question)) == "B"
    assert "A. Gout\nB. Cellulitis\n" in capsys.readouterr().err


def test_control_characters_of_others_do_not_reach_the_terminal(keyboard, capsys):
    keyboard("ok\n")
    asyncio.run(Human(DOCTOR, "", "case").speak((Message(PATIENT, DOCTOR, "\x1b[2Jgone\x07"),)))
    assert "\x1b" not in (shown := capsys.readouterr().err) and "\x07" not in shown
