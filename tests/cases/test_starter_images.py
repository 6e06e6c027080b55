"""Our own image cases: complete, in need of their image, and drawn as they say."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from openosce.cases import ImageStore, image_part, measurement_part, patient_part, read_cases
from openosce.cases.checks import check_cases, missing_parts

ROOT = Path(__file__).parents[2]
CASES = {case.id: case for case in read_cases("starter-images")}
STORE = ImageStore("starter-images")


@pytest.fixture(scope="module")
def drawing():
    spec = importlib.util.spec_from_file_location("drawing", ROOT / "scripts" / "draw_starter_images.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_set_has_both_spellings_of_its_name():
    assert read_cases("starter_images") == read_cases("starter-images")


def test_the_check_finds_nothing_wrong_or_risky_and_every_image_is_there():
    assert check_cases(list(CASES.values()), STORE) == []


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_case_has_what_an_image_case_needs(case):
    assert case.synthetic
    assert case.license == "CC-BY-4.0"
    assert len(case.choices) == 4
    assert case.diagnosis.name in case.choices
    assert len(case.diagnosis.synonyms) >= 3
    assert case.patient.opening
    assert len(case.patient.facts) >= 20
    assert all(fact.lay for fact in case.patient.facts)
    assert sum(fact.key for fact in case.patient.facts) >= 8
    assert case.red_flags
    assert missing_parts(case)["agentclinic"] == []
    (image,) = case.images
    assert image.shows
    assert image.sha256
    assert len(STORE.load(image).data) <= 60 * 1024


# What the image alone tells: words that would give the finding away in the texts.
TELLING = {
    "ecg-image-01": ("atrioventricular", "block", "dissociat", "p wave", "escape", "cannon"),
    "flow-volume-image-01": ("stenosis", "plateau", "fixed", "inspiratory", "expiratory", "stridor", "narrow"),
    "audiogram-image-01": (
        "conductive",
        "air-bone",
        "bone conduction",
        "carhart",
        "sclero",
        "rinne",
        "weber",
        "stapes",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_text_for_doctor_or_patient_tells_what_the_image_shows(case):
    texts = (case.objective, patient_part(case).story, measurement_part(case).readings, str(image_part(case)))
    assert not [word for word in TELLING[case.id] if word in " ".join(texts).casefold()]


def test_the_strip_shows_two_regular_rhythms_without_a_fixed_relation(drawing):
    p, r = drawing.p_times(), drawing.r_times()
    assert np.allclose(60 / np.diff(p), 94)
    assert np.allclose(60 / np.diff(r), 36)
    time, millivolt = drawing.ecg()
    peaks = time[1:-1][(millivolt[1:-1] > 0.6) & (np.diff(np.sign(np.diff(millivolt))) < 0)]
    assert np.allclose(peaks, r, atol=0.01)
    intervals = [beat - p[p < beat][-1] for beat in r]
    # Blocks of the first and second degree have an interval that stays, or that grows beat by beat.
    assert np.ptp(intervals) > 0.3
    assert not np.all(np.diff(intervals) > 0)
    assert all(millivolt[np.searchsorted(time, beat)] > 0.1 for beat in p if np.min(np.abs(beat - r)) > 0.5)
    shows = CASES["ecg-image-01"].images[0].shows
    assert all(stated in shows for stated in ("94/min", "36/min", "0.15 s"))


def test_the_qrs_complexes_are_as_wide_as_stated(drawing):
    time = np.arange(0, 10, 0.001)
    beat = drawing.r_times()[2]
    there = time[(np.abs(drawing.qrs(time)) > 0.04) & (np.abs(time - beat) < 0.3)]
    assert there[-1] - there[0] == pytest.approx(0.15, abs=0.01)


def test_the_loop_is_flat_out_and_in_and_its_numbers_are_those_of_the_case(drawing):
    volume, out, back = drawing.loop()
    case = CASES["flow-volume-image-01"]
    for flow, plateau in ((out, 2.2), (-back, 2.1)):
        middle = flow[(volume > 0.3) & (volume < 1.9)]
        assert np.ptp(middle) < 0.05 * plateau
        assert flow.max() == pytest.approx(plateau, rel=0.01)
    # Fixed: the flows at half of the vital capacity are alike (ratio 0.9 to 1.1); above 8 mL/(L/min) is obstruction.
    half = np.searchsorted(volume, drawing.FVC / 2)
    assert 0.9 <= out[half] / -back[half] <= 1.1
    assert 1000 * drawing.fev1() / (60 * out.max()) > 8
    spirometry = next(test.result for test in case.tests if test.name == "Spirometry")
    assert f"FVC {drawing.FVC:.2f} L (predicted {drawing.PREDICTED_FVC:.2f} L)" in spirometry
    assert f"FEV1 {drawing.fev1():.2f} L" in spirometry
    assert f"FEV1/FVC {drawing.fev1() / drawing.FVC:.2f}" in spirometry
    assert all(stated in case.images[0].shows for stated in ("2.2 L/s", "2.1 L/s", "3.30 L"))


def test_the_audiogram_has_an_air_bone_gap_and_a_notch_at_2000_hz_on_the_right_only(drawing):
    right = dict(zip(drawing.FREQUENCIES, zip(drawing.RIGHT_AIR, drawing.RIGHT_BONE, strict=False), strict=False))
    left = dict(zip(drawing.FREQUENCIES, zip(drawing.LEFT_AIR, drawing.LEFT_BONE, strict=False), strict=False))
    assert all(air - bone >= 20 for air, bone in right.values())
    assert all(abs(air - bone) <= 5 for air, bone in left.values())
    assert max(drawing.LEFT_AIR) <= 20
    assert max(right, key=lambda frequency: right[frequency][1]) == 2000
    assert all(10 <= bone <= 15 for frequency, (_, bone) in right.items() if frequency != 2000)
    assert (min(drawing.RIGHT_AIR), max(drawing.RIGHT_AIR), right[2000][1]) == (45, 55, 30)
    assert "45 to 55 dB HL" in CASES["audiogram-image-01"].images[0].shows


def test_drawing_again_gives_the_same_size_and_nearly_the_same_picture(drawing, tmp_path):
    # Other versions of the drawing library may move a letter; the curves stay.
    from PIL import Image

    for case in CASES.values():
        (image,) = case.images
        drawing.save(drawing.DRAWINGS[image.path](), tmp_path / image.path)
        folder = ROOT / "src" / "openosce" / "cases" / "starter_images"
        old, new = (np.asarray(Image.open(where / image.path).convert("L"), float) for where in (folder, tmp_path))
        assert old.shape == new.shape
        assert np.mean(np.abs(old - new) > 32) < 0.01
