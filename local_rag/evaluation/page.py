"""Write report.html: one file without any request, so that it can be read anywhere.

Jinja escapes all text from files, and the page's own policy forbids every script and request.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.figures import has_answers, is_answered, is_right, last_records
from local_rag.evaluation.plots import plots
from local_rag.evaluation.report import (
    FIRST,
    block,
    facts,
    failures,
    missing,
    number,
    one_line,
    seconds,
    settings_of,
    share,
    tables,
    warnings,
)
from local_rag.text.display import is_url, joined, plural

if TYPE_CHECKING:
    from jinja2 import Template

Record = Mapping[str, Any]

PASSAGE, ANSWER, QUOTE = 800, 3000, 400
"""The maximum characters of each passage, answer and quote, so that 2,000 cases and four graphs fit in a page."""

NAMED = 10
"""The maximum number of cases to name per kind of mistake."""

FIRST_FOUND = 10
"""The rank up to which a search counts as successful, because a person reads no further."""

OUTCOMES = {
    "wrong": "the answer contains no reference answer",
    "answered wrongly": "the files do not say, and it answered all the same",
    "refused wrongly": "the files do say, and it gave no answer",
    "failed": "no answer came, because of an error",
    "cites another place": "no reference answer to compare with, and it cites none of the places that the case names",
    "not in the first 10": "nothing relevant is among the first ten things found",
    "right": "the answer contains a reference answer",
    "refused rightly": "the files do not say, and it said so",
    "cites the right place": "no reference answer to compare with, and it cites a place that the case names",
    "found in the first 10": "something relevant is among the first ten things found",
    "not checked": "the case has no label to compare with",
}
"""The possible outcomes of a question or a search, the worst first, and their meanings."""

MISTAKES, GOOD = [*OUTCOMES][:6], [*OUTCOMES][6:10]


def outcome(case: Case, record: Record) -> str:
    """Return how an answer or a search ended: one of OUTCOMES."""
    if "error" in record:
        return "failed"
    if record["kind"] == "retrieval":
        if not record["gains"]:
            return "not checked"
        return "found in the first 10" if min(ranks(record), default=99) <= FIRST_FOUND else "not in the first 10"
    if not is_answered(record):
        return {True: "refused wrongly", False: "refused rightly", None: "not checked"}[case.answerable]
    if case.answerable is False:
        return "answered wrongly"
    if has_answers(case):
        return "right" if is_right(case, record) else "wrong"
    if not case.relevant:
        return "not checked"
    return "cites the right place" if any(each["holds"] for each in record["cited"]) else "cites another place"


def ranks(record: Record) -> list[int]:
    """Return the ranks, from 1, at which a search found something relevant."""
    return [rank for rank, unit in enumerate(record["units"], start=1) if unit in record["gains"]]


@dataclass
class CaseView:
    """Hold a case for the page: its records by kind, each with its outcome, and its passages once.

    Each passage has a text, and for each graph the verdict on it.
    """

    case: Case
    number: int = 0
    answers: list[tuple[Record, str, Record | None]] = field(default_factory=list)
    searches: list[tuple[Record, str]] = field(default_factory=list)
    route: Record | None = None
    passages: list[tuple[Record, list[str]]] = field(default_factory=list)

    @property
    def marks(self) -> list[tuple[str, str]]:
        """Return each graph with its outcome, or each mode of retrieval if no graph was asked."""
        answers = [(record["graph"], ended) for record, ended, _ in self.answers]
        return answers or [(record["mode"], ended) for record, ended in self.searches]

    @property
    def urgency(self) -> int:
        """Return the key by which cases are sorted: the worst outcome first."""
        return min((MISTAKES.index(ended) for _, ended in self.marks if ended in MISTAKES), default=len(MISTAKES))


def report(manifest: Record, cases: Sequence[Case], records: Sequence[Record], summary: Mapping[str, Any]) -> str:
    """Return the whole page; the same run gives the same bytes."""
    known = facts(manifest)
    views = sorted(_views(cases, records), key=lambda view: view.urgency)
    for position, view in enumerate(views, start=1):
        view.number = position
    ended = Counter(what for view in views for what in {what for _, what in view.marks})
    return _template().render(
        name=one_line(manifest["name"], 200),
        manifest=manifest,
        first={name: value for name, value in known.items() if name in FIRST},
        later={name: value for name, value in known.items() if name not in FIRST},
        warnings=[*warnings(manifest, cases)],
        missing=[*missing(manifest, summary)],
        settings=settings_of(manifest),
        models=block(manifest["models_yaml"]["text"], 100_000),
        tables=[*tables(summary)],
        plots=[*plots(summary)],
        failures=failures(summary),
        views=views,
        ended={what: ended[what] for what in OUTCOMES if ended[what]},
        root=_root(records),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"line": one_line, "block": block, "share": share, "seconds": seconds, "number": number}
    environment.filters |= {"joined": joined, "plural": plural, "place": place, "target": target, "holds": holds}
    environment.globals |= {"OUTCOMES": OUTCOMES, "MISTAKES": MISTAKES, "GOOD": GOOD, "NAMED": NAMED, "ranks": ranks}
    environment.globals |= {"PASSAGE": PASSAGE, "ANSWER": ANSWER, "QUOTE": QUOTE}
    return environment.get_template("page.html.j2")


def _views(cases: Sequence[Case], records: Sequence[Record]) -> Iterator[CaseView]:
    by_case: dict[str, list[Record]] = defaultdict(list)
    for record in last_records(cases, records).values():
        by_case[record["case"]].append(record)
    for case in cases:
        view = CaseView(case)
        judged = {record["graph"]: record for record in by_case[case.id] if record["kind"] == "judgement"}
        for record in by_case[case.id]:
            if record["kind"] == "answer":
                view.answers.append((record, outcome(case, record), judged.get(record["graph"])))
            elif record["kind"] == "retrieval":
                view.searches.append((record, outcome(case, record)))
            elif record["kind"] == "route":
                view.route = record
        view.passages = [*_passages([record for record, _, _ in view.answers if "error" not in record])]
        yield view


def _passages(answers: Sequence[Record]) -> Iterator[tuple[Record, list[str]]]:
    """Yield each passage that a graph saw, once, with what each graph made of it."""
    first: dict[str, Record] = {}
    made: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for record in answers:
        for passage in record["passages"]:
            key = str(passage["chunk_id"] or passage["url"])
            first.setdefault(key, passage)
            cosine = [f"cosine {share(passage['score'])}"] if passage["score"] is not None else []
            verdicts = Counter(map(_verdict, (g for g in record["grades"] if g["chunk_id"] == passage["chunk_id"])))
            if passage["query"] not in ("", record["answer"]["question"]):
                cosine.append(f"brought by “{one_line(passage['query'], 120)}”")
            graded = [what if times == 1 else f"{what}, {times} times" for what, times in verdicts.items()]
            made[key][", ".join(cosine + graded)].append(record["graph"])
    for key, passage in first.items():
        yield passage, [f"{joined(graphs)}: {what or 'not graded'}" for what, graphs in made[key].items()]


def _verdict(grade: Record) -> str:
    score = f" {share(grade['score'])}" if grade["score"] is not None else ""
    label = {True: "relevant", False: "irrelevant", None: "none"}[grade["gold"]]
    return f"graded {one_line(grade['verdict'], 20)}{score} (label: {label})"


# --- what the template writes with


def place(metadata: Record, root: str) -> str:
    """Return file (or address), page and heading of a passage or a citation."""
    parts = (
        (metadata["url"] or metadata["source"]).removeprefix(root),
        f"p. {metadata['page']}" if metadata["page"] is not None else "",
        f"§ {one_line(metadata['heading'], 120)}" if metadata["heading"] else "",
        "fallback corpus" if metadata.get("fallback_corpus") else "web" if metadata["origin"] == "web" else "",
    )
    return one_line(", ".join(filter(None, parts)))


def target(relevant: Target, root: str) -> str:
    """Return the place of a right answer according to the label of a case."""
    page = f"p. {relevant.page}" if relevant.page is not None else ""
    quote = f"“{relevant.quote}”" if relevant.quote else ""
    return one_line(", ".join(filter(None, (relevant.file.removeprefix(root), page, quote))), 1000)


def holds(positions: Sequence[int]) -> str:
    """Return in words which of the relevant targets a passage holds."""
    return f"holds relevant {joined(str(position + 1) for position in positions)}" if positions else ""


def _root(records: Sequence[Record]) -> str:
    """Return the folder, with a final slash, that contains all files of the run, or "".

    It is "" too if only the top folder contains all of them.
    """
    answers = [record for record in records if record["kind"] == "answer" and "error" not in record]
    sources = {passage["source"] for record in answers for passage in record["passages"]}
    folders = {os.path.dirname(source) for source in sources if not is_url(source)}  # noqa: PTH120
    if not folders or not all(map(os.path.isabs, folders)):
        return ""
    common = os.path.commonpath(folders)
    return "" if common == os.path.dirname(common) else common + os.sep  # noqa: PTH120
