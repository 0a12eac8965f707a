"""Test that the links and names in the documentation exist, and that the commands that it shows run.

A block below `<!-- not run: REASON -->` needs a server, the network, hours or a person: its commands are only parsed.
"""

import importlib.util
import re
import shlex
import shutil
import subprocess
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
NAMES_CODE = ("decisions", "design", "measurements", "serve")
FENCED = re.compile(r"^(<!-- not run: [^\n]* -->\n)?```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@cache
def script():
    spec = importlib.util.spec_from_file_location("update_docs", ROOT / "scripts" / "update_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BLOCKS = [block for text in PAGES.values() for block in script().BLOCK.finditer(text)]


def written(page):
    """Return a page without its generated blocks."""
    return script().BLOCK.sub("", PAGES[page])


def inline(page):
    """Return the code spans of a page, outside of its fenced blocks."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", FENCED.sub("", written(page)))]


# --- what a page links to and names


@pytest.mark.parametrize("page", PAGES)
def test_links_into_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)", PAGES[page]):
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), target


def anchors(text):
    """Return the names that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.group("what"))
def test_generated_blocks_are_up_to_date(block):
    assert block.group() == script().updated(block.group()), "run: python scripts/update_docs.py"


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_and_setting_exists(page):
    from local_rag.config.settings import CACHE_DIR, CONFIG_DIR, DATA_DIR, DEBUG, MODELS, names, variable

    known = {*map(variable, names()), CACHE_DIR, CONFIG_DIR, DATA_DIR, DEBUG, MODELS}
    assert set(re.findall(r"LOCAL_RAG_[A-Z_]+", PAGES[page])) <= known
    sections = {name.partition(".")[0] for name in names() if "." in name}
    for span in inline(page):
        setting = re.match(rf"(?:{'|'.join(sections)})\.(?!sqlite|usage|text|status)\w+(?=$|:)", span)
        assert not setting or setting.group() in names(), f"there is no setting {span}"


@cache
def sources():
    """Return the words of all programs, and the files of the package."""
    programs = (path for folder in ("local_rag", "scripts", "tests") for path in (ROOT / folder).rglob("*.py"))
    words = {word for path in programs for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    files = [f"/{path.relative_to(ROOT / 'local_rag').as_posix()}" for path in (ROOT / "local_rag").rglob("*.*")]
    return words, files


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", *(f"docs/{name}.md" for name in NAMES_CODE)])
def test_files_and_names_that_a_page_gives_exist(page):
    words, files = sources()
    for span in inline(page):
        if re.fullmatch(r"[\w./-]+/|[\w./-]+\.(py|md|yaml)|(tests|scripts|docs)/[\w/]+", span):
            path = span.replace("NAME", "crag")
            known = any((ROOT / below / path).exists() for below in ("", "local_rag", "tests"))
            assert known or any(file.endswith(f"/{path}") for file in files), f"there is no {span}"
        elif re.fullmatch(r"(\w+\.)*\w*(_|[a-z][A-Z]|[A-Z]{3})\w*", span):
            assert span.rpartition(".")[2] in words, f"there is no {span}"


def test_contributing_draws_every_package():
    drawing = re.search(r"^local_rag/\n(.*?)^```", PAGES["CONTRIBUTING.md"], re.MULTILINE | re.DOTALL).group(1)
    drawn = {line.split()[0].strip("/") for line in drawing.splitlines()}
    package = ROOT / "local_rag"
    assert {path.parent.name for path in package.glob("*/__init__.py")} <= drawn
    for name in drawn:
        assert any(path.is_dir() for path in package.rglob(name)), name


# --- what a reader types


def typed(page, *, run):
    """Yield the words after local-rag of each command of a page: of those that run, or of all."""
    blocks = FENCED.findall(written(page))  # with a language they are what a command shows, or programs
    lines = [(line, not marked and not language) for marked, language, block in blocks for line in block.splitlines()]
    for line, runs in lines if run else [*lines, *((span, False) for span in inline(page))]:
        command = re.match(r"(?:\$ |\S+=\S+ |unshare -rn )*(?:\S+/bin/)?local-rag (.*)", line)
        if command and (runs or not run):
            words = shlex.split(command.group(1), comments=True)
            yield [word.replace("~/", f"{Path.home()}/") for word in takewhile(lambda word: word not in "<|", words)]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_parses(page):
    from local_rag.cli.options import with_web

    known = script().commands()
    for given in typed(page, run=False):
        words = with_web([word for word in given if word not in ("--help", "--debug")])
        name = max((name for name in known if words[: len(name.split())] == name.split()), key=len)
        words = words[len(name.split()) :]
        if name == "eval" and words:
            name = "eval run"
        assert name or not words, f"there is no command {words[0]}"
        if words and not hasattr(known[name], "commands"):  # without words a command is only mentioned
            known[name].make_context(name, words)


FILES = {
    "notes/lease.md": "---\ndate: 2024-07-01\n---\n# Lease\n\nThe lease of the flat ends on 31 March 2027.\n\n"
    "The notice period of the lease is three months.\n\n## Deposit\n\nThe deposit of the flat is two rents.\n",
    "notes/pool.md": "# Rules for the pool\n\nThese rules hold for the pool:\n\n- No glass.\n- No running.\n",
    "notes/roof.eml": "From: Ann Lee <ann@example.org>\nDate: Thu, 4 May 2023 10:00:00 +0000\nSubject: The roof\n\n"
    "We agreed that the roof is repaired before winter.\n",
    "papers/old.md": "# Paint\n\nThe paint of the kitchen is white.\n",
    "saved-pages/hyde.html": "<title>HyDE</title><p>In place of the question HyDE embeds a hypothetical document.</p>",
}


@pytest.fixture
def person(home, converted, monkeypatch):
    """Be a person in a folder with some files, which are indexed."""
    from local_rag.cli.app import run

    for name, text in FILES.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text)
    monkeypatch.chdir(home)
    monkeypatch.syspath_prepend(home)
    assert run(["index", "notes", "papers"]) == 0


LONG = [
    pytest.param(f"docs/{name}.md", marks=pytest.mark.slow) for name in ("asking", "indexing", "python", "evaluation")
]


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("page", ["README.md", "docs/privacy.md", *LONG])
def test_the_commands_and_programs_of_a_page_run(page, capsys):
    from local_rag.cli.app import run

    for words in typed(page, run=True):
        if words and words[0] not in ("serve", "chat"):  # which go on until somebody ends them
            assert run(words) in (0, 3, 4), f"{words}: {capsys.readouterr().err}"
    names = {}
    for marked, language, block in FENCED.findall(PAGES[page]):
        if language == "python" and not marked:
            module = re.match(r"# (\w+\.py)\n", block)
            if module:
                Path(module.group(1)).write_text(block)
            else:
                exec(block, names)


def test_the_answers_that_the_readme_shows_come_true(home, converted, monkeypatch, capsys):
    from local_rag.cli.app import run

    monkeypatch.chdir(ROOT / "docs" / "examples")
    assert run(["index", "flat", "bills", "handbook"]) == 0
    shown = re.findall(r"^```text\n\$ local-rag ([^\n]*)\n(.*?)^```", PAGES["README.md"], re.MULTILINE | re.DOTALL)
    assert shown
    for command, answer in shown:
        capsys.readouterr()
        assert run(shlex.split(command)) == 0
        assert capsys.readouterr().out == answer


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
def test_systemd_takes_the_unit(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (unit,) = re.findall(r"```ini\n(.*?)```", (ROOT / "docs/serve.md").read_text(), re.DOTALL)
    assert "local-rag serve --watch" in unit
    program = tmp_path / "local-rag"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = tmp_path / "local-rag.service"
    file.write_text(unit.replace("%h/local-rag/.venv/bin/local-rag", str(program)))
    verified = subprocess.run(["systemd-analyze", "--user", "verify", file], capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")
