"""Open what the settings name: embedder, evaluator, model server, indexes and web search."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import Settings, name_of
from local_rag.core.errors import (
    ConfigError,
    EarlierIndex,
    IndexMismatch,
    IndexMissing,
    LocalRagError,
    ModelChanged,
    ModelMissing,
    UsageError,
)
from local_rag.core.progress import Display
from local_rag.index.catalog import IndexStatus
from local_rag.index.embed.weights import SEEN as WEIGHTS_SEEN
from local_rag.text.display import plural, those_there

if TYPE_CHECKING:
    from local_rag.config.models import Models
    from local_rag.core.documents import LoadedDocument
    from local_rag.core.protocols import Embedder, OwnEmbedder, WebSearch
    from local_rag.engines.evaluator.evaluator import TrainedEvaluator
    from local_rag.engines.ollama.server import OllamaApi
    from local_rag.index.index import Index
    from local_rag.index.joint import JointIndex


FIRST_LOAD = "this first time it is also converted for this machine and checked, which may take a minute or two"


def open_embedder(
    settings: Settings,
    display: Display | None = None,
    quick: bool = False,
) -> OwnEmbedder:
    """Return the embedder that was asked for, or else the one that made the index; it is not loaded yet.

    `display` announces a load that takes seconds; `quick` prepares for thousands of passages. Raise ConfigError or
    ModelMissing.
    """
    from local_rag.config.models import OLLAMA, load_models
    from local_rag.index.embed import encoders
    from local_rag.index.embed.embedder import SentenceTransformerEmbedder

    models = load_models(settings)
    name = embedder_name(settings, models)
    if name.startswith(OLLAMA):
        from local_rag.engines.ollama.embedder import OllamaEmbedder

        of_ollama = models.embedder_of_ollama(name.removeprefix(OLLAMA))
        return OllamaEmbedder(open_server(settings), of_ollama, settings.values.ollama)
    spec = models.embedder(name)

    def on_load() -> None:
        if display is not None:
            once = f"; {FIRST_LOAD}" if embedder.loads_first else ""
            display.say(f"{loading(spec.name)}{once}…")

    device = settings.values.device
    if quick and device != "auto":
        encoders.device(device)  # so that a missing device is reported before any file is read
    embedder = SentenceTransformerEmbedder(spec, settings.cache_folder, on_load, quick, device)
    return embedder


def embedder_name(settings: Settings, models: Models) -> str:
    """Return the name of the embedder that was asked for, or else of the one that made the index."""
    from local_rag.config.models import OLLAMA

    if settings.origin["embedder"] == "default":
        with suppress(EarlierIndex):  # such an index is made anew
            index = status_of(settings)
            if index and (index.embedder in models.embedders or index.embedder.startswith(OLLAMA)):
                return index.embedder
    return settings.values.embedder


def open_server(settings: Settings, patience: float | None = None) -> OllamaApi:
    """Return a client for the configured server, without a request yet; raise NotLocal or UsageError."""
    from local_rag.engines.ollama.server import PATIENCE, OllamaApi

    ollama = settings.values.ollama
    return OllamaApi(ollama.host, ollama.allow_hosts, patience or PATIENCE)


def loading(name: str) -> str:
    """Return the message to show while the weights of an embedder load."""
    return f"loading the embedding model {name}"


def open_evaluator(settings: Settings) -> tuple[TrainedEvaluator | None, LocalRagError | None]:
    """Return the evaluator of the settings, not loaded yet, or None and the reason that it is not available."""
    from local_rag.config.models import load_models
    from local_rag.engines.evaluator.evaluator import TrainedEvaluator, find

    name, cache = settings.values.evaluator, settings.cache_folder
    try:
        return TrainedEvaluator(name, find(name, load_models(settings), cache / WEIGHTS_SEEN), cache), None
    except (ModelMissing, ModelChanged) as error:
        return None, error


def open_index(
    settings: Settings,
    embedder: Embedder | None = None,
    *,
    create: bool = False,
    reembed: bool = False,
) -> Index:
    """Open the configured index with the given embedder, or else with the configured one.

    An index keeps its passage sizes unless a person asked for others. Raise IndexMissing unless `create`, and
    IndexMismatch for another embedder (unless `reembed`) or another chunking. With `create`, an index of an earlier
    version is replaced by a new one.
    """
    from local_rag.index.index import Index

    chunks, status = settings.values.chunks, None
    try:
        status = status_of(settings)
    except EarlierIndex:
        if not create:
            raise
    if status is None and not create:
        raise missing(settings)
    given = {name: settings.origin[f"chunks.{name}"] != "default" for name in ("size", "overlap")}
    return Index.open(
        settings.index_path,
        embedder or open_embedder(settings),
        chunk_size=status.chunk_size if status and not given["size"] else chunks.size,
        chunk_overlap=status.chunk_overlap if status and not given["overlap"] else chunks.overlap,
        create=create,
        reembed=reembed,
    )


def open_indexes(settings: Settings, embedder: Embedder | None = None) -> Index | JointIndex:
    """Open the index that questions search, or several indexes as one.

    Raise as `open_index` does, and IndexMismatch for indexes of different embedders.
    """
    from local_rag.index.index import Index
    from local_rag.index.joint import JointIndex

    folders = settings.index_paths
    if len(folders) == 1:
        return open_index(settings, embedder)
    embedder = embedder or open_embedder(settings)
    first, *further = folders.items()
    with ExitStack() as opened:
        indexes = {first[0]: opened.enter_context(open_index(settings, embedder))}
        for name, folder in further:
            try:
                index = Index.open(folder, embedder, chunk_size=None, chunk_overlap=None)
            except IndexMissing as error:
                raise missing(settings, name, folder) from error
            except IndexMismatch as error:
                made = Index.inspect(folder)  # raises for an unknown schema
                hint = f"local-rag index --reembed --embedder {shlex.quote(embedder.name)} --index {shlex.quote(name)}"
                raise IndexMismatch(
                    f"{first[0]} and {name} cannot be asked as one: {name} was made with the embedder "
                    f"'{made.embedder}' ({made.fingerprint}), not '{embedder.name}' ({embedder.fingerprint})",
                    hint=hint,
                ) from error
            indexes[name] = opened.enter_context(index)
        opened.pop_all()
        return JointIndex(indexes)


def status_of(settings: Settings) -> IndexStatus | None:
    """Return the status of the configured index, or None if there is no index."""
    from local_rag.index.index import Index

    with suppress(IndexMissing):
        return Index.inspect(settings.index_path)
    return None


def existing_index(settings: Settings) -> IndexAddress:
    """Return the address of the configured index; raise IndexMissing if there is none."""
    from local_rag.index.store.opening import has_index

    if not has_index(settings.index_path):
        raise missing(settings)
    return settings.index_path


def check_named_indexes(settings: Settings) -> None:
    """Raise IndexMissing if a named index does not exist; the default index may be made later."""
    from local_rag.index.store.opening import has_index

    for name, folder in settings.index_paths.items():
        if name != "default" and not has_index(folder):
            raise missing(settings, name, folder)


def open_web(settings: Settings, folders: Sequence[str] | None = None) -> WebSearch:
    """Return the web search of the settings; nothing is imported or contacted yet.

    `folders` are the indexes of the question, by default those of the settings, and the strictest rule among them
    holds; "" is a corpus without a folder, which stays off the web if any index does. Raise UsageError if --web is
    given for an index that may never use the web.
    """
    from local_rag.web.search import DdgsSearch, Off

    web = settings.values.web
    if web.enabled == "off":
        return Off()
    asked = settings.folders if folders is None else folders
    if kept := [folder for folder in asked if settings.keeps_from_the_web(folder)]:
        if settings.origin["web.enabled"] == "flag":
            what = f"the index {settings.path_of(kept[0]).name}" if kept[0] else "a corpus of one's own"
            raise UsageError(
                f"questions about {what} never go to the web ({settings.origin['web.never']})",
                hint="take the index out of web.never, or ask without --web",
            )
        return Off()
    return DdgsSearch(web, settings.data_folder, read_page=page_reader(web.page_seconds))


def page_reader(seconds: float) -> Callable[[str], LoadedDocument]:
    """Return a function that reads a page of the public web; `seconds` limits fetching and reading each."""

    def read(url: str) -> LoadedDocument:
        from local_rag.web.pages import read_page

        return read_page(url, seconds)

    return read


def missing(settings: Settings, name: str = "", path: IndexAddress | None = None) -> IndexMissing:
    """Return the error that an index does not exist, with the names of the existing ones.

    The index is by default that of the settings.
    """
    name, others = name or settings.values.index, indexes_of(settings)
    known = f"; {those_there(others)}" if others else ""
    which = "" if name == "default" else f" --index {shlex.quote(name)}"
    return IndexMissing(
        f"there is no index at {path or settings.index_path}{known}", hint=f"local-rag index FOLDER{which}"
    )


def indexes_of(settings: Settings) -> list[str]:
    """Return the names of the indexes in the data folder."""
    from local_rag.index.store.sqlite.folder import has_database

    return sorted(path.name for path in (settings.data_folder / "indexes").glob("*") if has_database(path))


def served_by(settings: Settings, fingerprint: str) -> str:
    """Return what computes the vectors of the embedder with this fingerprint, or why that is unknown."""
    try:
        embedder = open_embedder(settings)
        if embedder.fingerprint != fingerprint:
            return "not known: another embedder is configured"
        return embedder.served_by[0]
    except (ConfigError, ModelMissing, ModelChanged) as error:
        return f"not known: {error}"


def part_embedded(settings: Settings, status: IndexStatus, why: str) -> None:
    """Raise UsageError for an index that is not fully embedded, with the command that embeds the rest.

    `why` states the harm.
    """
    if status.embedded < status.chunks:
        name = name_of(status.path, settings.data_folder)
        index = "" if name == "default" else f" --index {shlex.quote(name)}"
        raise UsageError(
            f"the index {name} has only {status.embedded:,} of {plural(status.chunks, 'passage')} embedded, {why}",
            hint=f"local-rag index --embed-only{index}",
        )


PYTHON_DOCS = "docs/python.md says what a program may give"

LONGEST_QUESTION = 4_000
"""The maximum characters: two pages of text. The embedder reads the first 254 tokens; graphs get slower with length."""


def check_question(question: str) -> None:
    """Raise UsageError for a question that is no text, empty or too long."""
    if not isinstance(question, str):
        raise UsageError(f"a question is a text, not {type(question).__name__}", hint=PYTHON_DOCS)
    if not question.strip():
        raise UsageError("the question is empty", hint='local-rag ask "What does the contract say about notice?"')
    if len(question) > LONGEST_QUESTION:
        raise UsageError(
            f"a question has at most {LONGEST_QUESTION:,} characters, and this one has {len(question):,}",
            hint="put the text into a file, index it, and ask about it: local-rag ask QUESTION --in FILE",
        )
