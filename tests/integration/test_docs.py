"""What the pages of the documentation say of commands, settings, graphs and files is what the code has."""

from __future__ import annotations

import importlib.util
import re
import shlex
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *sorted((ROOT / "docs").glob("*.md")),
    )
}
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@cache
def script():
    spec = importlib.util.spec_from_file_location("update_docs", ROOT / "scripts" / "update_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BLOCKS = [block for text in PAGES.values() for block in script().BLOCK.finditer(text)]


def written(text):
    """A page without its generated blocks."""
    return script().BLOCK.sub("", text)


def inline(text):
    """The code spans of a page, outside of its fenced blocks."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", FENCED.sub("", written(text)))]


# --- the pages and their links


@pytest.mark.parametrize(("page", "limit"), [("README.md", 250), ("CONTRIBUTING.md", 200)])
def test_a_page_is_short(page, limit):
    assert len(PAGES[page].splitlines()) <= limit


@pytest.mark.parametrize("page", PAGES)
def test_links_into_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)", PAGES[page]):
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), target


def anchors(text):
    """The names that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_leads_to_every_page():
    assert {page for page in PAGES if page != "README.md"} <= set(re.findall(r"\]\(([^)#\s]+)\)", PAGES["README.md"]))


# --- what is generated


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.group("what"))
def test_generated_blocks_are_up_to_date(block):
    expected = script().updated(block.group())
    assert block.group() == expected, "run: python scripts/update_docs.py"


def test_each_graph_and_each_command_is_documented():
    from local_rag.graphs import GRAPHS

    documented = {block.group("what") for block in BLOCKS}
    assert {f"graph {name}" for name in GRAPHS} | {"settings"} <= documented
    assert {f"help {name}".strip() for name in script().commands()} <= documented


# --- what is written by hand


def command_lines():
    """(page, command line) of everything that a page tells its reader to type after local-rag."""
    for page, text in PAGES.items():
        fenced = [line for block in FENCED.findall(written(text)) for line in block.splitlines()]
        for line in [*fenced, *inline(text)]:
            typed = re.match(r"(?:\$ |\S+=\S+ |unshare -rn )*(?:\S+/bin/)?local-rag (.*)", line)
            if typed:
                yield page, typed.group(1)


@pytest.mark.parametrize(("page", "line"), sorted(set(command_lines())))
def test_every_command_line_parses(page, line):
    from local_rag.cli.options import with_web

    words = [word for word in shlex.split(line, comments=True) if word not in ("--help", "--debug")]
    words = with_web(list(takewhile(lambda word: word not in ("<", "|"), words)))
    known = script().commands()
    name = max((name for name in known if words[: len(name.split())] == name.split()), key=len)
    words = words[len(name.split()) :]
    if name == "eval" and words:
        name = "eval run"
    assert name or not words, f"{page}: there is no command {words[0]}"
    if words and not hasattr(known[name], "commands"):  # without words a command is only mentioned
        known[name].make_context(name, words)


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_and_setting_exists(page):
    from local_rag.config.settings import CACHE_DIR, CONFIG_DIR, DATA_DIR, DEBUG, MODELS, names, variable

    known = {*map(variable, names()), CACHE_DIR, CONFIG_DIR, DATA_DIR, DEBUG, MODELS}
    assert set(re.findall(r"LOCAL_RAG_[A-Z_]+", PAGES[page])) <= known
    sections = {name.partition(".")[0] for name in names() if "." in name}
    for span in inline(PAGES[page]):
        setting = re.match(rf"(?:{'|'.join(sections)})\.(?!sqlite|usage|text|status)\w+(?=$|:)", span)
        assert not setting or setting.group() in names(), f"there is no setting {span}"


def test_the_table_of_profiles_is_that_of_models_yaml():
    from local_rag.config.models import load_models
    from local_rag.config.settings import Settings

    models = load_models(Settings.load())
    lines = [line for line in PAGES["docs/ollama.md"].splitlines() if "gb` | `" in line]
    shown = [tuple(cell.strip(" `") for cell in line.split("|")[1:5]) for line in lines]
    assert shown == [
        (name, profile.model, f"{models.spec(profile.model).download:g} GB", f"{profile.num_ctx:,} tokens")
        for name, profile in models.profiles.items()
    ]
    for page in ("README.md", "docs/ollama.md"):
        assert f"ollama pull {models.profiles['16gb'].model} " in PAGES[page]
        assert f"pull `{models.profiles['32gb'].model}` instead" in PAGES[page]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/decisions.md", "docs/measurements.md"])
def test_files_and_names_that_a_page_gives_exist(page):
    source = "\n".join(path.read_text(encoding="utf-8") for path in sources())
    files = [path.relative_to(ROOT / "local_rag").as_posix() for path in (ROOT / "local_rag").rglob("*.*")]
    for span in inline(PAGES[page]):
        if re.fullmatch(r"[\w./-]+/|[\w./-]+\.(py|md|yaml|json)|(tests|scripts|docs)/[\w/]+", span):
            path = span.replace("NAME", "crag")
            known = (ROOT / path).exists() or (ROOT / "local_rag" / path).exists()
            assert known or any(f"/{file}".endswith(f"/{path}") for file in files), f"there is no {span}"
        elif re.fullmatch(r"(\w+\.)*\w*(_|[a-z][A-Z]|[A-Z]{3})\w*", span):
            assert re.search(rf"\b{span.rpartition('.')[2]}\b", source), f"there is no {span}"


def test_contributing_draws_every_package():
    drawing = re.search(r"^local_rag/\n(.*?)^```", PAGES["CONTRIBUTING.md"], re.MULTILINE | re.DOTALL).group(1)
    drawn = {line.split()[0].strip("/") for line in drawing.splitlines()}
    package = ROOT / "local_rag"
    assert {path.parent.name for path in package.glob("*/__init__.py")} <= drawn
    for name in drawn:
        assert any(path.is_dir() for path in package.rglob(name)), name


def sources():
    return [path for folder in ("local_rag", "scripts", "tests") for path in (ROOT / folder).rglob("*.py")]
