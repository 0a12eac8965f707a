"""Choose the engine: never replace one that a person named, and let `auto` take Ollama if it can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from local_rag.config.calibrated import accuracy_of, fingerprint_of, thresholds_for
from local_rag.config.settings import OLLAMA_HOST, Settings
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import EngineError, LocalRagError, ModelMissing, NotLocal, ServerDown, UsageError
from local_rag.engines.language_model.prompt_texts import PromptTexts, of_person
from local_rag.runtime.opening import PYTHON_DOCS, open_evaluator, open_server
from local_rag.text.display import joined

if TYPE_CHECKING:
    from local_rag.config.models import OllamaModelSpec, Profile, Role
    from local_rag.core.protocols import Corpus, Embedder, Engine, Evaluator, Reranker
    from local_rag.engines.extractive.engine import ExtractiveEngine
    from local_rag.engines.language_model.engine import LanguageModelEngine
    from local_rag.engines.ollama.engine import OllamaEngine
    from local_rag.engines.ollama.server import OllamaApi
    from local_rag.engines.openai.engine import OpenAIEngine

QUICK = 2.0
"""Seconds that `auto` waits for a server's first reply; a server that was asked for gets more."""


@dataclass(frozen=True)
class Choice:
    """Hold an engine, and for `auto` the reason for it and what to type for another.

    `why` and `change` are empty if the engine was named. `note` has further messages for a person. `evaluator` reads
    passages for the engine and the graphs; `reranker` orders the results of a search for them.
    """

    engine: Engine
    why: str = ""
    change: str = ""
    note: str = ""
    evaluator: Evaluator | None = None
    reranker: Reranker | None = None

    def close(self, *, engine: bool = True) -> None:
        """Close the evaluator, and with `engine` the engine too, unless a caller owns it."""
        try:
            if engine:
                self.engine.close()
        finally:
            if self.evaluator is not None:
                self.evaluator.close()

    @property
    def lines(self) -> list[str]:
        """Return the lines for stderr before a question is answered."""
        quotes = f"{self.engine.name}, quotes only{f' ({self.why})' if self.why else ''}"
        first = f"engine: {self.engine.describe if self.engine.writes else quotes}"
        change = [f"  to change that: {self.change}"] if self.change else []
        return [first, *change, *self.note.splitlines()]


def choose_engine(
    settings: Settings,
    embedder: Embedder,
    corpus: Corpus,
    reranker: Reranker | None = None,
) -> Choice:
    """Return the engine of the settings with the evaluator; `reranker` orders the results of its searches.

    Raise ServerDown, ModelMissing, NotLocal or EngineError if something that was named is not available.
    """
    evaluator, lacking = open_evaluator(settings)

    def quoting() -> Engine:
        if lacking:
            raise lacking
        from local_rag.engines.extractive.engine import ExtractiveEngine

        make = partial(ExtractiveEngine, embedder, cast("Evaluator", evaluator), corpus)
        in_force = thresholds_for(settings, fingerprint_of(make(), embedder, reranker))
        return make(relevant=in_force.relevance, answers=in_force.answer)

    if settings.values.engine == "extractive":
        _no_model_named(settings)
        choice = Choice(quoting())
    elif settings.values.engine == "openai":
        answering = open_openai(settings, evaluator, _assessor(embedder, evaluator, corpus))
        answering.accuracy = _accuracy(settings, answering)
        choice = Choice(answering, note=_own_prompts(answering))
    else:
        choice = _with_ollama(settings, evaluator, quoting, _assessor(embedder, evaluator, corpus))
    try:
        _check_grading(choice.engine, settings, lacking)
    except LocalRagError:
        choice.engine.close()
        raise
    return _with_evaluator(choice, evaluator, lacking, reranker)


def _with_evaluator(
    choice: Choice, evaluator: Evaluator | None, lacking: LocalRagError | None, reranker: Reranker | None
) -> Choice:
    without = f"without the evaluator: {lacking}; {lacking.hint}" if lacking else ""
    note = "\n".join(filter(None, (choice.note, without)))
    return replace(choice, evaluator=evaluator, reranker=reranker, note=note)


def _check_grading(engine: Engine, settings: Settings, lacking: LocalRagError | None) -> None:
    """Raise an error if the evaluator is to grade and is not available, because nothing else replaces it."""
    if settings.values.crag.trigger == "thresholds" and engine.grades_by == "model":
        raise UsageError(
            f"crag.trigger is thresholds ({settings.origin['crag.trigger']}), and a language model gives no scores",
            hint="let the evaluator grade passages: set ollama.grading: evaluator",
        )
    if lacking is None or engine.grades_by == "model":
        return
    origin = settings.origin["ollama.grading"] if settings.values.ollama.grading == "evaluator" else ""
    what = f"ollama.grading is evaluator ({origin})" if origin else "grading is evaluator"
    raise type(lacking)(f"{what}: {lacking}", hint=lacking.hint)


def _assessor(embedder: Embedder, evaluator: Evaluator | None, corpus: Corpus) -> ExtractiveEngine | None:
    """Return what grades for a language model, the evaluator and code, or None without an evaluator."""
    from local_rag.engines.extractive.engine import ExtractiveEngine

    return ExtractiveEngine(embedder, evaluator, corpus) if evaluator else None


def _with_ollama(
    settings: Settings, evaluator: Evaluator | None, quoting: Callable[[], Engine], assessor: ExtractiveEngine | None
) -> Choice:
    """Return an engine of Ollama, or one that quotes if Ollama is not available and nobody named it."""
    must = settings.values.engine == "ollama" or bool(named(settings))
    try:
        engine = open_ollama(settings, None if must else QUICK, evaluator, assessor)
    except (EngineError, ModelMissing, NotLocal, UsageError) as error:
        if must or (isinstance(error, UsageError) and settings.origin["ollama.host"] != OLLAMA_HOST):
            raise needed_by(settings, error) from error
        return Choice(quoting(), str(error), error.hint)
    engine.accuracy = _accuracy(settings, engine)
    note = _own_prompts(engine)
    if settings.values.engine == "ollama":
        return Choice(engine, note=note)
    why = f"Ollama answers and has {joined(use.model for use in engine.models)}"
    return Choice(engine, why, "--engine extractive", note)


def _accuracy(settings: Settings, engine: LanguageModelEngine) -> float:
    """Return the measured accuracy of the model's verdicts on answers if it is good and the evaluator grades them."""
    return accuracy_of(settings, lambda: engine.identity) if engine.grading == "auto" else 0.0


def _own_prompts(engine: LanguageModelEngine) -> str:
    changed = engine.prompts.texts.changed
    return f"prompts of your own: {joined(changed)}" if changed else ""


def own_engine(
    settings: Settings, engine: Engine, embedder: Embedder, corpus: Corpus, reranker: Reranker | None
) -> Choice:
    """Return the choice of an engine that the calling program made.

    An engine of a chat model gets the prompts in force and the evaluator. Raise UsageError for an object that is no
    engine, and for prompts that the engine cannot use; raise the reason if the evaluator is to grade and is not
    available.
    """
    from local_rag.core import protocols
    from local_rag.engines.chat_model import ChatModelEngine

    if missing := missing_of(protocols.Engine, engine):
        raise UsageError(
            f"an engine has {joined(missing)}, and {type(engine).__name__} does not",
            hint="docs/python.md says what an engine is; from_chat_model makes one of a chat model of LangChain",
        )
    for name in ("model", "profile"):
        if settings.origin[name] == "flag":
            raise UsageError(
                f"{name}={settings.get(name)!r} says nothing to an engine that a program gives: it has its own model",
                hint=f"leave out {name}=, or engine=",
            )
    evaluator, lacking = open_evaluator(settings)
    if isinstance(engine, ChatModelEngine):
        engine = engine.opened_with(prompt_texts(settings), evaluator, _assessor(embedder, evaluator, corpus))
        _check_grading(engine, settings, lacking)
    elif settings.prompts:
        raise UsageError(f"the engine {engine.name} was given with prompts of its own, so prompts= says nothing to it")
    return _with_evaluator(Choice(engine), evaluator, lacking, reranker)


def check_parts(corpus: object, reranker: object, prompts: object) -> None:
    """Raise UsageError for a corpus, reranker or prompts of the wrong kind."""
    from local_rag.core import protocols

    if not (prompts is None or isinstance(prompts, Mapping)):
        raise UsageError(f"prompts are texts by name, not {type(prompts).__name__}", hint=PYTHON_DOCS)
    for part, wanted in ((corpus, protocols.Corpus), (reranker, protocols.Reranker)):
        if part is not None and (missing := missing_of(wanted, part)):
            name = wanted.__name__.lower()
            raise UsageError(f"a {name} has {joined(missing)}, and {type(part).__name__} does not", hint=PYTHON_DOCS)


def missing_of(protocol: type, part: object) -> list[str]:
    """Return the names of a protocol that an object lacks."""
    return [name for name in vars(protocol) if not name.startswith("_") and not hasattr(part, name)]


def check_named(settings: Settings) -> None:
    """Raise what `choose_engine` would raise for the model that a person named; nothing stays open."""
    if settings.values.engine == "extractive":
        _no_model_named(settings)
    else:
        open_language_model(settings, patience=QUICK).close()


def named(settings: Settings) -> str:
    """Return the setting with which a person named a model or a server, or "".

    OLLAMA_HOST does not count, because it is Ollama's own.
    """
    for name in ("model", "profile", "ollama.host"):
        if settings.origin[name] not in ("default", OLLAMA_HOST):
            return name
    return "" if roles(settings)[0].ours else "models.yaml"


def needed_by(settings: Settings, error: LocalRagError) -> LocalRagError:
    """Return the error; if no server answers, add the setting that needs one and how to unset it."""
    name = named(settings)
    if not isinstance(error, ServerDown) or not name:
        return error
    if name == "models.yaml":
        model = roles(settings)[0].model
        return ServerDown(f"{error}, and the model {model} of your models.yaml needs one", hint=error.hint)
    origin = settings.origin[name]
    without = "" if origin == "flag" else f"   or, for answers quoted from your files: {settings.how_to_unset(name)}"
    need = f"and {name} = {settings.get(name)!r} ({origin}) needs one"
    return ServerDown(f"{error}, {need}", hint=f"{error.hint}{without}")


def _no_model_named(settings: Settings) -> None:
    for name in ("model", "profile"):
        if settings.origin[name] == "flag":
            raise UsageError(
                f"the extractive engine ({settings.origin['engine']}) has no language model: --{name} is for Ollama",
                hint=f"local-rag … --engine ollama --{name} {settings.get(name)}",
            )


def roles(settings: Settings) -> tuple[Profile, dict[Role, OllamaModelSpec]]:
    """Return the profile in force, and the model of each role."""
    from local_rag.config.models import ROLES, load_models, total_memory

    models = load_models(settings)
    profile = models.profile(settings.values.profile, total_memory())
    return profile, {role: models.spec(settings.values.model or profile.model_for(role)) for role in ROLES}


def open_ollama(
    settings: Settings,
    patience: float | None = None,
    evaluator: Evaluator | None = None,
    assessor: ExtractiveEngine | None = None,
    *,
    trial: bool = False,
) -> OllamaEngine:
    """Return the engine on the configured server and models; for a `trial` the model always grades passages.

    Raise as `choose_engine` does for named models.
    """
    from local_rag.core.address import address, probe

    probe(address(settings.values.ollama.host))
    from local_rag.engines.ollama.engine import OllamaEngine

    profile, specs = roles(settings)
    texts = prompt_texts(settings)
    server = open_server(settings, patience)
    try:
        values = settings.values
        ollama = values.ollama.by_model if trial else values.ollama
        return OllamaEngine(
            server,
            specs,
            profile.num_ctx,
            ollama,
            explain=values.explain,
            texts=texts,
            evaluator=evaluator,
            assessor=assessor,
        )
    except LocalRagError as error:
        try:
            raise _with_others(error, server, trial) if isinstance(error, ModelMissing) else error
        finally:
            server.close()


def open_openai(
    settings: Settings,
    evaluator: Evaluator | None = None,
    assessor: ExtractiveEngine | None = None,
    *,
    trial: bool = False,
) -> OpenAIEngine:
    """Return the engine on the server of `openai.base_url`; raise as `choose_engine` does."""
    from local_rag.config.models import OllamaModelSpec, load_models
    from local_rag.engines.openai.engine import OpenAIEngine
    from local_rag.engines.openai.server import OpenAIApi

    values = settings.values
    known = load_models(settings).openai.get(values.model, OllamaModelSpec())
    ollama = values.ollama.by_model if trial else values.ollama
    server = OpenAIApi(values.openai.base_url, values.openai.allow_hosts)
    try:
        spec = known.model_copy(update={"name": values.model})
        return OpenAIEngine(
            server,
            spec,
            ollama,
            explain=values.explain,
            texts=prompt_texts(settings),
            evaluator=evaluator,
            assessor=assessor,
        )
    except LocalRagError:
        server.close()
        raise


def open_language_model(
    settings: Settings, *, trial: bool = False, patience: float | None = None
) -> OllamaEngine | OpenAIEngine:
    """Return the engine on the server that the settings name; raise as `choose_engine` does."""
    if settings.values.engine == "openai":
        return open_openai(settings, trial=trial)
    return open_ollama(settings, patience, trial=trial)


def _with_others(error: ModelMissing, server: OllamaApi, trial: bool) -> ModelMissing:
    """Return the error, with the models that the server has instead."""
    others = [model.name for model in server.installed() if not model.remote_host]
    if not others:
        return error
    other = f"local-rag models try {others[0]}" if trial else f"--model {others[0]}"
    return ModelMissing(f"{error}; it has {joined(others)}", hint=f"{error.hint}   or   {other}")


FILE = "prompts.yaml"
ARGUMENT = "prompts"
"""The origin of a text that a program gives to `Rag.open`."""


def prompt_file(settings: Settings) -> Path:
    """Return the path of a person's own prompt texts, even if the file does not exist."""
    return settings.config_folder / FILE


def prompt_texts(settings: Settings) -> PromptTexts:
    """Return the prompt texts in force.

    Raise ConfigError for a file that is not YAML, an unknown name, and a text that a prompt cannot contain; raise
    ConfigUnreadable for a file that cannot be read.
    """
    path = prompt_file(settings)
    kept = of_person(read_yaml(path), str(path)) if path.exists() or path.is_symlink() else PromptTexts()
    given = of_person(settings.prompts, ARGUMENT)
    return PromptTexts({**kept.replacements, **given.replacements}, {**kept.origin, **given.origin})
