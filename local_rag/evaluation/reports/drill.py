"""One case as the page shows it: its labels, its passages once, and what each graph made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.figures import count, seconds, share
from local_rag.evaluation.reports.outcomes import outcome, ranks, searched
from local_rag.evaluation.reports.safe import block, said
from local_rag.text.display import joined, plural

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case, Target

Record = Mapping[str, Any]

REFERENCE, WHY = 1000, 240
"""Characters that are shown of a reference answer or a labelled quote, and of the reason of a verdict."""

FIRST_FOUND = 5
"""How many of the things that a search found are named."""


@dataclass(frozen=True)
class Limits:
    """How many characters are shown of each passage, answer and quote."""

    passage: int
    answer: int
    quote: int


@dataclass(frozen=True)
class Passage:
    """A passage that one or more graphs saw. `seen` says by whom, with score, verdict and label."""

    number: int
    place: str
    text: str
    holds: str
    seen: tuple[str, ...]


@dataclass(frozen=True)
class Quote:
    """A citation: `passage` is the number of the passage on the page, None where it is not among them."""

    number: int
    place: str
    text: str
    verified: bool
    holds: str
    passage: int | None


@dataclass(frozen=True)
class Told:
    """What one graph made of the case; only `error` where it failed. `facts` are pairs of a name and a text."""

    graph: str
    outcome: str
    error: str = ""
    status: str = ""
    reason: str = ""
    answer: str = ""
    quotes: tuple[Quote, ...] = ()
    nearest: tuple[Quote, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    decisions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drilled:
    """A case with everything that is shown of it; `marks` are (graph or mode, outcome)."""

    id: str
    question: str
    labels: tuple[tuple[str, str], ...]
    marks: tuple[tuple[str, str], ...]
    told: tuple[Told, ...]
    passages: tuple[Passage, ...]
    searches: tuple[tuple[str, str], ...]

    @property
    def judged(self) -> tuple[tuple[str, str], ...]:
        """The marks by which a case is ordered: those of the graphs, or of the searches where no graph was asked."""
        return self.marks[: len(self.told)] or self.marks


@dataclass
class Seen:
    """The passages of a case as they are numbered.

    `root` is the folder that all files of the run lie in; it is left out of their names.
    """

    limits: Limits
    root: str
    first: dict[tuple[str, str], Record] = field(default_factory=dict)
    lines: dict[tuple[str, str], dict[str, list[str]]] = field(default_factory=dict)

    def add(self, graph: str, record: Record) -> None:
        """Take in what a graph saw, with its verdicts."""
        for passage in record["passages"]:
            key = _key(passage)
            self.first.setdefault(key, passage)
            grades = [grade for grade in record["grades"] if grade["chunk_id"] == passage["chunk_id"]]
            verdicts = Counter(map(_verdict, grades))
            parts = [f"cosine {share(passage['score'])}" if passage["score"] is not None else ""]
            parts += [verdict if times == 1 else f"{verdict}, {times} times" for verdict, times in verdicts.items()]
            if passage["query"] and passage["query"] != record["answer"]["question"]:
                parts.append(f"brought by “{said(passage['query'], 120)}”")
            description = ", ".join(filter(None, parts)) or "not graded"
            self.lines.setdefault(key, {}).setdefault(description, []).append(said(graph, 40))

    def number(self, source: str, page: int | None, start: int) -> int | None:
        """The number of the passage in which a citation stands."""
        for number, passage in enumerate(self.first.values(), start=1):
            same = source in (passage["source"], passage["url"]) and page == passage["page"]
            if same and (passage["start"] is None or passage["start"] <= start < passage["end"]):
                return number
        return None

    def numbers(self, record: Record) -> str:
        """The numbers of the passages that a graph saw, in its order."""
        order = {key: number for number, key in enumerate(self.first, start=1)}
        return ", ".join(str(order[_key(passage)]) for passage in record["passages"])

    def shown(self) -> Iterator[Passage]:
        """The passages, in the order in which they were first seen."""
        for number, (key, passage) in enumerate(self.first.items(), start=1):
            location = place_of(passage, self.root)
            seen = tuple(f"{joined(graphs)}: {line}" for line, graphs in self.lines[key].items())
            yield Passage(number, location, block(passage["text"], self.limits.passage), _holds(passage["holds"]), seen)


def drilled(case: Case, records: Sequence[Record], limits: Limits, root: str) -> Drilled:
    """Everything that the page shows of a case, from its records."""
    seen = Seen(limits, root)
    answers = [record for record in records if record["kind"] == "answer"]
    for record in answers:
        if "error" not in record:
            seen.add(record["graph"], record)
    judged = {record["graph"]: record for record in records if record["kind"] == "judgement"}
    outcomes = tuple(_told(case, record, judged.get(record["graph"]), seen) for record in answers)
    searches = [record for record in records if record["kind"] == "retrieval"]
    marks = [(entry.graph, entry.outcome) for entry in outcomes]
    marks += [(search["mode"], searched(search)) for search in searches]
    return Drilled(
        said(case.id, 120),
        said(case.question, 1000),
        tuple(_labels(case, root, records)),
        tuple(marks),
        outcomes,
        tuple(seen.shown()),
        tuple((record["mode"], _search(record, root)) for record in searches),
    )


def place_of(metadata: Record, root: str) -> str:
    """File (or address), page and heading of a passage or a citation."""
    page = f"p. {metadata['page']}" if metadata["page"] is not None else ""
    heading = f"§ {said(metadata['heading'], 120)}" if metadata["heading"] else ""
    web = "web" if metadata["origin"] == "web" else ""
    return ", ".join(filter(None, (_file(metadata["url"] or metadata["source"], root), page, heading, web)))


def _file(source: str, root: str) -> str:
    return said(source.removeprefix(root) if root else source, 300)


def _key(passage: Record) -> tuple[str, str]:
    return str(passage["chunk_id"] or passage["url"] or passage["source"]), passage["text"]


def _holds(positions: Sequence[int]) -> str:
    return f"holds relevant {joined(str(position + 1) for position in positions)}" if positions else ""


def _verdict(grade: Record) -> str:
    score = f" {share(grade['score'])}" if grade["score"] is not None else ""
    label = {True: "label: relevant", False: "label: irrelevant", None: "no label"}[grade["gold"]]
    wrong = grade["gold"] is not None and (grade["verdict"] == "relevant") is not grade["gold"]
    return f"graded {said(grade['verdict'], 20)}{score} ({label}{', so wrong' if wrong else ''})"


def _labels(case: Case, root: str, records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """What is known of the case, and what the router made of it."""
    if case.answerable is not None:
        yield "the files hold an answer", "yes" if case.answerable else "no"
    for answer in case.answers:
        yield "reference answer", said(answer, REFERENCE)
    for number, target in enumerate(case.relevant, start=1):
        yield f"relevant {number}", _target(target, root)
    if case.hops != 1:
        yield "places to put together", str(case.hops)
    if case.note:
        yield "note", said(case.note)
    route = next((record for record in records if record["kind"] == "route"), None)
    if case.route or route:
        taken = "not asked" if route is None else said(route.get("error") or route["source"] or "unparsed")
        yield "route", f"expected {case.route}, taken: {taken}"


def _target(target: Target, root: str) -> str:
    parts = (
        _file(target.file, root) if target.file else "",
        f"p. {target.page}" if target.page is not None else "",
        f"“{said(target.quote, REFERENCE)}”" if target.quote else "",
        f"gain {target.gain:g}" if target.gain != 1 else "",
    )
    return ", ".join(filter(None, parts))


def _told(case: Case, record: Record, judged: Record | None, seen: Seen) -> Told:
    if "error" in record:
        return Told(said(record["graph"], 40), outcome(case, record), error=said(record["error"], 1000))
    answer = record["answer"]
    citations = zip(answer["citations"], record["cited"], strict=True)
    nearest = answer["nearest"] if answer["status"] == "abstained" else ()
    decisions = [decision for decision in answer["decisions"] if decision["kind"] != "relevance"]
    return Told(
        said(record["graph"], 40),
        outcome(case, record),
        status=said(answer["status"], 20),
        reason=said(answer["reason"], 600),
        answer=block(answer["text"], seen.limits.answer),
        quotes=tuple(_quote(citation, cited["holds"], seen) for citation, cited in citations),
        nearest=tuple(_quote(citation, (), seen) for citation in nearest),
        facts=tuple((name, text) for name, text in _facts(record, judged, seen) if text),
        decisions=tuple(_decision(decision, seen.root) for decision in decisions),
    )


def _quote(citation: Record, holds: Sequence[int], seen: Seen) -> Quote:
    passage = seen.number(citation["source"], citation["page"], citation["start"])
    text = said(citation["quote"], seen.limits.quote)
    return Quote(
        citation["number"], place_of(citation, seen.root), text, bool(citation["verified"]), _holds(holds), passage
    )


def _facts(record: Record, judged: Record | None, seen: Seen) -> Iterator[tuple[str, str]]:
    answer, usage = record["answer"], record["answer"]["usage"]
    steps = " → ".join(f"{said(step['node'], 40)} {seconds(step['seconds'])} s" for step in record["steps"])
    yield "path", steps or said(" → ".join(answer["path"]))
    yield "passages", seen.numbers(record)
    dropped = answer["dropped_citations"]
    yield "dropped", f"{plural(dropped, 'citation')} of unknown passages" if dropped else ""
    sentences = record["sentences"]
    backed = f"{sentences['verified']} of {sentences['total']} with a verified citation"
    yield "sentences", backed if sentences["total"] else ""
    yield "cost", _cost(answer["seconds"], usage)
    yield "notes", said("; ".join(usage["notes"]), 600)
    yield "judge", _judgement(judged)


def _cost(wall: float, usage: Record) -> str:
    parts = [f"{seconds(wall)} s"]
    if usage["calls"]:
        tokens = f"{count(usage['prompt_tokens'])} tokens read and {count(usage['output_tokens'])} written"
        parts += [plural(usage["calls"], "call"), tokens]
    named = ((usage["loads"], "model load", ""), (usage["retries"], "retry", "retries"))
    parts += [plural(number, *names) for number, *names in named if number]
    if usage["unparsed"]:
        parts.append(plural(usage["unparsed"], "unusable verdict"))
    return ", ".join(parts)


def _judgement(judged: Record | None) -> str:
    if judged is None or judged.get("verdict") == "abstained":
        return ""
    if "error" in judged:
        return f"failed: {said(judged['error'])}"
    why = f": {said(judged['why'], WHY)}" if judged["why"] else ""
    return f"{said(judged['verdict'], 20)}{why}"


def _decision(decision: Record, root: str) -> str:
    score = f" {share(decision['score'])}" if decision["score"] is not None else ""
    file = f" {_file(decision['source'], root)}" if decision["source"] else ""
    why = f" ({said(decision['why'], WHY)})" if decision["why"] else ""
    return f"{said(decision['kind'], 40)}{file}: {said(decision['verdict'], 120)}{score}{why}"


def _search(record: Record, root: str) -> str:
    """Where the relevant things stood, and what came first."""
    if "error" in record:
        return f"failed: {said(record['error'])}"
    found_at, total = ranks(record), len(record["gains"])
    at = f" at rank {joined(map(str, found_at[:10]))}" if found_at else ""
    relevant = f"{len(found_at)} of {total} relevant found{at}" if total else "no labels"
    locations = record.get("shown") or [_file(str(unit), root) for unit in record["units"]]
    first = "; ".join(said(location, 300) for location in locations[:FIRST_FOUND])
    return f"{relevant}; {seconds(record['seconds'])} s; first: {first or 'nothing'}"
