"""Provide the shipped evaluator, and copies of it that a test can damage."""

import hashlib
import json
import os
import shutil
from functools import cache

from langchain_core.documents import Document

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.engines.evaluator.evaluator import find
from local_rag.runtime.opening import open_evaluator


@cache
def shipped_evaluator():
    """Return the evaluator of the default settings, in the cache of this run, or None if its weights are missing."""
    evaluator, _ = open_evaluator(Settings.load())
    return evaluator


def files_of(name):
    """Return the files of an evaluator that the settings know."""
    return find(name, load_models(Settings.load()), None)


def own_evaluator(home, name="mine"):
    """Copy the shipped evaluator to its own folder, which the models.yaml of this home names."""
    settings = Settings.load()
    folder = home / "evaluators" / name
    shutil.copytree(files_of("minilm").folder, folder, copy_function=os.symlink)
    settings.config_folder.mkdir(parents=True, exist_ok=True)
    (settings.config_folder / "models.yaml").write_text(json.dumps({"evaluators": {name: {"path": str(folder)}}}))
    return folder


def rewrite(file, content):
    """Write other content in place of a link or a file."""
    file.unlink()
    file.write_bytes(content)


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def document(text, **about):
    return Document(text, metadata=about)
