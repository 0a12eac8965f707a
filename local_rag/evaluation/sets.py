"""Read sets of cases, own ones and SQuAD, BEIR, ClapNQ and HotpotQA as published, and index their documents."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from local_rag.config.settings import Settings
from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import UsageError, reason_of
from local_rag.core.progress import Display
from local_rag.core.protocols import Embedder
from local_rag.evaluation.cases import SHAPE, Case, Target, distinct, read_cases, read_lines
from local_rag.evaluation.folder import FOLDER
from local_rag.index.index import Index
from local_rag.runtime.indexing import sync_progress
from local_rag.runtime.opening import open_embedder

Named = tuple[str, LoadedDocument]
Read = tuple[list[Case], list[Named]]


@dataclass(frozen=True)
class CaseSet:
    """Hold cases with their origin, and the documents that came with them, if any: (name, document)."""

    name: str
    format: str
    path: Path
    cases: tuple[Case, ...]
    documents: tuple[Named, ...] = ()


def open_cases(paths: Sequence[Path], format: str | None = None) -> CaseSet:
    """Read the cases of these files or folders as one set; the format is guessed unless it is named.

    Raise UsageError for a file that cannot be read, for two formats at once, and for an unknown format.
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"there is no format {format!r}", hint=f"--format {'|'.join(FORMATS)}")
    formats = {path: format or guess(path) for path in paths}
    if len(set(formats.values())) != 1:
        each = ", ".join(f"{path} is {kind}" for path, kind in formats.items())
        raise UsageError(f"all case files must have the same format: {each}", hint="local-rag eval CASES")
    kind = formats[paths[0]]
    cases: list[Case] = []
    documents: dict[str, LoadedDocument] = {}
    for path in paths:
        try:
            more_cases, texts = FORMATS[kind](path)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            raise UsageError(
                f"{path} is not in the format {kind}: {reason_of(error)}", hint=f"--format {'|'.join(FORMATS)}"
            ) from error
        cases += more_cases
        documents |= texts
    name = "+".join(dict.fromkeys(path.resolve().stem for path in paths))
    asked = distinct((case for case in cases if case.question), paths[0])
    return CaseSet(name, kind, paths[0], asked, tuple(documents.items()))


def guess(path: Path) -> str:
    """Return the format of a file or folder, judged by its contents; raise UsageError."""
    if path.is_dir():
        if (path / "corpus.jsonl").is_file() and (path / "queries.jsonl").is_file():
            return "beir"
        raise UsageError(
            f"{path} is a folder without corpus.jsonl and queries.jsonl, so it is no BEIR set",
            hint="local-rag eval CASES.jsonl",
        )
    first = next(iter(_entries(path)), None)
    if first is None:
        raise UsageError(f"{path} is empty", hint=SHAPE)
    keys = set(first) if isinstance(first, Mapping) else set()
    for kind, needed in _SIGNS.items():
        if needed <= keys:
            return kind
    raise UsageError(
        f"{path} has an unknown format; its first entry has {', '.join(sorted(keys)) or 'no keys'}",
        hint=f"--format {'|'.join(FORMATS)}",
    )


_SIGNS: dict[str, set[str]] = {
    "squad": {"data"},
    "hotpotqa": {"question", "context", "supporting_facts"},
    "clapnq": {"input", "passages", "output"},
    "jsonl": {"question"},
}


def _entries(path: Path) -> list[Any]:
    """Return the objects of JSON lines, or of the list in a JSON file; another JSON value is the only entry."""
    if path.suffix != ".json":
        return [value for _, value in read_lines(path)]
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {reason_of(error)}"
        if isinstance(error, json.JSONDecodeError):
            problem = f"is not JSON: {error.msg} in line {error.lineno}"
        raise UsageError(f"{path} {problem}", hint="local-rag eval CASES") from error
    return value if isinstance(value, list) else [value]


def titled(title: str, text: str) -> LoadedDocument:
    """Return a document with its title as the heading above its text, as in a file."""
    title, text = title.strip(), text.strip()
    if not title:
        return LoadedDocument(text)
    return LoadedDocument(f"{title}\n\n{text}", title, headings=(Heading(0, 1, title),))


def _own(path: Path) -> Read:
    return list(read_cases(path)), []


def _squad(path: Path) -> Read:
    """Read SQuAD 1.1 and 2.0 (rajpurkar.github.io/SQuAD-explorer): each paragraph is a document."""
    cases: list[Case] = []
    documents: list[Named] = []
    seen: Counter[str] = Counter()
    for position, article in enumerate(_entries(path)[0]["data"], start=1):
        title = str(article.get("title") or f"text {position}").replace("_", " ")
        seen[title] += 1
        folder = title if seen[title] == 1 else f"{title} ({seen[title]})"
        for number, paragraph in enumerate(article["paragraphs"], start=1):
            name = f"{folder}/{number}"
            documents.append((name, titled(title, paragraph["context"])))
            for entry in paragraph["qas"]:
                answerable = not entry.get("is_impossible", False)
                answers = tuple(dict.fromkeys(answer["text"] for answer in entry["answers"])) if answerable else ()
                relevant = (Target(file=name),) if answerable else ()
                cases.append(Case(str(entry["id"]), entry["question"].strip(), answers, answerable, relevant))
    return cases, documents


def _clapnq(path: Path) -> Read:
    """Read ClapNQ (github.com/primeqa/clapnq): questions with passages and long answers, empty if there is none."""
    cases: list[Case] = []
    documents: list[Named] = []
    for row in _entries(path):
        titles = Counter(passage["title"] for passage in row["passages"])
        named = [
            (f"{passage['title']}/{row['id']}" + (f"/{position}" if titles[passage["title"]] > 1 else ""), passage)
            for position, passage in enumerate(row["passages"], start=1)
        ]
        documents += [(name, titled(passage["title"], passage["text"])) for name, passage in named]
        answers = tuple(dict.fromkeys(output["answer"].strip() for output in row["output"] if output["answer"].strip()))
        relevant = tuple(Target(file=name) for name, _ in named) if answers else ()
        cases.append(Case(str(row["id"]), row["input"].strip(), answers, bool(answers), relevant))
    return cases, documents


def _hotpotqa(path: Path) -> Read:
    """Read HotpotQA (hotpotqa.github.io): paragraphs are documents, and supporting sentences are relevant."""
    cases: list[Case] = []
    documents: list[Named] = []
    for row in _entries(path):
        texts = dict(_pairs(row["context"], "sentences"))
        documents += [(title, titled(title, "".join(sentences))) for title, sentences in texts.items()]
        facts = [(title, number) for title, number in _pairs(row["supporting_facts"], "sent_id")]
        relevant = tuple(
            Target(file=title, quote=texts[title][number].strip() if title in texts else "")
            for title, number in dict.fromkeys(facts)
            if title not in texts or number < len(texts[title])  # some facts point beyond the last sentence
        )
        key = str(row.get("id") or row["_id"])
        hops = len({title for title, _ in facts})
        cases.append(Case(key, row["question"].strip(), (row["answer"],), True, relevant, hops=max(1, hops)))
    return cases, documents


def _pairs(value: Any, second: str) -> Iterable[tuple[str, Any]]:
    """Return the pairs of the original lists, or of the two columns that Hugging Face makes of them."""
    return zip(value["title"], value[second], strict=True) if isinstance(value, Mapping) else map(tuple, value)


def _beir(path: Path) -> Read:
    """Read a BEIR folder (github.com/beir-cellar/beir): corpus, queries, and relevant documents of the test split.

    Only queries with something relevant are asked. A score of 0 or below means that the document was judged irrelevant.
    """
    file = path / "qrels" / "test.tsv"
    if not file.is_file():
        raise UsageError(f"{path} has no qrels/test.tsv", hint="local-rag eval CASES.jsonl")
    relevant: dict[str, dict[str, float]] = {}
    with file.open(encoding="utf-8-sig", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            gain = float(row["score"])
            if gain > 0:
                relevant.setdefault(row["query-id"], {})[row["corpus-id"]] = gain
    cases = [
        Case(
            key,
            row["text"].strip(),
            answerable=True,
            relevant=tuple(Target(name, gain=gain) for name, gain in relevant[key].items()),
        )
        for row in _entries(path / "queries.jsonl")
        if (key := str(row["_id"])) in relevant
    ]
    documents = [
        (str(row["_id"]), titled(row.get("title") or "", row["text"])) for row in _entries(path / "corpus.jsonl")
    ]
    return cases, documents


FORMATS: dict[str, Callable[[Path], Read]] = {
    "jsonl": _own,
    "squad": _squad,
    "beir": _beir,
    "clapnq": _clapnq,
    "hotpotqa": _hotpotqa,
}


def sampled(cases: Sequence[Case], limit: int | None, seed: int) -> tuple[Case, ...]:
    """Return at most `limit` cases, drawn by the seed, in their own order."""
    if limit is None or limit >= len(cases):
        return tuple(cases)
    chosen = sorted(random.Random(seed).sample(range(len(cases)), limit))
    return tuple(cases[number] for number in chosen)


def indexed_corpus(cases: CaseSet, settings: Settings, display: Display, embedder: Embedder | None = None) -> Settings:
    """Return settings with an index of the set's documents, which is separate from a person's own.

    The index is made unless it exists; what was embedded before a stop is kept. The documents of a BEIR folder are one
    passage each, title, a blank and text, as retrieval is published for them. Raise UsageError for a set without
    documents.
    """
    if not cases.documents:
        raise UsageError(
            f"{cases.path} has no documents of its own to build an index from (it is {cases.format})",
            hint="index the documents first: local-rag index FOLDER, then: local-rag eval CASES",
        )
    whole, chunks = cases.format == "beir", settings.values.chunks
    embedder = embedder or open_embedder(settings, display)
    texts = [(name, _untitled(text) if whole else text) for name, text in cases.documents]
    parts = [[name, text.title, text.text] for name, text in texts]
    made = json.dumps([[embedder.fingerprint, chunks.size, chunks.overlap, whole], parts])
    name = f"{cases.name[:40]}-{hashlib.sha256(made.encode()).hexdigest()[:12]}"
    path = settings.data_folder / FOLDER / "corpora" / name
    with (
        sync_progress(display) as progress,
        Index.open(path, embedder, chunk_size=chunks.size, chunk_overlap=chunks.overlap, create=True) as index,
    ):
        index.sync_texts(texts, whole=whole, progress=progress)
    values = settings.values.model_copy(update={"index": str(path)})
    return replace(settings, values=values, origin={**settings.origin, "index": "--corpus"})


def _untitled(document: LoadedDocument) -> LoadedDocument:
    return LoadedDocument(" ".join(document.text.split("\n\n", 1)) if document.title else document.text)
