"""Nothing is embedded twice: what a sync costs, counted in texts of passages and headers that the embedder is given."""

from __future__ import annotations

import mailbox
import shutil
import sqlite3
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, Moved, WebPage
from local_rag.core.errors import Stopped, UsageError
from local_rag.index import recipes
from local_rag.index.index import Index
from local_rag.index.store.store import Store

PARAGRAPHS = 12


class Counting(HashingEmbedder):
    """Keeps every text that it embeds as a document."""

    def __init__(self, **options):
        super().__init__(**options)
        self.texts = []

    def embed_documents(self, texts):
        vectors = super().embed_documents(texts)
        self.texts += texts
        return vectors

    def embed_queries(self, texts):
        return super().embed_documents(texts)


@pytest.fixture
def index(tmp_path):
    with Index.open(tmp_path / "index", Counting(), chunk_size=40, create=True) as made:
        yield made


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    for name in ("bridges", "harbours", "deep/tunnels"):
        file = folder / f"{name}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text_of(name), "utf-8")
    return folder


def text_of(subject, paragraphs=PARAGRAPHS):
    """Paragraphs of which each is a passage of its own."""
    words = (" ".join(f"w{number}x{n}" for n in range(30)) for number in range(paragraphs))
    return "\n\n".join(f"{subject} {number}: {text}" for number, text in enumerate(words))


def spent(index, work):
    """What `work()` embeds, as (passages, headers), and what it returns."""
    embedder = index.embedder
    embedder.texts.clear()
    result = work()
    given = list(embedder.texts)
    passages = {passage.text for passage in index.passages()}
    texts = sum(text in passages for text in given)
    return SimpleNamespace(passages=texts, headers=len(given) - texts, result=result)


def cost(index, *paths, **options):
    spending = spent(index, lambda: index.sync([*paths] or None, **options))
    assert index.embedded_count()[0] == index.count()
    return spending.passages, spending.headers


def answers(index, query, **options):
    return [Path(document.metadata["source"]) for document in index.search(query, 3, **options)]


def test_a_copy_of_a_file_costs_the_header_of_its_name(index, notes):
    assert cost(index, notes) == (3 * PARAGRAPHS, 3)
    shutil.copy(notes / "bridges.txt", notes / "deep" / "bridges.txt")
    assert cost(index) == (0, 0)
    shutil.copy(notes / "bridges.txt", notes / "viaducts.txt")
    assert cost(index) == (0, 1)
    assert index.verify(deep=True)


def test_copies_of_a_file_that_come_together_are_embedded_once(index, notes):
    for number in range(3):
        shutil.copy(notes / "bridges.txt", notes / f"span{'abc'[number]}.txt")
    passages, headers = cost(index, notes)
    assert (passages, headers) == (3 * PARAGRAPHS, 6)


def test_an_edited_paragraph_costs_its_passage(index, notes):
    cost(index, notes)
    file = notes / "bridges.txt"
    file.write_text(file.read_text().replace("w5x3 ", "another word "), "utf-8")
    assert cost(index) == (1, 0)
    file.write_text(text_of("bridges", PARAGRAPHS + 1), "utf-8")
    assert cost(index)[0] <= 2, "the edited one as it was before, and the new one"


def test_a_paragraph_that_grows_shifts_what_follows_only_until_a_border_is_the_same_again(index, tmp_path):
    """Several paragraphs make a passage here, so the cut moves with the first that changes."""
    sentences = [f"Sentence {number} is of {'stone ' * (1 + number * 7919 % 13)}and water." for number in range(200)]
    book = tmp_path / "book.txt"
    book.write_text("\n\n".join(sentences), "utf-8")
    cost(index, book)
    total = index.count()
    sentences[20] += " It goes on with a few more words."
    book.write_text("\n\n".join(sentences), "utf-8")
    passages, headers = cost(index)
    assert 1 <= passages <= 0.2 * total and not headers
    headed = [f"# Part {number // 20}\n\n{text}" if number % 20 == 0 else text for number, text in enumerate(sentences)]
    guide = tmp_path / "guide.md"
    guide.write_text("\n\n".join(headed), "utf-8")
    cost(index, guide)
    headed[25] += " It goes on with a few more words than it had."
    guide.write_text("\n\n".join(headed), "utf-8")
    assert cost(index)[0] <= 10, "a heading ends what shifts: its section has twenty paragraphs"


def test_a_renamed_file_costs_its_headers_only(index, notes):
    cost(index, notes)
    (notes / "bridges.txt").rename(notes / "viaducts.txt")
    report = spent(index, index.sync)
    assert (report.passages, report.headers) == (0, 1)
    assert report.result.moved == (Moved(str(notes / "bridges.txt"), str(notes / "viaducts.txt"), 1),)
    assert not (report.result.new or report.result.removed or report.result.updated)
    assert answers(index, "bridges 3 w3x1")[0] == notes / "viaducts.txt"
    assert notes / "bridges.txt" not in [Path(file.path) for file in index.files()]
    assert answers(index, "viaducts", mode="words")[0] == notes / "viaducts.txt", "by its new name"
    assert index.verify(deep=True)
    assert (cost(index), index.sync().unchanged) == ((0, 0), 3)


def test_a_moved_folder_costs_nothing_and_its_old_paths_answer_no_more(index, notes):
    cost(index, notes)
    (notes / "deep").rename(notes / "below")
    report = spent(index, index.sync)
    assert (report.passages, report.headers) == (0, 0)
    assert report.result.moved == (Moved(str(notes / "deep"), str(notes / "below"), 1),)
    assert answers(index, "deep/tunnels 3 w3x1")[0] == notes / "below" / "tunnels.txt"


def test_a_vanished_root_has_not_moved_where_much_of_it_is_changed(index, notes, tmp_path):
    cost(index, notes)
    new = tmp_path / "papers"
    notes.rename(new)
    (new / "harbours.txt").write_text(text_of("harbours").replace("w5x3 ", "another "), "utf-8")
    report = index.sync()
    assert [file.path for file in report.kept] == [str(notes)] and not report.moved, "the new place is not looked at"
    report = spent(index, lambda: index.sync([new]))
    assert not report.result.moved and len(index.files()) == 6, "two of three files are not nearly all"
    assert (report.passages, report.headers) == (1, 0), "vectors are reused all the same"
    assert index.move(notes, new).moved == (Moved(str(notes), str(new), 3),)
    assert len(index.files()) == 3 and index.status().roots == (str(new),)


def test_what_has_moved_as_a_whole(index, notes, tmp_path):
    (notes / "secret.txt").write_text(text_of("secret"), "utf-8")
    cost(index, notes, excludes=["secret.*"])
    new = tmp_path / "archive" / "papers"
    new.parent.mkdir()
    notes.rename(new)
    report = spent(index, lambda: index.sync([new]))
    assert (report.passages, report.headers) == (0, 0)
    assert report.result.moved == (Moved(str(notes), str(new), 3),)
    assert not report.result.removed and not report.result.kept
    assert index.status().roots == (str(new),)
    assert index.status().root_options[0].excludes == ("secret.*",)
    assert {Path(file.path).name for file in index.files()} == {"bridges.txt", "harbours.txt", "tunnels.txt"}
    assert not index.sync().kept


def test_a_disk_that_is_not_mounted_keeps_what_it_had(index, notes, tmp_path):
    cost(index, notes)
    part = tmp_path / "part"
    part.mkdir()
    shutil.copy(notes / "bridges.txt", part)
    notes.rename(tmp_path / "elsewhere")
    assert cost(index, part) == (0, 0)
    assert len(index.files()) == 4
    assert cost(index) == (0, 0) and len(index.files()) == 4


def test_moved_says_it_outright_and_reads_nothing(index, notes, tmp_path):
    cost(index, notes, excludes=["/deep/private", "*.bak"])
    (before,) = index.search("deep/tunnels 3 w3x1", 1)
    new = tmp_path / "archive"
    shutil.move(notes / "deep", new)
    (new / "tunnels.txt").chmod(0)  # nothing is read
    report = spent(index, lambda: index.move(notes / "deep", new))
    assert (report.passages, report.headers) == (0, 0)
    assert report.result.moved == (Moved(str(notes / "deep"), str(new), 1),)
    assert {root.path: root.excludes for root in index.status().root_options} == {
        str(notes): ("/deep/private", "*.bak"),
        str(new): ("/private", "*.bak"),
    }
    (after,) = index.search("deep/tunnels 3 w3x1", 1)
    assert after.metadata["source"] == str(new / "tunnels.txt")
    assert after.metadata["chunk_id"] != before.metadata["chunk_id"]
    assert index.span(before.metadata["chunk_id"], *(before.metadata[name] for name in ("start", "end"))) == (
        after.page_content
    ), "a chat that quotes it finds it as before"
    (new / "tunnels.txt").chmod(0o600)
    assert index.sync().unchanged == 3 and index.verify(deep=True)


def test_moved_asks_for_what_is_there(index, notes, tmp_path):
    cost(index, notes)
    with pytest.raises(UsageError, match="is not in the index"):
        index.move(tmp_path / "nothing", notes)
    with pytest.raises(UsageError, match="there is no file or folder"):
        index.move(notes, tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is still there"):
        index.move(notes, tmp_path / "empty")
    notes.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="none of the 3 files"):
        index.move(notes, tmp_path / "empty")


def test_a_folder_that_changes_places_with_another(index, notes):
    (notes / "other").mkdir()
    (notes / "other" / "tunnels.txt").write_text(text_of("other tunnels"), "utf-8")
    cost(index, notes)
    for old, new in (("deep", "between"), ("other", "deep"), ("between", "other")):
        (notes / old).rename(notes / new)
    assert cost(index) == (0, 0), "both paths are there: they count as changed files, whose passages are known"
    assert answers(index, "other tunnels 3 w3x1")[0] == notes / "deep" / "tunnels.txt"
    assert index.verify(deep=True)


def test_a_new_mail_costs_only_itself(index, tmp_path):
    box = mailbox.mbox(tmp_path / "mails.mbox")

    def add(number):
        mail = EmailMessage()
        mail["From"], mail["Subject"] = "anna@example.org", f"Report {number}"
        mail["Date"] = f"Tue, 0{number % 9 + 1} Mar 2026 10:00:00 +0000"
        mail.set_content(text_of(f"report {number}", 3))
        box.add(mail)

    for number in range(30):
        add(number)
    box.flush()
    first = cost(index, tmp_path / "mails.mbox")
    assert first[0] >= 90
    add(30)
    box.close()
    passages, headers = cost(index)
    assert 3 <= passages <= 4 and headers <= 1


def test_what_is_deleted_and_comes_back_later_may_cost_again_but_not_within_one_sync(index, notes, tmp_path):
    cost(index, notes)
    (notes / "bridges.txt").rename(tmp_path / "away.txt")
    cost(index)
    (tmp_path / "away.txt").rename(notes / "bridges.txt")
    assert cost(index) == (PARAGRAPHS, 1)


def test_a_page_that_moves_to_another_url_costs_its_header(index):
    def read(url):
        return WebPage(target, "Bridges", text_of("bridges"))

    target = "https://example.org/old"
    index.sync_pages(["https://example.org/start"], read)
    target = "https://example.org/viaducts"
    report = spent(index, lambda: index.sync_pages(["https://example.org/start"], read))
    assert report.passages == 0 and report.result.removed == ("https://example.org/old",)


def test_texts_with_equal_passages_are_embedded_once(index):
    texts = [(f"doc{number}", LoadedDocument(text_of("bridges"), title="Bridges")) for number in range(3)]
    report = spent(index, lambda: index.sync_texts(texts))
    assert report.passages == PARAGRAPHS


def test_a_paragraph_that_goes_from_one_file_to_another_costs_nothing(index, notes):
    cost(index, notes)
    first, *others = (notes / "bridges.txt").read_text().split("\n\n")
    (notes / "bridges.txt").write_text("\n\n".join(others))
    (notes / "harbours.txt").write_text((notes / "harbours.txt").read_text() + "\n\n" + first)
    assert cost(index) == (0, 0)
    with closing(sqlite3.connect(index.path / "index.sqlite")) as database:
        assert not database.execute("SELECT * FROM spare").fetchall(), "what was set aside goes with the sync"


def test_a_vector_that_was_set_aside_does_not_outlive_its_embedder(index, notes, monkeypatch):
    cost(index, notes)
    whole = (notes / "bridges.txt").read_text()
    (notes / "bridges.txt").write_text(whole.split("\n\n", 1)[1])
    other = Counting(salt="other")
    with monkeypatch.context() as patched:
        patched.setattr(Store, "forget", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            index.sync()
        with Index.open(index.path, other, chunk_size=40, reembed=True) as again, pytest.raises(ZeroDivisionError):
            again.reembed()
    (notes / "bridges.txt").write_text(whole)
    with Index.open(index.path, other, chunk_size=40) as again:
        assert cost(again)[0] == 1


def test_reembedding_embeds_what_was_missing(index, notes):
    index.sync([notes], embed=False)
    assert index.embedded_count() == (0, 3 * PARAGRAPHS)
    assert index.reembed() == 3 * PARAGRAPHS and index.embedded_count()[0] == 3 * PARAGRAPHS
    assert index.reembed() == 0 and index.verify(deep=True)


def test_an_interrupted_reembedding_goes_on_where_it_was(index, notes, monkeypatch):
    monkeypatch.setattr(recipes, "BATCH", 10)
    shutil.copy(notes / "bridges.txt", notes / "deep" / "bridges.txt")
    cost(index, notes)
    total = index.count()
    other = Counting(salt="other")
    with Index.open(index.path, other, chunk_size=40, reembed=True) as again:
        scope = cancel.Cancel()
        other.before_batch = lambda: scope.stop() if other.texts else None
        with pytest.raises(Stopped), cancel.scope(scope):
            again.reembed()
        before = len(other.texts)
        other.before_batch = lambda: None
        again.reembed()
        assert before and len(other.texts) <= total + 4, "each text and each header once"
