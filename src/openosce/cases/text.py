"""Reading vignettes: sentences, the question at the end, and which sentences a patient could not know."""

import re

_ABBREVIATIONS = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|St|vs|approx|e\.g|i\.e|etc|[A-Z])\.$")
_LONGEST_ABBREVIATION = len(" approx.")
_NUMBERED = r"(?!(?<=\bNo\.)\s+\d)"  # `No. 5` is a number, `No. I cough` two sentences
_BOUNDARY = re.compile(rf"""(?<=[.?!]){_NUMBERED}(?P<closing>["'”’)]*)\s+(?=["'“‘(]*[A-Z0-9])|\n+""")

_EXAMINATION = re.compile(
    r"""
    \b(?:
        (?:on|upon)\ (?:physical\ |further\ |clinical\ |rectal\ |pelvic\ |mental\ status\ |neurologic(?:al)?\ )?
          exam(?:ination)?
      | exam(?:ination)?s?\b[^.]{0,40}?\b(?:show|reveal|demonstrate|disclose|is|are|was|were|find|note|confirm)
      | (?:vital\ signs|temperature|blood\ pressure|bp|pulse|heart\ rate|respirat(?:ion|ory\ rate)s?
          |oxygen\ saturation|bmi)
          \b[^.]{0,40}?(?:\b(?:is|are|was|were|of|within)\b|:|\d)
      | auscultation | percussion | palpation | murmur | crackles | rales | rhonchi | is\ heard | tender(?:ness)?
      | nontender | non-tender
      | lymphadenopathy | hepatomegaly | splenomegaly | hepatosplenomegaly | reflexes | fundoscop | otoscop
      | ophthalmoscop | slit.lamp
      | (?:physical|clinical|neurological|pelvic|cardiac|abdominal)\ exam
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_TESTS = re.compile(
    r"""
    \b(?:
        pregnancy\ test
      | laborator(?:y|ies) | labs? | x-?rays? | radiograph | ultrasound | ultrasonography | sonogra | echocardiogra
      | electrocardiogra | ecg | ekg | ct\ scan | computed\ tomograph | ct\b | mri | magnetic\ resonance
      | angiogra | endoscop | colonoscop
      | biops(?:y|ies) | histolog | histopatholog | microscop | dermoscop | gram\ stain | cultures?
      | urinalysis | urine\ (?:analysis|dipstick|protein|microscopy)
      | serum | plasma | h(?:a)?ematocrit | h(?:a)?emoglobin | leu[ck]ocyte | platelet
      | erythrocyte\ sedimentation | c-reactive
      | lumbar\ puncture | cerebrospinal | karyotype | antibod(?:y|ies) | titers? | serolog | arthrocentesis | synovial
      | potassium\ hydroxide | koh\b | polymerase | electroencephalogra | spirometr | electromyogra
      | immunofluorescence | complete\ blood\ count
    )
    | \d\s?(?:mg|g|µg|mcg|ng|pg|meq|mmol|µmol|umol|iu|u|miu|mu)\s?/\s?(?:d?l|ml|24|day)\b
    | \d\s?(?:/\s?mm\^?3|/hpf|mm/h)
    | ^[A-Z][A-Za-z0-9+⁺²⁻,'’() -]{0,60}:?\s+[<>]?\d[\d.,]*\s*(?:%|mm\b|mg|g/|m?eq|mmol|/|fl\b|pg\b|u/l|\Z)
    | ^[A-Z][A-Za-z0-9+⁺²⁻,'’() -]{0,60}:(?:\s+\S+){0,5}\Z
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


def sentences(text: str) -> list[str]:
    """Split prose into sentences, each as it stands in the text; line breaks end one too."""
    found: list[str] = []
    start = 0
    for boundary in _BOUNDARY.finditer(text):
        end = boundary.start()
        after_abbreviation = _ABBREVIATIONS.search(text, max(start, end - _LONGEST_ABBREVIATION), end)
        if after_abbreviation and "\n" not in boundary[0]:
            continue
        found.append(text[start : end + len(boundary["closing"] or "")])
        start = boundary.end()
    found.append(text[start:])
    return [sentence.strip() for sentence in found if sentence.strip()]


def split_question(vignette: str) -> tuple[str, str | None]:
    """Part a vignette from its question: the first sentence with a `?` in its last line.

    Returns:
        The vignette without that sentence, and the sentence; the vignette as it came and None where there is none.

    Source: CRAFT-MD, the authors' released data (the rule is in their code); unlike theirs, line breaks at the very
    end are ignored, which finds the question of seven more of their 2,004 vignettes.
    """
    body, newline, last_line = vignette.rstrip().rpartition("\n")
    for sentence in sentences(last_line):
        if "?" in sentence:
            before, _, after = last_line.partition(sentence)
            rest = f"{before.rstrip()} {after.lstrip()}".strip()
            return (body + newline + rest).strip(), sentence
    return vignette, None


def tidy(name: str) -> str:
    """A choice or a diagnosis as a doctor is shown it: on one line, without a source's padding and stray quotes."""
    line = " ".join(name.split())
    return (line.replace('"', "").strip() if line.count('"') % 2 else line) or line


def is_examination(sentence: str) -> bool:
    """Whether a sentence reports a physical examination, which a patient could not tell."""
    return bool(_EXAMINATION.search(sentence))


def is_test(sentence: str) -> bool:
    """Whether a sentence reports a test, which a patient could not tell."""
    return bool(_TESTS.search(sentence))
