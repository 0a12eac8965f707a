"""The packages keep their order, libraries stay where they belong, and importing does no work."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import local_rag

PACKAGE = Path(local_rag.__file__).parent

LAYERS = (
    "core",
    "text",
    "config",
    "index",
    "engines",
    "web",
    "graphs",
    "runtime",
    "evaluation",
    "bundle",
    "diagnostics",
    "terminal",
    "cli",
)
"""The packages in order: each imports only from those before it, and from itself."""

HOME_OF = {
    "langgraph": {"graphs", "runtime"},
    "langsmith": {"graphs/untraced", "index/retriever", "engines/ollama/call", "runtime/langchain_tool"},
    "faiss": {"index/store/quantized_vectors"},
    "sqlite3": {"index/store", "graphs/threads", "bundle/index_snapshot", "evaluation/folder"},
    "sentence_transformers": {"index/embed"},
    "tokenizers": {"index/embed"},
    "transformers": {"index/embed"},
    "torch": {"index/embed/converter"},
    "openvino": {"index/embed"},
    "openvino_telemetry": set(),
    "typer": {"cli"},
    "jinja2": {"evaluation/reports"},
    "matplotlib": {"evaluation/reports"},
    "scipy": {"evaluation/statistics"},
    "pickle": set(),
    "requests": set(),
    "httpx": {"engines/ollama", "web/fetch"},
    "urllib3": set(),
    "urllib.request": set(),
    "http.client": set(),
    "aiohttp": set(),
    "ddgs": {"web/ddgs_child"},
    "primp": set(),
    "ollama": {"engines/ollama/clients"},
    "langchain_ollama": {"engines/ollama"},
}
"""The only modules and packages that may import a library."""


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield (
            path.relative_to(PACKAGE).with_suffix("").as_posix().removesuffix("/__init__"),
            ast.parse(path.read_text()),
        )


def imports(tree):
    """Names of everything imported: at the top, inside of functions, and for type checking only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            if node.module == "local_rag":
                yield from (f"local_rag.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize(("module", "tree"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_only_go_down(module, tree):
    package = module.split("/")[0]
    if package in ("__init__", "__main__", ""):
        return
    for name in imports(tree):
        other = name.removeprefix("local_rag.").split(".")[0] if name.startswith("local_rag.") else package
        if other in (package, "__version__"):
            continue
        assert LAYERS.index(other) < LAYERS.index(package), f"{module} imports {name}, which lies above it"


def test_nothing_lies_loose_and_every_package_has_its_layer():
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(LAYERS)


@pytest.mark.parametrize(("module", "tree"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_libraries_stay_where_they_belong(module, tree):
    for name in imports(tree):
        for library, homes in HOME_OF.items():
            if name == library or name.startswith(f"{library}."):
                assert any(module == home or module.startswith(f"{home}/") for home in homes), f"{module}: {name}"


def loaded_by(code):
    """Names of the modules that a fresh Python has after running the code."""
    program = f"{code}\nimport sys; print(' '.join(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


HEAVY = {
    "torch",
    "sentence_transformers",
    "transformers",
    "faiss",
    "langgraph",
    "langchain_core",
    "numpy",
    "trafilatura",
}
NATIVE_CLIENTS = {"ddgs", "primp", "hf_xet", "openvino_telemetry"}


def test_importing_the_package_and_asking_for_help_load_nothing_heavy():
    assert not loaded_by("import local_rag") & (HEAVY | {"pydantic", "yaml", "sqlite3"})
    assert not loaded_by("from local_rag.cli.app import run; run(['--help'])") & HEAVY
    assert not loaded_by("from local_rag.cli.app import run; run(['config', 'show'])") & HEAVY


def test_the_public_names_are_there():
    for name in local_rag.__all__:
        assert getattr(local_rag, name)
    assert set(local_rag.__all__) <= set(dir(local_rag))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        local_rag.nothing  # noqa: B018


def test_files_and_functions_fit_a_screen():
    for module, tree in modules():
        lines = len((PACKAGE / f"{module}.py").read_text().splitlines()) if (PACKAGE / f"{module}.py").exists() else 0
        assert lines < 420, f"{module} has {lines} lines"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 50, f"{module}: {node.name}"
