import base64
import json
import zlib

import numpy as np
import pytest

from openosce.encounters import Encounter, EndReason, Message
from openosce.grading.record import Answer, Trial, TrialKey
from openosce.reports.scores import read_scores
from openosce.reports.transcripts import pack_conversations
from openosce.runs.folder import RunReader

MARKS = {"d": {"x": [[n % 2, None] for n in range(70)], "y": [[1, 0]] * 70}}


def packed(run, **more):
    with RunReader(run) as reader:
        table = read_scores(reader)
        return pack_conversations(reader, table.plan, table.gradings[0], **more)


def unpack(pack):
    return json.loads(zlib.decompress(base64.b64decode(pack)))


def conversations(found):
    return [one for pack in found.packs for one in unpack(pack)]


@pytest.fixture
def said(records, tmp_path):
    """A run of one conversation in which the patient says this."""

    def make(*texts):
        encounter = Encounter(tuple(Message("patient", "doctor", text) for text in texts), EndReason.DIAGNOSED)
        trial = Trial(TrialKey("d", "text", "1", 0), encounter, (Answer("x", texts[0]),))
        return records.write(tmp_path / "run", records.manifest(["d"], ["x"], 1), [records.case("1")], [trial])

    return make


def test_a_pack_holds_who_said_what_every_answer_and_every_grade(simple_run):
    found = packed(simple_run(MARKS))
    first = conversations(found)[1]
    assert first["messages"] == [["doctor", "patient", "What brings you in?"], ["patient", "doctor", "My chest hurts."]]
    assert first["diagnosis"] == "Acute pericarditis"
    assert first["answers"][0] == [
        "x",
        None,
        "refused: content filter",
        [["accuracy", None, "paper@1", "builtin/lexicon", None, "no_answer"]],
    ]
    assert first["answers"][1][1] == "Pericarditis"


def test_the_list_tells_where_each_conversation_belongs_and_its_verdicts(simple_run):
    found = packed(simple_run(MARKS))
    index = unpack(found.index)
    assert (found.n_all, found.n_packed, len(found.packs)) == (140, 140, 3)
    assert [len(unpack(pack)) for pack in found.packs] == [50, 50, 40]
    assert index["arms"] == ["x", "y"]
    doctor, condition, specialty, ending, case_id, trial, verdicts = index["rows"][2]
    assert (index["doctors"][doctor], index["conditions"][condition]) == ("d", "text")
    assert (index["specialties"][specialty], index["endings"][ending]) == ("Cardiology", "diagnosed")
    assert (case_id, trial, verdicts) == ("case-01", 0, [1.0, 1.0])
    assert index["rows"][3][-1] == [None, 0.0]


def test_of_too_many_conversations_a_random_sample_is_packed_the_same_each_time(simple_run):
    run = simple_run(MARKS)
    found = packed(run, most=20)
    assert (found.n_all, found.n_packed, found.is_sample) == (140, 20, True)
    assert found == packed(run, most=20)
    cases = [row[4] for row in unpack(found.index)["rows"]]
    assert cases == sorted(cases)
    assert cases != [f"case-{n // 2:02}" for n in range(20)]


def test_a_sample_shrinks_until_it_fits(said, simple_run):
    run = simple_run(MARKS)
    whole = packed(run)
    size = len(whole.index) + sum(map(len, whole.packs))
    smaller = packed(run, most_bytes=size // 2)
    assert 0 < smaller.n_packed < 140
    assert len(smaller.index) + sum(map(len, smaller.packs)) <= size // 2
    assert packed(run, most_bytes=1).n_packed == packed(run, most=0).n_packed == 0


def test_a_message_of_ten_megabytes_is_cut_and_says_so(said):
    noise = np.random.default_rng(1).integers(0x4E00, 0x9FFF, 10_000_000).astype("<u4").tobytes().decode("utf-32-le")
    found = packed(said(noise, *["short"] * 3))
    ((_, _, text), *rest) = conversations(found)[0]["messages"]
    assert text == noise[:100_000] + " … [9,900,000 more characters]"
    assert [message[2] for message in rest] == ["short"] * 3


def test_a_conversation_of_many_long_messages_is_cut_as_a_whole(said):
    texts = [message[2] for message in conversations(packed(said(*["a" * 90_000] * 20)))[0]["messages"]]
    assert sum(text.count("a") for text in texts) < 1_001_000
    assert texts[-1] == " … [90,000 more characters]"


def test_hidden_signs_are_made_visible_and_packs_hold_no_markup(said):
    hostile = "</script><script>alert(1)</script>\u202eabc\x00\x1b"
    found = packed(said(hostile))
    assert not {"<", ">", "&"} & set("".join((found.index, *found.packs)))
    assert conversations(found)[0]["messages"][0][2] == (
        "</script><script>alert(1)</script><U+202E>abc<U+0000><U+001B>"
    )


def test_a_run_without_conversations_packs_none(records, tmp_path):
    found = packed(records.write(tmp_path / "run", records.manifest(["d"], ["x"], 1), [records.case("1")], []))
    assert (found.n_all, found.n_packed, found.packs) == (0, 0, ())
