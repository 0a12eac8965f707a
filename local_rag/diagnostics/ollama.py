"""Check Ollama, or another server: whether it has the model, whether that fits and obeys, and whether it calls out.

Nothing of a person's files is sent, only one tiny question about two made-up passages.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from packaging.version import InvalidVersion, Version

from local_rag.config.models import OllamaModelSpec, Profile, total_memory
from local_rag.config.settings import Settings
from local_rag.core.address import DOWNLOAD
from local_rag.core.errors import LocalRagError, ModelMissing, ServerDown
from local_rag.diagnostics.check import Check, CheckState, guarded
from local_rag.diagnostics.models import TIGHT, find_model, fits_memory, needed_memory
from local_rag.engines.language_model.engine import LanguageModelEngine
from local_rag.engines.language_model.window import ModelSetup
from local_rag.engines.ollama.engine import HARMONY, OllamaEngine, model_setup
from local_rag.engines.ollama.server import Installed, Loaded, ModelInfo, OllamaApi, check_name
from local_rag.runtime.engine_choice import QUICK, named, needed_by, open_openai, roles
from local_rag.runtime.opening import open_server
from local_rag.text.display import format_bytes, joined

QUOTING = "the extractive engine answers instead: it quotes your files and writes nothing of its own"
SMALLER = "local-rag models   shows which models fit; take one with LOCAL_RAG_MODEL=NAME or in models.yaml"

NO_CLOUD = {
    "linux": 'Linux: sudo systemctl edit ollama   with the lines [Service] and Environment="OLLAMA_NO_CLOUD=1"; then '
    "sudo systemctl restart ollama",
    "darwin": "macOS: launchctl setenv OLLAMA_NO_CLOUD 1   then quit Ollama and start it again (lasts until a reboot)",
    "win32": "Windows: setx OLLAMA_NO_CLOUD 1   then quit Ollama in the tray and start it again",
}
"""How to keep the server from calling out, by sys.platform (docs.ollama.com/faq)."""
NO_CLOUD_FILE = 'anywhere: {"disable_ollama_cloud": true} in .ollama/server.json in the home folder of who runs Ollama'


@dataclass(frozen=True)
class _Context:
    """Hold what all checks of a model need.

    `worse` is the state of a check when a model cannot be used; `untried` collects the models that must not be asked.
    """

    settings: Settings
    profile: Profile
    server: OllamaApi
    version: str
    installed: tuple[Installed, ...]
    loaded: tuple[Loaded, ...]
    worse: CheckState
    untried: set[str] = field(default_factory=set)


def ollama_checks(settings: Settings) -> Iterator[Check]:
    """Check everything about the language model; with `auto` a missing server is a note, unless it was named."""
    if settings.values.engine == "extractive":
        yield Check("engine", "ok", "extractive: it quotes your files and needs no language model")
        return
    if settings.values.engine == "openai":
        yield from _other_server(settings)
        return
    must = settings.values.engine == "ollama" or bool(named(settings))
    worse: CheckState = "bad" if must else "note"
    profile, specs = roles(settings)
    try:
        server = open_server(settings, None if must else QUICK)
    except LocalRagError as error:
        yield _useless("Ollama", worse, error)
        return
    with closing(server):
        try:
            version, installed, loaded = server.version(), server.installed(), server.loaded()
        except LocalRagError as error:
            yield _useless("Ollama", worse, needed_by(settings, error), _pull(settings, profile, error))
            return
        yield Check("Ollama", "ok", f"{version} at {server.address}")
        yield from guarded("Ollama cloud", lambda: [cloud_check(server)])
        context = _Context(settings, profile, server, version, tuple(installed), tuple(loaded), worse)
        for spec in {spec.name: spec for spec in specs.values()}.values():
            yield from guarded(f"model {spec.name}", _model, context, spec)
        if not context.untried:
            engine = OllamaEngine(server, specs, profile.num_ctx, settings.values.ollama.by_model)
            yield from guarded("schema", _schema, engine)


def _other_server(settings: Settings) -> Iterator[Check]:
    """Check everything about the model of a server of `engine: openai`."""
    try:
        engine = open_openai(settings, trial=True)
    except LocalRagError as error:
        yield Check("server", "bad", str(error), error.hint)
        return
    with closing(engine):
        (setup,) = engine.models
        yield Check("server", "ok", f"{setup.model} at {engine.server}; whether it asks others in turn it does not say")
        if engine.told:
            yield Check("model window", "ok", f"{setup.num_ctx:,} of the {engine.told:,} tokens that the server tells")
        else:
            details = f"the server does not say how many tokens it reads; {setup.num_ctx:,} are used"
            line = f'in your models.yaml: openai: {{models: {{"{setup.model}": {{num_ctx: 8192}}}}}}'
            yield Check("model window", "note", details, line)
        yield from guarded("schema", _schema, engine)


def _pull(settings: Settings, profile: Profile, error: LocalRagError) -> str:
    """Return what to type once a server answers."""
    if not isinstance(error, ServerDown):
        return ""
    if model := settings.values.model:
        return f"then: local-rag models pull {shlex.quote(model)}"
    return f"then: local-rag models pull   (downloads {joined(profile.models)})"


def _useless(name: str, worse: CheckState, error: LocalRagError, more: str = "") -> Check:
    details = str(error) if worse == "bad" else f"{error}; {QUOTING}"
    return Check(name, worse, details, "\n".join(filter(None, (error.hint, more))))


# --- the server -----------------------------------------------------------------------------------------------------


def cloud_check(server: OllamaApi) -> Check:
    """Check whether the server may call its maker by itself."""
    cloud = server.cloud()
    if cloud.disabled:
        details = f"switched off ({cloud.source or 'by its settings'}): Ollama contacts no other machine"
        return Check("Ollama cloud", "ok", details)
    details = "Ollama itself may call ollama.com: 0.33 asks for cloud models at its start and every four hours"
    if cloud.disabled is None:
        details = "this Ollama does not say whether it may call ollama.com by itself"
    return Check("Ollama cloud", "note", details, no_cloud())


def no_cloud(platform: str = sys.platform) -> str:
    """Return how to switch the cloud off, this system's way first."""
    first = [NO_CLOUD[platform]] if platform in NO_CLOUD else []
    return "\n".join([*first, *(how for system, how in NO_CLOUD.items() if system != platform), NO_CLOUD_FILE])


# --- a model --------------------------------------------------------------------------------------------------------


def _model(context: _Context, spec: OllamaModelSpec) -> Iterator[Check]:
    """Check whether a model is installed, runs here and fits, and report how it is used."""
    ollama = context.settings.values.ollama
    there = find_model(spec.name, context.installed)
    context.untried.add(spec.name)
    try:
        check_name(spec.name, ollama.allow_cloud)
        info = context.server.show(spec.name)
        setup = model_setup(context.server, spec, context.profile.num_ctx, ollama)
    except LocalRagError as error:
        others = [model.name for model in context.installed if not model.remote_host]
        other = f"or use what is installed: LOCAL_RAG_MODEL={others[0]}   ({joined(others)})" if others else ""
        yield _useless("model", context.worse, error, other if isinstance(error, ModelMissing) else "")
        return
    if info.remote_host:
        details = (
            f"{spec.name} answers from {info.remote_host}, because you allowed it: questions and passages go there"
        )
        yield Check("model", "note", details, f"take {spec.name} out of the setting ollama.allow_cloud")
        return
    build = ", ".join(filter(None, (there.parameters, there.quantization))) if there else ""
    yield Check("model", "ok", f"{spec.name} is installed{f' ({build})' if build else ''}")
    memory, does_fit = _memory(context, spec, there)
    yield memory
    yield _window(context, spec, info)
    yield _thinking(setup, info)
    base, _, tag = spec.name.rpartition(":")
    mlx = "mlx" in tag.casefold()
    yield from _versions(context.version, spec, setup, info, mlx)
    if mlx:
        details = f"{spec.name} is an MLX build: these may never end a reply that must have a form (Ollama issue 18567)"
        yield Check("model build", "note", details, f"local-rag models pull {base}   is the usual build")
    if does_fit:
        context.untried.remove(spec.name)


def _memory(context: _Context, spec: OllamaModelSpec, there: Installed | None) -> tuple[Check, bool]:
    """Check the memory that the model needs, and return whether it may be tried."""
    name, memory = "model memory", total_memory()
    need = needed_memory(spec, there.size if there else 0)
    fits = fits_memory(need, memory)
    if memory is None or fits == "unknown":
        return Check(name, "note", f"how much memory {spec.name} takes, or this machine has, is not known"), True
    details = f"{spec.name} takes about {format_bytes(need)} of this machine's {format_bytes(memory)}"
    if fits == "yes":
        return Check(name, "ok", details), True
    if fits == "tight":
        return Check(name, "note", f"{details}, more than {TIGHT:.0%}: close other programs", SMALLER), True
    if find_model(spec.name, context.loaded):
        return Check(name, "note", f"{details}; it is loaded now, so see whether it is quick enough", SMALLER), True
    details += ", so it was not tried; only a graphics card with enough memory of its own could run it"
    return Check(name, context.worse, details, SMALLER), False


def _window(context: _Context, spec: OllamaModelSpec, info: ModelInfo) -> Check:
    wanted = spec.num_ctx or context.profile.num_ctx
    if info.window is None:
        details = f"{spec.name} does not say for how many tokens it was trained; {wanted:,} are used"
        return Check("model window", "note", details)
    if info.window < wanted:
        details = f"{spec.name} was trained for {info.window:,} tokens, so num_ctx is lowered to that from {wanted:,}"
        return Check("model window", "note", details, _line(spec.name, f"num_ctx: {info.window}"))
    return Check("model window", "ok", f"{wanted:,} of the {info.window:,} tokens that {spec.name} was trained for")


def _thinking(setup: ModelSetup, info: ModelInfo) -> Check:
    sent = f"it is sent think: {str(setup.think).lower()}"
    can = "thinking" in info.capabilities
    if setup.think and not can:
        details = f"{setup.model} cannot think, but {sent}, which Ollama refuses"
        return Check("thinking", "bad", details, _line(setup.model, "think: false"))
    if not setup.think and (info.family in HARMONY or "gpt-oss" in setup.model):
        details = f"{sent}, and then {setup.model} loses its verdicts"
        return Check("thinking", "bad", details, _line(setup.model, "think: low"))
    return Check("thinking", "ok", f"{setup.model} {'can think' if can else 'does not think'}; {sent}")


def _versions(version: str, spec: OllamaModelSpec, setup: ModelSetup, info: ModelInfo, mlx: bool) -> Iterator[Check]:
    """Check whether anything that this model is used for needs a newer Ollama."""
    families = (spec.name, info.family)
    gemma4 = any(each.startswith("gemma4") for each in families)
    needs = [
        (spec.requires, spec.name),
        ("0.21.1" if gemma4 else "0.24", "the form of its verdicts with think: false (Ollama issues 14645, 15260)")
        if "thinking" in info.capabilities and not setup.think
        else ("", ""),
        ("0.24" if setup.think == "max" else "", "think: max (Ollama issue 15787)"),
        ("0.34" if mlx else "", "the form of replies of an MLX build (Ollama issue 17929)"),
    ]
    try:
        there = Version(version)
    except InvalidVersion:  # a custom build
        return
    for least, what in needs:
        if least and there < Version(least):
            details = f"{what} needs Ollama {least} or newer, and this is {version}"
            yield Check("Ollama version", "bad", details, f"install a newer Ollama from {DOWNLOAD}")


def _line(model: str, keys: str) -> str:
    """Return a line for models.yaml."""
    return f'in your models.yaml: ollama: {{models: {{"{model}": {{{keys}}}}}}}'


# --- a real call ----------------------------------------------------------------------------------------------------

QUESTION = "What colour is the door?"
PASSAGES = ("The door is painted green.", "Rain is expected on Thursday.")


def _schema(engine: LanguageModelEngine) -> Iterator[Check]:
    """Check the form of the replies in one tiny grading call."""
    from langchain_core.documents import Document

    started = time.perf_counter()
    verdicts = engine.relevance(QUESTION, [Document(text, metadata={"source": ""}) for text in PASSAGES])
    took = f"{time.perf_counter() - started:.1f} s"
    usages = [verdict.usage for verdict in verdicts]
    loading = sum(call.load_seconds for usage in usages for call in usage.log if call.loaded)
    if loading:
        took += f", {loading:.1f} of them loading the model"
    name = engine.setups["grader"].model
    if any(usage.unparsed for usage in usages):
        why = next((verdict.why for verdict in verdicts if verdict.why), "")
        details = f"{name} gave no usable verdict on two passages, at the second try either ({took}): {why}"
        yield Check("schema", "bad", details, f"local-rag models try {name}\nlocal-rag models   lists others")
    elif any(usage.retries for usage in usages):
        notes = [note for usage in usages for note in usage.notes]
        details = "; ".join([f"{name} kept to the form of a verdict only at the second try ({took})", *notes])
        yield Check("schema", "note", details, f"local-rag models try {name}")
    else:
        yield Check("schema", "ok", f"{name} kept to the form of a verdict at the first try ({took})")
