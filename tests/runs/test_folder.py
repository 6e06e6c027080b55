import json
import sqlite3

import pytest

from openosce.cases import Case, Diagnosis
from openosce.encounters import Encounter, EndReason, Message
from openosce.errors import RunFolderError
from openosce.grading import ACCURACY, Answer, Missing, Rating, Score, Trial, TrialKey
from openosce.runs.folder import Call, RunReader, RunWriter

CASE = Case(id="gout-1", source="tests", diagnosis=Diagnosis(name="Gout"), specialty="Rheumatology")
KEY = TrialKey("a/b", "text", "gout-1", 0)
TALK = (Message("doctor", "patient", "Where does it hurt?"), Message("patient", "doctor", "My big toe."))


def trial(value=1.0, ended=EndReason.DIAGNOSED, missing=None, key=KEY):
    score = Score(ACCURACY, None if missing else value, "paper@1", "builtin/lexicon", "same: gout", missing)
    return Trial(
        key, Encounter(TALK, ended, "boom" if ended.is_failure else None), (Answer("own", "Gout", None, (score,)),)
    )


def manifest(folder):
    (folder / "manifest.json").write_text(json.dumps({"study": {}}))


def write(folder, *rows):
    folder.mkdir(exist_ok=True)
    manifest(folder)
    with RunWriter(folder) as writer:
        for row in (CASE, *rows):
            writer.write(row)


def test_what_was_written_is_read_back_whole(tmp_path):
    write(tmp_path, trial())
    with RunReader(tmp_path) as reader:
        assert reader.trials("gout-1") == [trial()]
        assert reader.case("gout-1") == CASE
        assert [row.id for row in reader.cases()] == ["gout-1"]
        assert [row.score.value for row in reader.scores(ACCURACY)] == [1.0]
        assert reader.endings() == [("a/b", "text", "diagnosed", 1)]


def test_images_and_hearers_of_a_message_are_read_back(tmp_path):
    shown = (
        Message("doctor", "images", "REQUEST IMAGES"),
        Message("images", "doctor", "Here.", ("ecg.png", "b.png"), ()),
    )
    write(tmp_path, Trial(KEY, Encounter(shown, EndReason.MESSAGE_CAP), ()))
    with RunReader(tmp_path) as reader:
        assert reader.trials("gout-1")[0].encounter.transcript == shown


def test_a_rating_outlives_its_encounter_and_a_later_word_of_the_rater_replaces_it(tmp_path):
    about = {"doctor": "a/b", "case_id": "gout-1", "condition": "text", "trial": 0, "item": "complete"}
    first, other = Rating(**about, rater="r1", value=0.0), Rating(**about, rater="r2", value=1.0, note="well done")
    whole_case = Rating("a/b", "gout-1", "r1", "count", 4.0)
    again = Rating(**about, rater="r1", value=None, missing_reason="cannot say")
    write(tmp_path, trial(), first, other, whole_case, whole_case, trial(value=0.0), again)
    with RunReader(tmp_path) as reader:
        assert reader.ratings() == [other, whole_case, again]


def test_a_trial_done_again_takes_the_place_of_the_earlier_one(tmp_path):
    write(tmp_path, trial(ended=EndReason.PROVIDER_FAILED), trial(value=0.0))
    with RunReader(tmp_path) as reader:
        assert reader.trials("gout-1") == [trial(value=0.0)]
        assert len(list(reader.scores(ACCURACY))) == 1
        assert reader.failed() == []
    counts = sqlite3.connect(tmp_path / "run.db")
    assert counts.execute("SELECT COUNT(*) FROM messages").fetchone() == (len(TALK),)
    counts.close()


@pytest.mark.parametrize(
    ("gap", "finished"),
    [
        (trial(), True),
        (trial(ended=EndReason.PROVIDER_FAILED), False),
        (trial(ended=EndReason.REFUSED), True),
        (trial(ended=EndReason.ROLE_FAILED), True),
        (trial(missing=Missing.PROVIDER_FAILED.because("HTTP 503")), False),
        (trial(missing=Missing.UNREADABLE_VERDICT.because("maybe")), True),
        (trial(missing=Missing.REFUSED.because("content filter")), True),
    ],
)
def test_a_trial_is_finished_when_what_is_missing_is_final(tmp_path, gap, finished):
    write(tmp_path, gap)
    with RunReader(tmp_path) as reader:
        assert reader.finished() == ({KEY} if finished else set())


@pytest.mark.parametrize(
    ("ended", "answer_reason", "score_reason", "final"),
    [
        (EndReason.DIAGNOSED, None, None, True),
        (EndReason.REFUSED, "refused: x", "no_answer", True),
        (EndReason.PROVIDER_FAILED, None, None, False),
        (EndReason.ROLE_FAILED, "encounter_failed: x", "no_answer", True),
        (EndReason.DIAGNOSED, "provider_failed: x", "no_answer", False),
        (EndReason.DIAGNOSED, None, "provider_failed: provider_failed", False),
        (EndReason.DIAGNOSED, None, "unreadable_verdict: provider_failed", True),
        (EndReason.DIAGNOSED, "not_run", None, False),
    ],
)
def test_a_trial_is_final_when_no_later_try_may_close_a_gap(tmp_path, ended, answer_reason, score_reason, final):
    scores = (Score(ACCURACY, None, "paper@1", "x", missing_reason=score_reason),)
    answers = (Answer("own", None, answer_reason, scores),)
    encounter = Encounter((Message("doctor", None, "Gout."),), ended)
    write(tmp_path, Trial(KEY, encounter, answers))
    with RunReader(tmp_path) as reader:
        assert reader.finished() == ({KEY} if final else set())


def test_a_missing_score_is_stored_as_missing_and_not_as_zero(tmp_path):
    write(tmp_path, trial(missing=Missing.UNREADABLE_VERDICT.because("maybe")))
    with RunReader(tmp_path) as reader:
        (row,) = reader.scores(ACCURACY)
    assert row.score.value is None
    assert row.score.missing_reason == "unreadable_verdict: maybe"


def test_a_second_writer_is_kept_out_and_the_first_is_unharmed(tmp_path):
    manifest(tmp_path)
    with RunWriter(tmp_path) as writer:
        with pytest.raises(RunFolderError, match="another process"):
            RunWriter(tmp_path)
        writer.write(CASE)
    with RunReader(tmp_path) as reader:
        assert len(reader.cases()) == 1


def test_a_reader_sees_a_run_that_is_being_written(tmp_path):
    manifest(tmp_path)
    with RunWriter(tmp_path) as writer:
        writer.write(CASE)
        with RunReader(tmp_path) as reader:
            assert reader.endings() == []


@pytest.mark.parametrize("text", ["'; DROP TABLE cases; --", "\x00\x1b[2J", "‮gnp.exe", "x" * 10_000_000, "{{ 7 * 7 }}"])
def test_hostile_text_goes_through_the_database_unchanged(tmp_path, text):
    key = TrialKey(text[:100], "text", "gout-1", 0)
    hostile = Trial(
        key, Encounter((Message("doctor", "patient", text),), EndReason.NO_QUESTION), (Answer("own", text),)
    )
    write(tmp_path, hostile)
    with RunReader(tmp_path) as reader:
        assert reader.trials("gout-1") == [hostile]


def test_text_that_is_not_unicode_fails_with_a_clear_error_and_keeps_what_came_before(tmp_path):
    manifest(tmp_path)
    with RunWriter(tmp_path) as first:
        first.write(CASE)
    with pytest.raises(RunFolderError, match=r"run\.db cannot be written"), RunWriter(tmp_path) as writer:
        writer.write(Call("address", "hash", "doctor", "\ud800"))
    with RunReader(tmp_path) as reader:
        assert len(reader.cases()) == 1


def test_a_reply_is_found_again_by_its_address_and_a_failed_call_is_not(tmp_path):
    write(
        tmp_path,
        Call("talk/1", "h1", "doctor", None, error="HTTP 503"),
        Call("talk/1", "h1", "doctor", "Gout"),
        Call("talk/3", "h3", "doctor", None, error="x"),
    )
    with RunWriter(tmp_path) as writer:
        assert writer.replay("talk/1") == ("h1", "Gout")
        assert writer.replay("talk/3") is None


@pytest.mark.parametrize("damage", ["missing", "text", "truncated", "newer"])
def test_a_damaged_run_is_refused_with_one_line(tmp_path, damage):
    write(tmp_path, trial())
    database = tmp_path / "run.db"
    if damage == "missing":
        database.unlink()
    elif damage == "text":
        database.write_text("not a database at all, but long enough to look at" * 100)
    elif damage == "truncated":
        database.write_bytes(database.read_bytes()[:5000])
    else:
        connection = sqlite3.connect(database)
        connection.execute("PRAGMA user_version = 99")
        connection.close()
    with pytest.raises(RunFolderError) as refused, RunReader(tmp_path) as reader:
        list(reader.scores(ACCURACY))
        reader.endings()
    assert "\n" not in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_a_folder_without_a_manifest_is_no_run(tmp_path):
    with RunWriter(tmp_path) as writer:
        writer.write(CASE)
    with pytest.raises(RunFolderError, match=r"manifest\.json"):
        RunReader(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be written"):
        RunWriter(tmp_path / "file" / "run")


def test_more_rows_than_the_disk_keeps_up_with_wait_for_it_and_none_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("openosce.runs.folder.writer._MOST_WAITING", 10)
    write(tmp_path, *(Call(f"talk/{n}", "hash", "doctor", "Any fever?") for n in range(1_000)))
    connection = sqlite3.connect(tmp_path / "run.db")
    assert connection.execute("SELECT COUNT(*) FROM calls").fetchone() == (1_000,)
    connection.close()
