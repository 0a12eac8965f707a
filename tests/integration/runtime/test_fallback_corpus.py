"""Test a fallback corpus in place of the web, with real folders, indexes and MiniLM; nothing leaves."""

import shutil
import threading
from contextlib import contextmanager

import pytest
from support.fakes_index import HashingEmbedder, remembering_minilm
from support.garden import enter, entered, put_back
from support.hostile import make_mhtml
from support.typed import Lines

from local_rag.config.settings import Settings
from local_rag.core.cancel import Cancel
from local_rag.core.errors import IndexMismatch, Stopped, UsageError
from local_rag.core.events import Retrieved, Started, WebQuery
from local_rag.core.progress import Silent
from local_rag.diagnostics import kept
from local_rag.index.index import Index
from local_rag.runtime.fallback_corpus import FOLDER, index_of_folder, open_fallback_corpus
from local_rag.runtime.history import History
from local_rag.runtime.rag import Rag
from local_rag.web.search import QUERY_LOG

pytestmark = pytest.mark.usefixtures("converted")

QUESTION = "How tall is the lighthouse of Skerryvore?"
TALL = "The lighthouse of Skerryvore is 48 metres tall."
NOTES = "The bakery in Mill Street opens at seven. Bread costs three euros. The owner is called Rosalind."
URL = "https://example.org/skerryvore"


def page(sentence, head=""):
    return f"<html><head><title>A page</title>{head}</head><body><p>{sentence}</p></body></html>"


def index(folder, name, embedder=None):
    with Index.open(Settings.load(index=name).index_path, embedder or remembering_minilm(), create=True) as made:
        made.sync([folder])


@pytest.fixture(scope="module")
def indexed(tmp_path_factory, converted):
    """Return a folder with a person's own notes, a saved page, and the indexes of both."""
    base = tmp_path_factory.mktemp("skerryvore") / "now"
    for name, text in (("notes/bakery.txt", NOTES), ("saved/lighthouse.html", SAVED["chromium.html"][0])):
        (base / name).parent.mkdir(parents=True)
        (base / name).write_text(text)
    with entered(base):
        index(base / "notes", "default")
        opened(base / "saved", remembering_minilm())[0].close()
    shutil.copytree(base, base.with_name("kept"))
    return base


@pytest.fixture
def saved(indexed, monkeypatch):
    """Be that person, and return the folder with the saved page."""
    put_back(indexed, indexed.with_name("kept"))
    enter(monkeypatch, indexed)
    monkeypatch.setenv("HOME", str(indexed / "data"))  # so that its path is shown as it is
    return indexed / "saved"


def opened(source, embedder=None, **flags):
    """Return the fallback corpus, with the lines that were shown."""
    display = Lines()
    settings = Settings.load(web__source=str(source), **flags)
    return open_fallback_corpus(settings, embedder or HashingEmbedder(window=250), display), display.said


def answered(graph="crag", **flags):
    with Rag.open(engine="extractive", **flags) as rag:
        events = list(rag.stream(QUESTION, graph=graph))
    return events[-1].answer, events


@pytest.mark.parametrize("graph", ["crag", "adaptive"])
def test_what_only_the_fallback_corpus_says_is_answered_from_it(saved, graph):
    answer, events = answered(graph, web__source=str(saved))
    assert answer.status == "grounded" and "48 metres" in answer.text
    assert (answer.used_web, answer.fallback_corpus) == (False, str(saved))
    (citation,) = answer.citations
    assert (citation.origin, citation.url, citation.fallback_corpus) == ("web", URL, str(saved))
    assert citation.source == str(saved / "lighthouse.html")
    assert TALL[citation.start : citation.end] == citation.quote
    assert not [event for event in events if isinstance(event, WebQuery)]
    assert any(isinstance(event, Started) and event.doing == f"searching {saved}" for event in events)
    assert not (saved.parent / "data" / QUERY_LOG).exists()


@pytest.mark.parametrize("stopped_by", ["the question", "the Rag"])
def test_stopping_ends_the_indexing_of_its_folder(saved, stopped_by):
    class Stopping(Silent):
        @contextmanager
        def progress(self, doing=""):
            yield lambda share, line: cancel.stop() if stopped_by == "the question" else rag.stop()

    for number in range(40):
        (saved / f"{number}.html").write_text(page(f"Lamp {number} is lit."))
    cancel = Cancel()
    with Rag.open(engine="extractive", web__source=str(saved), display=Stopping()) as rag, pytest.raises(Stopped):
        rag.stream(QUESTION, graph="crag", cancel=cancel)


def test_it_needs_no_consent_and_an_index_that_is_kept_from_the_web_has_one(saved):
    flags = {"web__source": str(saved), "web__enabled": "ask", "web__never": ["default"]}
    with Rag.open(engine="extractive", **flags) as rag:
        answer = rag.ask(QUESTION, graph="crag", may_search=lambda query: pytest.fail("nobody is asked"))
        first = rag.ask(QUESTION, graph="crag", thread="lamps")
        *events, done = rag.stream("And how old is it?", graph="crag", thread="lamps")
    assert answer.status == first.status == "grounded"
    assert done.answer.fallback_corpus and not done.answer.used_web
    queries = [event.query for event in events if isinstance(event, Retrieved)]
    assert "skerryvore" in queries[-1].casefold(), "the standalone question is searched for as it is"


@pytest.mark.slow
def test_a_second_index_by_its_name_and_by_its_path(saved):
    index(saved, "lamps")
    place = Settings.load(index="lamps").index_path
    by_name, _ = answered(web__source="lamps")
    by_path, _ = answered(web__source=str(place))
    assert by_name.fallback_corpus == by_path.fallback_corpus == "lamps"
    assert by_name.text == by_path.text and by_name.status == "grounded"
    with Index.open(place) as lamps:
        content = lamps.content()
    with History.open() as history:
        assert history.run(by_name.run).conditions["fallback_corpus"] == content
        assert len(history.runs(index=place)) == 2, "its runs go with a fallback corpus, too"


@pytest.mark.slow
def test_a_folder_is_indexed_once_and_only_what_changes_afterwards(saved):
    source, lines = opened(saved)
    assert lines == [f"fallback corpus {saved}: added {saved / 'lighthouse.html'}"]
    source.close()
    before = sorted(path.name for path in saved.iterdir())
    again, lines = opened(saved)
    assert lines == [] and before == sorted(path.name for path in saved.iterdir())
    again.close()
    (saved / "lighthouse.html").unlink()
    (saved / "boat.html").write_text(page("The boat comes on Monday."))
    last, lines = opened(saved)
    assert lines == [f"fallback corpus {saved}: added {saved / 'boat.html'}; removed {saved / 'lighthouse.html'}"]
    assert [found.page_content for found in last.search(QUESTION, 4).documents] == ["The boat comes on Monday."]
    last.close()


SAVED = {
    "chromium.html": (f"<!-- saved from url=(0030){URL} -->{page(TALL)}", URL),
    "single.html": (f"<!DOCTYPE html><!--\n Page saved with SingleFile \n url: {URL}\n-->{page(TALL)}", URL),
    "canonical.html": (page(TALL, f'<link rel="canonical" href="{URL}#top">'), URL),
    "graph.html": (page(TALL, f'<meta property="og:url" content="{URL}">'), URL),
    "both.html": (
        f"<!-- saved from url=(0030){URL} -->{page(TALL, '<link rel=canonical href=https://a.b/>')}",
        URL,
    ),
    "script.html": (page(TALL, '<link rel="canonical" href="javascript:alert(1)">'), ""),
    "relative.html": (page(TALL, '<link rel="canonical" href="/skerryvore">'), ""),
    "plain.html": (page(TALL), ""),
    "chromium.mhtml": (make_mhtml(f"<p>{TALL}</p>", URL).decode(), URL),
    "note.txt": (TALL, ""),
}


def test_a_saved_page_has_its_address_and_anything_else_its_path(tmp_path):
    for name, (data, _) in SAVED.items():
        (tmp_path / name).write_text(data.replace(TALL, f"{TALL} It is {name}."))
    source, _ = opened(tmp_path)
    found = {each.metadata["source"]: each for each in source.search(QUESTION, 99).documents}
    source.close()
    for name, (_, url) in SAVED.items():
        each = found.pop(str(tmp_path / name))
        assert each.metadata["url"] == (url or str(tmp_path / name)) and TALL in each.page_content
    assert not found


def test_what_is_no_fallback_corpus_is_said_in_one_line(saved, tmp_path):
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n")
    index(saved, "other", HashingEmbedder(window=250, salt="other"))
    Index.open(Settings.load(index="nothing").index_path, HashingEmbedder(window=250), create=True).close()
    for source, error, message in [
        (saved / "gone", UsageError, "is neither a folder nor an index (flag)"),
        ("gone", UsageError, "the fallback corpus gone is neither"),
        (saved / "lighthouse.html", UsageError, "is a file"),
        (tmp_path, UsageError, f"nothing in the fallback corpus {tmp_path} can be read"),
        ("nothing", UsageError, "is an empty index"),
        ("default", UsageError, "is the index that is asked"),
        ("other", IndexMismatch, "the fallback corpus cannot be searched: the index at"),
    ]:
        with pytest.raises(error) as raised:
            opened(source)
        assert message in str(raised.value) and raised.value.hint, source


def test_a_graph_that_does_not_search_needs_no_fallback_corpus(saved, said):
    asked = "ask 'When does the bakery open?' --engine extractive --graph"
    for graph, code in ("self-rag", 4), ("plain", 0):
        said(f"{asked} {graph} --web-from {saved / 'gone'}", code)
    assert '--web-from ""' in said(f"{asked} crag --web-from {saved / 'gone'}", 2)
    said(f'{asked} crag --web-from ""', 4)


def test_a_folder_is_opened_by_the_first_question_that_searches_once(saved):
    opened, made = [], saved.parent / "data" / FOLDER
    shutil.rmtree(made)
    with Rag.open(engine="extractive", web__source=str(saved)) as rag:
        rag.ask("When does the bakery open?", graph="self-rag")
        assert not made.exists()
        asked = [threading.Thread(target=lambda: opened.append(rag.fallback_corpus_of("crag"))) for _ in range(4)]
        for thread in asked:
            thread.start()
        for thread in asked:
            thread.join()
        assert len(opened) == 4 and len(set(map(id, opened))) == 1
        assert rag.ask(QUESTION, graph="crag").fallback_corpus == str(saved)


def test_a_source_that_breaks_while_it_is_asked_is_a_note(saved):
    with Rag.open(engine="extractive", web__source=str(saved)) as rag:
        index = rag.fallback_corpus.index
        with Index.open(index.path, HashingEmbedder(window=250), reembed=True, chunk_size=None) as other:
            other.reembed()
        answer = rag.ask(QUESTION, graph="crag")
    assert answer.status == "abstained" and answer.fallback_corpus == str(saved)


def test_its_index_is_named_by_kept_and_deleted_with_its_folder(saved):
    settings = Settings.load()
    here = index_of_folder(settings, saved, remembering_minilm())
    (item,) = kept.about(kept.kept(settings), folders=[str(saved)])
    assert (item.kind, item.name, item.sources) == ("fallback corpus", str(here), (str(saved / "lighthouse.html"),))
    assert kept.delete(settings, [item]) == [] and not (here / "index.sqlite").exists()


def test_the_commands_name_it_where_they_name_the_web(saved, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = f"ask '{QUESTION}' --engine extractive --web-from {saved}"
    out, err = said.shown(f"{asked} --graph crag --web")
    assert URL in out and f"(from the fallback corpus {saved})" in " ".join(out.split())
    assert f"in place of the web: {saved} (nothing leaves this machine)" in err
    assert "the web, which is on, is not searched" in err and f"searching {saved}" in err
    answer = said.json(f"{asked} --graph crag --thread lamps")
    assert (answer["used_web"], answer["fallback_corpus"]) == (False, str(saved))
    assert "from the fallback corpus" in said("threads export lamps")
    assert f"--index default --web-from {saved}" in said("runs case last mine.jsonl --yes")
    assert "web.source (--web-from) changes nothing with self-rag" in said(asked, 3)


def test_graph_and_doctor_name_it(saved, said, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_WEB_SOURCE", str(saved))
    drawn = " ".join(said.shown("graph crag --mermaid").err.split())
    assert f"web_search_node searches {saved} in place of the web" in drawn
    assert str(saved) not in said.shown("graph plain --mermaid").err
    assert f"{saved}, a folder, is searched in place of the web" in " ".join(said("doctor", None).split())
    monkeypatch.setenv("LOCAL_RAG_WEB_SOURCE", str(saved / "gone"))
    assert "is neither a folder nor an index (LOCAL_RAG_WEB_SOURCE)" in " ".join(said("doctor", None).split())
