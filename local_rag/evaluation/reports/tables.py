"""The tables of a run, the same ones in the terminal, in Markdown and on the page.

Retrieval, answers, refusals, citations, grading and cost stand apart; nothing is averaged across them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local_rag.evaluation.reports.formatting import count, mean, seconds, share
from local_rag.text.display import plural

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One figure: its head, where it stands in the summary (dotted), and how it is written.

    `minor` ones are left out in the terminal, `optional` ones where no row has a figure; `meaning` says in a line what
    it is and where that is from.
    """

    head: str
    path: str
    form: Callable[[float | None], str] = share
    meaning: str = ""
    minor: bool = False
    optional: bool = False

    def cell(self, figures: Figures) -> str:
        """The figure as text; a dash where there is none."""
        return self.form(self._value(figures))

    def has_figure(self, rows: Iterable[Figures]) -> bool:
        """Whether any of these rows has one."""
        return any(self._value(figures) is not None for figures in rows)

    def _value(self, figures: Figures) -> Any:
        value: Any = figures
        for key in self.path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


@dataclass(frozen=True)
class Table:
    """A title, what it is over, a head and rows of cells; the first column holds names, the others numbers."""

    title: str
    over: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def head(self) -> tuple[str, ...]:
        """The names of the columns, empty over the names of the rows."""
        return ("", *(column.head for column in self.columns))

    def narrowed(self) -> Table:
        """Without the minor columns."""
        kept = [number for number, column in enumerate(self.columns) if not column.minor]
        rows = tuple((row[0], *(row[number + 1] for number in kept)) for row in self.rows)
        return Table(self.title, self.over, tuple(self.columns[number] for number in kept), rows)


_PRECISION = "precision@k: share of the first k that is relevant (trec_eval, P_k); at most 1 / k where one place is "
_PRECISION += "relevant: P@5 .200, P@10 .100"
_CUTS, _MINOR_CUTS = ("1", "3", "5", "10", "20", "50", "100"), ("3", "50", "100")

RETRIEVAL = (
    Column("cases", "cases", count, "cases with relevant places that were searched for"),
    *(
        Column(
            f"R@{cut}",
            f"recall.{cut}",
            meaning="recall@k: share of what is relevant that is among the first k found (trec_eval, recall_k)"
            if cut == "1"
            else "",
            minor=cut in _MINOR_CUTS,
        )
        for cut in _CUTS
    ),
    *(
        Column(
            f"P@{cut}",
            f"precision.{cut}",
            meaning=_PRECISION if cut == "1" else "",
            minor=cut != "5",
        )
        for cut in ("1", "3", "5", "10")
    ),
    Column("MRR", "mrr", meaning="1 / rank of the first relevant thing, mean over cases (Voorhees 1999)"),
    Column("nDCG", "ndcg", meaning="nDCG@10, gain / log2(rank + 1) over the best order (Järvelin & Kekäläinen 2002)"),
    Column("MAP", "map", meaning="mean of the precision at each relevant thing, over all relevant (trec_eval, map)"),
    Column("p50 s", "seconds.p50", seconds, "seconds of a search, median"),
    Column("p95 s", "seconds.p95", seconds, "seconds of a search, 95 of 100 are faster", minor=True),
)
ANSWERS = (
    Column("cases", "answers.cases", count, "answerable cases with reference answers"),
    Column(
        "EM",
        "answers.exact_match",
        meaning="exact match after SQuAD's normalisation (Rajpurkar et al. 2016); near 0 for an engine that quotes "
        "whole sentences, however right they are",
    ),
    Column("F1", "answers.f1", meaning="token F1 with the best reference answer (Rajpurkar et al. 2016)"),
    Column(
        "short EM",
        "answers.short_exact_match",
        meaning="exact match of the short answer, the words that the engine names as answering, by the script of "
        "SQuAD 2.0 (Rajpurkar et al. 2018)",
        optional=True,
    ),
    Column("short F1", "answers.short_f1", meaning="token F1 of the short answer, by the same script", optional=True),
    Column("contains", "answers.containment", meaning="share whose text contains a reference answer, normalised alike"),
    Column("answered", "answers.answered", meaning="share that was answered at all, not refused"),
    Column("F1 a.", "answers.f1_answered", meaning="F1 over the answered ones alone"),
    Column(
        "short a.",
        "answers.short_f1_answered",
        meaning="short F1 over the answered ones alone",
        minor=True,
        optional=True,
    ),
    Column("cont. a.", "answers.containment_answered", meaning="contains, over the answered ones alone"),
)
REFUSALS = (
    Column("cases", "refusals.cases", count, "questions that are known to be answerable, or not to be"),
    Column("precision", "refusals.precision", meaning="share of refusals that were right: the files do not say"),
    Column("recall", "refusals.recall", meaning="share of unanswerable questions that were refused"),
    Column("F1", "refusals.f1", meaning="harmonic mean of refusal precision and recall"),
    Column(
        "balanced",
        "refusals.balanced_accuracy",
        meaning="balanced accuracy: mean of recall and answers; chance gets .500",
    ),
    Column("answers", "refusals.answer_rate", meaning="answer rate: share of answerable questions that were answered"),
    Column("refused rightly", "refusals.right", count, "unanswerable, and refused", minor=True),
    Column("refused wrongly", "refusals.wrong", count, "answerable, and refused all the same", minor=True),
    Column("missed", "refusals.missed", count, "unanswerable, and answered all the same", minor=True),
)
SUPPORT = (
    Column("answers", "support.answers", count, "questions that were answered, not refused"),
    Column("grounded", "support.grounded", meaning="share of the answers that the graph called grounded"),
    Column("precision", "support.precision", meaning="of those called grounded, share that contain a reference answer"),
    Column("recall", "support.recall", meaning="of those that contain a reference answer, share called grounded"),
)
CITATIONS = (
    Column("answers", "citations.answers", count, "questions that were answered, not refused"),
    Column("verified", "citations.verified", meaning="share of citations whose quote carries the sentence (by code)"),
    Column("precision", "citations.precision", meaning="share of citations whose passage holds something relevant"),
    Column("recall", "citations.recall", meaning="share of the places that an answer stands in that are cited"),
    Column("sentences", "citations.sentences", meaning="share of sentences with a verified citation"),
)
GRADING = (
    Column("verdicts", "grading.verdicts", count, "passages that were graded"),
    Column("labelled", "grading.labelled", count, "of these, with a label to compare with"),
    Column("accuracy", "grading.accuracy", meaning="share of labelled verdicts that agree with the label"),
    Column(
        "false irr.",
        "grading.false_irrelevant",
        meaning="share of passages labelled relevant that it called irrelevant",
    ),
    Column(
        "ECE",
        "grading.ece",
        meaning="expected calibration error of the scores: how far score and share of relevant passages lie apart, in "
        "ten bins (Naeini et al. 2015)",
        optional=True,
    ),
    Column("unparsed", "grading.unparsed", meaning="share of verdicts that could not be read"),
)
COST = (
    Column("cases", "cases", count, "questions that did not fail"),
    Column("p50 s", "cost.seconds.p50", seconds, "seconds of a question, median"),
    Column("p95 s", "cost.seconds.p95", seconds, "95 of 100 questions are faster"),
    Column("mean s", "cost.seconds.mean", seconds, "mean seconds of a question"),
    Column("calls", "cost.calls", mean, "calls to a language model, mean per question"),
    Column("read", "cost.prompt_tokens", mean, "prompt tokens, mean per question, as the server counts them"),
    Column("written", "cost.output_tokens", mean, "output tokens, mean per question"),
    Column("loads", "cost.loads", count, "times that a model was loaded, in all"),
    Column("retries", "cost.retries", count, "calls repeated because a reply was not usable, in all"),
)
FALLBACK_CORPUS = (
    Column("cases", "cases", count, "questions that did not fail"),
    Column("searched", "fallback_corpus.searched", count, "questions for which the fallback corpus was searched"),
    Column("cited", "fallback_corpus.cited", count, "answers that cite something of it"),
)
JUDGE = (
    Column("verdicts", "judge.verdicts", count, "answers that the judge was shown"),
    Column("unparsed", "judge.unparsed", meaning="share of the judge's verdicts that could not be read"),
    Column("right", "judge.right", meaning="share of read verdicts that call the answer right"),
    Column("labelled", "judge.labelled", count, "verdicts with a label to compare with"),
    Column("agreement", "judge.agreement", meaning="share of these that agree with containment, a rough label"),
    Column("kappa", "judge.kappa", meaning="agreement beyond chance (Cohen 1960)"),
)


_SEARCHED = "fallback_corpus.searched"


def tables(summary: Figures) -> Iterator[Table]:
    """Every table that has something to say, in the order in which a person reads them."""
    cases, graphs = summary.get("cases") or {}, summary.get("graphs") or {}
    labelled = plural(cases.get("with_answers") or 0, "answerable case")
    targets = plural(cases.get("with_relevant") or 0, "case")
    known = (
        f"{plural(cases.get('answerable') or 0, 'answerable question')} and {count(cases.get('unanswerable') or 0)} "
    )
    known += "that are not; answers: share of the answerable answered; balanced: mean of recall and answers"
    graded = "passages graded, against the labels of their cases; a passage of a file that is named without page or "
    graded += "words is not labelled, unless it is all of the file"
    yield from _table(
        "Retrieval",
        f"over {targets} with relevant places; R recall, P precision (P@5 at most .200 for one place), nDCG at 10",
        RETRIEVAL,
        summary.get("retrieval") or {},
        "cases",
    )
    yield from _routes(summary.get("routes"))
    answers = f"over {labelled} with reference answers; a refusal counts 0; a.: of those answered; "
    answers += "EM is near 0 where whole sentences are quoted"
    given = "over the answers given; precision and recall where the cases"
    for title, over, columns, counted in (
        ("Answers", answers, ANSWERS, "answers.cases"),
        ("Refusals", f"over {known}", REFUSALS, "refusals.cases"),
        ("Support", f"{given} have reference answers", SUPPORT, "support.answers"),
        ("Citations", f"{given} name places", CITATIONS, "citations.answers"),
        ("Grading of passages", f"over {graded}", GRADING, "grading.verdicts"),
        ("Fallback corpus", "counts of questions; it is searched in place of the web", FALLBACK_CORPUS, _SEARCHED),
        ("Judge", "over the answers shown to a language model; no other figure uses it", JUDGE, "judge.verdicts"),
        ("Cost", "over the questions that did not fail; calls and tokens (read, written) per question", COST, "cases"),
    ):
        yield from _table(title, over, columns, graphs, counted)
    yield from _statuses(graphs)


def _table(title: str, over: str, columns: Sequence[Column], named: Figures, counted: str) -> Iterator[Table]:
    """The table, unless nothing was counted in any of its rows. Optional columns without any figure are left out."""
    number = Column("", counted, lambda value: str(value or 0))
    kept = {name: figures for name, figures in named.items() if number.cell(figures) != "0"}
    if kept:
        shown = tuple(column for column in columns if not column.optional or column.has_figure(kept.values()))
        rows = tuple((name, *(column.cell(figures) for column in shown)) for name, figures in kept.items())
        yield Table(title, over, shown, rows)


def _routes(routes: Figures | None) -> Iterator[Table]:
    """Rows are the routes expected, columns those taken."""
    if not routes or not routes.get("cases"):
        return
    confusion = routes.get("confusion") or {}
    given = sorted({name for row in confusion.values() for name in row}, key=lambda name: (name == "unparsed", name))
    columns = tuple(Column(name, name, count, minor=False) for name in given)
    over = f"over {plural(routes['cases'], 'case')} with a route: accuracy {share(routes.get('accuracy'))}"
    over += f", unparsed {share(routes.get('unparsed'))}; rows expected, columns taken"
    rows = tuple((name, *(count(confusion[name].get(taken, 0)) for taken in given)) for name in sorted(confusion))
    yield Table("Routes", over, columns, rows)


_STATUSES = {
    "grounded": "answered; every sentence has a verified citation, and the grader, where a graph has one, agreed",
    "partial": "answered with reservations: not all of it has a verified citation, or the grader had doubts",
    "ungrounded": "answered, and no citation could be verified or the grader found no support for it",
    "direct": "answered without a look into the files, from what the model knows",
    "abstained": "refused: it says that the files do not answer the question",
}


def _statuses(graphs: Figures) -> Iterator[Table]:
    """How the answers ended, and how many questions failed."""
    if graphs:
        columns = (
            *(Column(name, f"statuses.{name}", count, meaning) for name, meaning in _STATUSES.items()),
            Column("failed", "failed", count, "an error came instead of an answer"),
        )
        nothing = dict.fromkeys(_STATUSES, 0)
        counted = {
            name: {"statuses": nothing | (figures.get("statuses") or {}), "failed": figures.get("failed") or 0}
            for name, figures in graphs.items()
        }
        rows = tuple((name, *(column.cell(counts) for column in columns)) for name, counts in counted.items())
        over = "counts of questions; a failed one enters no other figure"
        yield Table("How the questions ended", over, columns, rows)
