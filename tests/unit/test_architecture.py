"""Test that packages import only lower ones, and that libraries are imported only where they belong."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import local_rag

PACKAGE = Path(local_rag.__file__).parent

LAYERS = "core text config index engines web graphs runtime evaluation bundle diagnostics server terminal cli".split()
"""The packages in order: each imports only from those before it, and from itself."""

NOWHERE = """pgvector safetensors openvino_telemetry matplotlib scipy pickle requests urllib3 urllib.request
http.client aiohttp primp""".split()
HOME_OF = dict.fromkeys(NOWHERE, "") | {
    "langgraph": "graphs runtime",
    "langsmith": "engines/calls index/langchain runtime/langchain_tool runtime/langgraph_server runtime/run",
    "faiss": "index/store/sqlite/vectors",
    "psycopg": "index/store/postgres",
    "psycopg_pool": "index/store/postgres",
    "sqlite3": "bundle/create core/private_files index runtime/history runtime/history_file",
    "sentence_transformers": "index/embed",
    "tokenizers": "engines/evaluator index/embed",
    "transformers": "index/embed",
    "torch": "index/embed/encoders",
    "onnxruntime": "engines/evaluator/evaluator",
    "openvino": "index/embed",
    "watchfiles": "runtime/watching",
    "pathspec": "index/sync/ignore",
    "typer": "cli",
    "fastapi": "server",
    "starlette": "server",
    "uvicorn": "server",
    "anyio": "server",
    "mcp": "server/mcp_endpoint server/mcp_server",
    "markdown_it": "index/parse/prose text/nodes text/rendering",
    "jinja2": "evaluation/page",
    "dateutil": "index/parse/calendars",
    "icalendar": "index/parse/calendars",
    "oxmsg": "index/parse/mail",
    "pptx": "index/parse/office",
    "python_calamine": "index/parse/sheets",
    "striprtf": "index/parse/office",
    "rapidocr": "index/parse/ocr",
    "PIL": "index/parse/ocr index/parse/pdf_page",
    "httpx": "engines/ollama engines/openai web/fetch",
    "ddgs": "web/ddgs_child",
    "local_rag.engines.extractive": "engines runtime/engine_choice",
    "local_rag.engines.evaluator": "bundle/create diagnostics/doctor engines runtime/opening",
    "ollama": "engines/ollama/server",
    "langchain_ollama": "engines/ollama",
}
"""The only modules and packages that may import a library, or an engine that is built there."""


def imports(node, at_run_time=True):
    """Yield (name, whether it is imported at run time) of everything imported, at the top and inside of functions.

    Only statements are looked into, since expressions import nothing. `from a import b` is the name a.b.
    """
    if isinstance(node, ast.Import):
        yield from ((alias.name, at_run_time) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "absolute imports only"
        yield from ((f"{node.module}.{alias.name}", at_run_time) for alias in node.names)
    only_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for inner in getattr(node, name, ()):
            yield from imports(inner, at_run_time and not (only_types and name == "body"))


@pytest.fixture(scope="module")
def modules():
    """Return what every module imports, by its name."""
    names = {path: path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py")}
    return {name.removesuffix("/__init__"): [*imports(ast.parse(path.read_text()))] for path, name in names.items()}


def test_imports_only_go_down(modules):
    for module, imported in modules.items():
        package = module.split("/")[0]
        for name, _ in imported if package in LAYERS else ():
            assert name != "local_rag" or package == "cli", f"{module} imports what lies above it, by way of local_rag"
            other = name.removeprefix("local_rag.").split(".")[0] if name.startswith("local_rag.") else package
            if other not in (package, "__version__"):
                assert LAYERS.index(other) < LAYERS.index(package), f"{module} imports {name}, which lies above it"


def test_no_module_imports_itself_by_way_of_others(modules):
    above = {
        module: {
            path if (path := name.removeprefix("local_rag.").replace(".", "/")) in modules else path.rpartition("/")[0]
            for name, at_run_time in imported
            if at_run_time
        }
        & modules.keys() - {module}
        for module, imported in modules.items()
    }
    TopologicalSorter(above).prepare()  # raises CycleError, which names the circle


def test_the_evaluator_needs_no_engine(modules):
    for module, imported in modules.items():
        for name, _ in imported if module.startswith("engines/evaluator/") else ():
            assert not name.startswith("local_rag.engines.") or name.startswith("local_rag.engines.evaluator"), module


def test_nothing_lies_loose_and_every_package_has_its_layer():
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(LAYERS)


def test_libraries_stay_where_they_belong(modules):
    for module, imported in modules.items():
        for name, _ in imported:
            for library, homes in HOME_OF.items():
                if f"{name}.".startswith(f"{library}."):
                    at_home = any(f"{module}/".startswith(f"{home}/") for home in homes.split())
                    assert at_home, f"{module}: {name}"


def test_the_public_names_are_there():
    for name in local_rag.__all__:
        assert getattr(local_rag, name)
    assert set(local_rag.__all__) <= set(dir(local_rag))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        local_rag.nothing  # noqa: B018
