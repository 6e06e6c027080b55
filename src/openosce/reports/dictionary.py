"""What every column of a run means: of its database, and of the tables that `osce export` writes.

`docs/data-dictionary.md` is made from this: write `data_dictionary()` to it when something changes here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from openosce.grading.record import Missing

Kind = Literal["text", "integer", "real", "json"]
Where = Literal["both", "database", "export"]


@dataclass(frozen=True)
class Column:
    """One column: its type, its unit, its meaning, and where it is found."""

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    where: Where = "both"
    required: bool = True
    """Whether it is there in every row; a row without it has null, which is not 0."""


@dataclass(frozen=True)
class Table:
    """One table: what a row is, and its columns in the order of the database, then those of the export alone."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns of the database, in its order."""
        return tuple(column for column in self.columns if column.where != "export")

    @property
    def exported(self) -> tuple[Column, ...]:
        """The columns of the export: first those that stand in the place of internal ids."""
        own = [column for column in self.columns if column.where == "both"]
        return (*(column for column in self.columns if column.where == "export"), *own)


_DOCTOR = Column("doctor", "text", "The doctor, as the study writes it", where="export")
_CONDITION = Column("condition", "text", "What distinguishes conversations of one case; `text` in CRAFT-MD",
                    where="export")  # fmt: skip
_CASE = Column("case_id", "text", "The case", where="export")
_TRIAL = Column("trial", "integer", "The repetition of the case", "count from 0", where="export")
_ARM = Column("arm", "text", "What the question told the doctor and how it was asked, as `vignette_mcq`; `summary` is "
              "the summary that the summarized arms read", where="export")  # fmt: skip
_OF_TRIAL = (_DOCTOR, _CONDITION, _CASE, _TRIAL)
_ENCOUNTER_ID = Column("encounter_id", "integer", "The encounter it belongs to", where="database")
_ANSWER_ID = Column("answer_id", "integer", "The answer it belongs to", where="database")
_REASON = f"; before the colon one of {', '.join(Missing)}, after it the detail"


def _optional(column: Column) -> Column:
    return replace(column, required=False)


def _stored(column: Column) -> Column:
    return replace(column, where="both")


TABLES: tuple[Table, ...] = (
    Table(
        "cases",
        "A case of the study, as it was read",
        (
            Column("id", "text", "The case's id; `case_id` in the export", where="database"),
            Column("specialty", "text", "The medical specialty", required=False),
            Column("dataset", "text", "Where the case comes from: the record's `source`"),
            Column("record", "json", "The whole case record; what it leaves out has its default (docs/case-format.md)"),
            _CASE,
        ),
    ),
    Table(
        "encounters",
        "One trial of one doctor on one case: a conversation, and why it ended",
        (
            Column("id", "integer", "Number of the encounter", where="database"),
            *map(_stored, _OF_TRIAL),
            Column("ended", "text", "Why it ended: diagnosed, diagnosed_with_question, no_question, not_held, "
                   "not_released (held, but missing in the imported data), "
                   "message_cap, no_diagnosis; role_failed, provider_failed and refused are failures of the "
                   "infrastructure"),
            Column("error", "text", "What failed, where `ended` is a failure", required=False),
        ),
    ),
    Table(
        "messages",
        "One message of a conversation",
        (
            _ENCOUNTER_ID,
            Column("n", "integer", "Place in the conversation", "count from 0"),
            Column("speaker", "text", "The role that speaks"),
            Column("listener", "text", "The role addressed; none for the message that ends it", required=False),
            Column("text", "text", "What was said, unchanged"),
            Column("images", "json", "Images of the case that were handed over, by their path in its record",
                   required=False),
            Column("heard_by", "json", "The roles that hear it besides the speaker; none: everybody", required=False),
            Column("call_id", "integer", "The call of `calls` that it came from; none for fixed words, built-in roles",
                   required=False),
            *_OF_TRIAL,
        ),
    ),
    Table(
        "answers",
        "What the doctor answered in one arm of one trial; a planned answer that is not there was not asked yet",
        (
            Column("id", "integer", "Number of the answer", where="database"),
            _ENCOUNTER_ID,
            _stored(_ARM),
            Column("text", "text", "The answer, unchanged; none where it is missing", required=False),
            Column("missing_reason", "text", f"Why there is none{_REASON}", required=False),
            *_OF_TRIAL,
        ),
    ),
    Table(
        "scores",
        "One judgement of one answer; an answer has one for each policy and grader, several where a grader repeats",
        (
            _ANSWER_ID,
            Column("metric", "text", "`accuracy`; `summary_leftovers` counts what a summary should have dropped"),
            Column("value", "real", "The judgement; none where it is missing, which is not 0",
                   "accuracy: 1 right, 0 wrong; summary_leftovers: count", required=False),
            Column("policy", "text", "The match policy, `name@version`; `-` where none applies"),
            Column("grader", "text", "Who judged: a model, a built-in grader, `options` (the multiple-choice rule) "
                   "or `rule`"),
            Column("evidence", "text", "What it rests on: the option read, the diagnosis extracted, the rule applied",
                   required=False),
            Column("missing_reason", "text", f"Why there is no value{_REASON}", required=False),
            *_OF_TRIAL,
            _ARM,
        ),
    ),
    Table(
        "ratings",
        "One judgement of one expert: of an answer, of a conversation, or of all trials of a case together",
        (
            Column("id", "integer", "Number of the rating", where="database"),
            _stored(_DOCTOR),
            _optional(_stored(_CONDITION)),
            _stored(_CASE),
            _optional(_stored(_TRIAL)),
            _optional(_stored(_ARM)),
            Column("rater", "text", "Who rated"),
            Column("item", "text", "What was asked"),
            Column("value", "real", "The rating; none where it is missing", "as the item defines", required=False),
            Column("note", "text", "The rater's remark", required=False),
            Column("missing_reason", "text", "Why there is no value", required=False),
        ),
    ),
    Table(
        "calls",
        "One call to a model, the failed ones included; built-in roles make none",
        (
            Column("id", "integer", "Number of the call"),
            Column("address", "text", "Its place in the study, a JSON list: doctor, condition, case, trial, step, "
                   "repeat; a grader stands outside the trials and has its own name in the doctor's place"),
            Column("request_hash", "text", "Fingerprint of base URL, model, settings and messages; requests are not "
                   "stored, they follow from the messages"),
            Column("role", "text", "The role that called"),
            Column("reply", "text", "The reply, unchanged; none where the call failed", required=False),
            Column("model_id", "text", "The model as the provider names it in its reply", required=False),
            Column("tokens_in", "integer", "Length of the prompt", "tokens", required=False),
            Column("tokens_cached", "integer", "Those of `tokens_in` from the provider's prefix cache", "tokens",
                   required=False),
            Column("tokens_out", "integer", "Length of the reply", "tokens", required=False),
            Column("dollars", "real", "Cost; none where price or tokens are unknown, which is not 0", "US dollars",
                   required=False),
            Column("ms", "real", "Time of the call, waiting and new tries included", "milliseconds", required=False),
            Column("repeated", "real", "Share of the prompt that repeats the start of an earlier one", "0 to 1",
                   required=False),
            Column("error", "text", "Why the call failed; none where it was answered", required=False),
            *map(_optional, _OF_TRIAL),
            Column("step", "text", "Its place on the path, as `talk/3` or `answer/vignette_mcq`", where="export",
                   required=False),
            Column("repeat", "integer", "Deliberate new try after a reply that could not be used", "count from 0",
                   "export", required=False),
        ),
    ),
)  # fmt: skip


def data_dictionary() -> str:
    """The dictionary as Markdown."""
    return "\n".join([_HEAD, *(line for table in TABLES for line in _section(table))]) + "\n"


_HEAD = """# Data dictionary

What a run holds: the tables of its database `run.db`, and of the files that `osce export` writes, one a table. In the
export, doctor, condition, case_id, trial and arm stand in the place of the database's internal ids, in every table
alike: join on them. The manifest says what was planned, and under which policy and by which grader the headline stands.

- **A value that is missing is null, never 0.** The columns `missing_reason` and `error` say why. In CSV, null is an
  empty cell without quotes; an empty text is `""`.
- **Texts are exact in every format.** Conversations are written by models and cases by others: a cell may begin with
  `=`, `+`, `-` or `@`, which a spreadsheet takes for a formula. Nothing is put before it, because then it would no
  longer be what was said. Open such CSV as text (not by double click), or take JSON lines or Parquet.
- CSV is UTF-8 with a head line, texts in double quotes (doubled within), lines ended by CR LF (RFC 4180); texts may
  hold line breaks. JSON lines are one object a line in ASCII, `json` columns as nested values. Parquet (the extra
  `export`) holds integers as int64, reals as double, `json` as text."""


def _section(table: Table) -> Iterator[str]:
    yield from ("", f"## {table.name}", "", f"{table.row}.", "")
    yield "| column | type | unit | may be null | in | meaning |"
    yield "|---|---|---|---|---|---|"
    for column in (*table.exported, *(column for column in table.columns if column.where == "database")):
        null = "no" if column.required else "yes"
        cells = (f"`{column.name}`", column.kind, column.unit, null, column.where, column.meaning)
        yield f"| {' | '.join(cells)} |"
