"""Names of models: which send a prompt away, and which mean the same model."""

from __future__ import annotations

from collections.abc import Collection

from local_rag.core.errors import NotLocal


def is_cloud_name(model: str) -> bool:
    """Whether a name alone sends the prompt to ollama.com: its tag is `cloud` or ends in `-cloud`, in any case."""
    tag = model.rpartition(":")[2].strip().casefold() if ":" in model else ""
    return tag == "cloud" or tag.endswith("-cloud")


def check_name(model: str, allowed: Collection[str]) -> None:
    """Raise NotLocal for a cloud model by its name, unless that name is allowed. Nothing has been asked yet."""
    check_remote(model, "ollama.com" if is_cloud_name(model) else "", allowed)


def check_remote(model: str, remote_host: str, allowed: Collection[str]) -> None:
    """Raise NotLocal for an installed model that answers from elsewhere, unless its name is allowed."""
    if remote_host and model not in allowed:
        raise NotLocal(
            f"the model {model} would send your question and passages to {remote_host}, so it was not asked",
            hint="local-rag models shows those that run here; LOCAL_RAG_OLLAMA_ALLOW_CLOUD=NAME allows one by name",
        )


def same_model(first: str, second: str) -> bool:
    """Whether two names mean one model: a name without a tag means `:latest`."""
    return _tagged(first) == _tagged(second)


def _tagged(name: str) -> str:
    short = name.strip().casefold().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return short if ":" in short.rpartition("/")[2] else f"{short}:latest"
