"""Files, documents, places of quotes, pictures of pages and originals, as a page asks for them."""

import os
import struct
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder
from support.garden import enter
from support.hostile import docx_members, docx_paragraph, make_pdf, make_zip
from support.serving import a_workspace, asking

from local_rag.config.settings import Settings
from local_rag.index.index import Index
from local_rag.server.answers import file_id
from local_rag.text.citations import quotation
from local_rag.text.sentences import Span

LEASE = """The notice period is three months to the end of a quar-
ter. The landlord repairs the roof. The deposit is 1,200 euros."""
QUOTE = "The deposit is 1,200 euros."
PLAN = "# Garden\n\nThe greenhouse costs 4,200 euros.\n\n## Dates\n\nBuilding starts on 3 May.\n"
MAILS = (
    "From a@b Thu Jan  1 00:00:00 2026\nSubject: One\n\nBest regards. The key lies below the pot.\n\n"
    "From a@b Thu Jan  2 00:00:00 2026\nSubject: Two\n\nBest regards. The spare key lies in the shed.\n\n"
)


LINES = [f"Line {number} about nothing in particular." for number in range(2_000)]
LINES[1_000] = "The anchor weighs 40 kilograms."


@pytest.fixture
def notes(tmp_path) -> Path:
    return write_notes(tmp_path)


def write_notes(base):
    folder = base / "notes"
    folder.mkdir()
    make_pdf(folder / "lease.pdf", ["Rental contract", LEASE], title="Lease")
    (folder / "plan.md").write_text(PLAN)
    (folder / "page.html").write_text("<p>The gate is painted green every spring.</p><script>alert(1)</script>")
    make_zip(folder / "letter.docx", docx_members(docx_paragraph("The hedge is cut in June.")))
    (folder / "mails.mbox").write_text(MAILS)
    (folder / "long.txt").write_text("\n".join(LINES))
    (folder / "wide.txt").write_text("Der Wärter prüft täglich die Öllampe.", "utf-16")
    return folder


@contextmanager
def client_of(folder):
    settings = Settings.load()
    with Index.open(settings.index_path, HashingEmbedder(window=300), create=True) as index:
        index.sync([folder])
    with asking(a_workspace()) as client:
        yield client


@pytest.fixture
def client(notes):
    """For tests that change something."""
    with client_of(notes) as made:
        yield made


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A client and the notes, for all tests that only look."""
    base = tmp_path_factory.mktemp("there")
    with pytest.MonkeyPatch.context() as patched:
        enter(patched, base)
        folder = write_notes(base)
        with client_of(folder) as made:
            yield made, folder


def resync(*folders):
    with Index.open(Settings.load().index_path, HashingEmbedder(window=300)) as index:
        index.sync(folders or None)


def place_of(client, path, **quote):
    response = client.get(f"/api/documents/{file_id(str(path))}/place", params=quote)
    assert response.status_code == 200, response.text
    return response.json()


def quoted(client, path, quote, **where):
    """The place of a quote whose offsets are true."""
    whole = client.get(
        f"/api/documents/{file_id(str(path))}/text", params={"document": where.get("document", 0)}
    ).json()
    start = "".join(segment["text"] for segment in whole["segments"]).index(quote)
    return place_of(client, path, start=start, end=start + len(quote), quote=quote, **where)


def marked(spread):
    return [segment["text"] for segment in spread["segments"] if segment["mark"]]


def test_files_are_listed_by_name_and_filtered_as_one_types(client, notes):
    everything = client.get("/api/files").json()
    assert [file["label"] for file in everything["files"]] == [
        "notes/lease.pdf", "notes/letter.docx", "notes/long.txt", "notes/mails.mbox", "notes/page.html",
        "notes/plan.md", "notes/wide.txt",
    ]  # fmt: skip
    lease = everything["files"][0]
    assert (
        lease["file_id"] == file_id(str(notes / "lease.pdf")) and lease["title"] == "Lease" and lease["kind"] == "pdf"
    )
    assert lease["documents"] == 2 and lease["chunks"] == lease["embedded"] > 0 and everything["total"] == 7
    assert [file["label"] for file in client.get("/api/files", params={"filter": "LEASE notes"}).json()["files"]] == [
        "notes/lease.pdf"
    ]
    first = client.get("/api/files", params={"limit": 4}).json()
    rest = client.get("/api/files", params={"limit": 4, "cursor": first["cursor"]}).json()
    assert first["files"] + rest["files"] == everything["files"] and rest["cursor"] is None
    (notes / "new.txt").write_text("A new note about the well.")
    resync()
    assert client.get("/api/files", params={"filter": "new"}).json()["matching"] == 1


def test_numbers_that_nothing_counts_to_are_refused(there):
    client, notes = there
    plan = f"/api/documents/{file_id(str(notes / 'plan.md'))}"
    for path, name, more in (
        *(("/api/files", name, {}) for name in ("cursor", "limit")),
        *((f"{plan}/place", name, {}) for name in ("document", "page", "start", "end")),
        (f"{plan}/text", "document", {}),
        *((f"{plan}/text", name, {"document": 0}) for name in ("start", "end")),
        *((f"{plan}/place", "start", {"end": 5, "quote": "x"}),),
    ):
        response = client.get(path, params={name: 2**64, **more})
        assert (response.status_code, response.json()["error"]["code"]) == (400, "usage"), (path, name)
    assert client.get(f"{plan}/pages/{2**64}").status_code == 404
    assert client.get(f"{plan}/place", params={"document": 2**53, "start": 1, "end": 2}).status_code == 404
    assert client.get(f"{plan}/text", params={"document": 0}).status_code == 200
    assert client.get(f"{plan}/text", params={"document": 99_999}).status_code == 404


def test_a_file_names_its_documents_and_how_it_opens(there):
    client, notes = there

    def document(name):
        return client.get(f"/api/documents/{file_id(str(notes / name))}").json()

    lease = document("lease.pdf")
    assert [(part["page"], part["number"]) for part in lease["documents"]] == [(1, 0), (2, 1)]
    assert lease["original"] == "pdf" and not lease["changed"] and lease["why"] == ""
    assert {name: document(name)["original"] for name in ("plan.md", "page.html", "letter.docx")} == {
        "plan.md": "text", "page.html": "attachment", "letter.docx": "attachment",
    }  # fmt: skip


def test_a_quote_in_a_pdf_has_rectangles_and_its_text(there):
    client, notes = there
    spread = quoted(client, notes / "lease.pdf", QUOTE, document=1, page=2)
    assert spread["kind"] == "pdf" and spread["page"] == 2 and spread["pages"] == 2 and spread["placed"]
    assert spread["image"] == {"width": 1190, "height": 1684} and len(spread["rectangles"]) == 1
    assert marked(spread) == [QUOTE] and spread["why"] == "" and not spread["changed"]
    x, y, width, height = spread["rectangles"][0]
    assert 0.1 < x < x + width < 1 and 0 < y < y + height < 0.2


@pytest.mark.parametrize(
    ("name", "quote"),
    [("plan.md", "The greenhouse costs 4,200 euros."), ("page.html", "painted green"), ("letter.docx", "hedge is cut")],
)
def test_a_quote_in_other_kinds_is_marked_in_the_stored_text(there, name, quote):
    client, notes = there
    spread = quoted(client, notes / name, quote)
    assert spread["kind"] == "text" and marked(spread) == [quote] and spread["placed"] and spread["image"] is None
    assert spread["rectangles"] == [] and spread["before"] is None and spread["after"] is None


def test_of_several_messages_the_one_with_the_quote_is_shown(there):
    client, notes = there
    mails = notes / "mails.mbox"
    quote = "The spare key lies in the shed."
    whole = client.get(f"/api/documents/{file_id(str(mails))}/text", params={"document": 1}).json()
    start = whole["segments"][0]["text"].index(quote)
    spread = place_of(client, mails, start=start, end=start + len(quote), quote=quote)
    assert spread["document"] == 1 and spread["documents"] == 2 and marked(spread) == [quote]


def test_a_quote_that_stands_alike_in_several_messages_is_shown_in_the_one_that_is_cited(there):
    client, notes = there
    mails = notes / "mails.mbox"
    with Index.open(client.workspace.settings.index_path, HashingEmbedder(window=300)) as index:
        (second,) = index.search("spare key shed", 1, mode="words")
    cited = quotation(1, second, Span(0, 5)).chunk_id
    assert "shed" in second.page_content
    regards = "Best regards."
    start = second.metadata["start"] + second.page_content.index(regards)
    for span in ({"start": start, "end": start + len(regards)}, {}):  # a span of the text, and a property of the file
        for passage, number in ((cited, 1), ("gone", 0)):
            spread = place_of(client, mails, quote=regards, chunk_id=passage, **span)
            assert (spread["document"], marked(spread)) == (number, [regards] if span else [])


def test_a_long_text_is_shown_around_the_quote_and_goes_on(there):
    client, notes = there
    start = len("\n".join(LINES[:1_000])) + 1
    spread = place_of(client, notes / "long.txt", start=start, end=start + 31, quote=LINES[1_000])
    assert marked(spread) == [LINES[1_000]] and 0 < spread["before"] < start < spread["after"]
    shown = "".join(segment["text"] for segment in spread["segments"])
    assert 5_000 < len(shown) < 12_000 and shown.startswith("Line ") and shown.endswith(".")
    text = {"document": 0, "start": spread["after"], "end": spread["after"] + 1_000}
    more = client.get(f"/api/documents/{file_id(str(notes / 'long.txt'))}/text", params=text).json()
    assert more["before"] == spread["after"] and more["after"] == spread["after"] + 1_000
    assert "\n".join(LINES).count(shown + more["segments"][0]["text"]) == 1


def test_stale_offsets_are_not_believed(there):
    client, notes = there
    quote = "Building starts on 3 May."
    assert marked(place_of(client, notes / "plan.md", start=0, end=len(quote), quote=quote)) == [quote]
    gone = place_of(client, notes / "plan.md", start=0, end=30, quote="The greenhouse costs 9 euros.")
    assert marked(gone) == [] and not gone["placed"] and "does not stand in the indexed text any more" in gone["why"]
    assert "Garden" in gone["segments"][0]["text"]


def test_a_property_of_a_file_is_not_marked(there):
    client, notes = there
    spread = place_of(client, notes / "plan.md", start=0, end=0, quote="J. Doe")
    assert marked(spread) == [] and not spread["placed"] and "what the file says of itself" in spread["why"]


def test_a_page_where_the_quote_is_not_certain_stays_clean_and_says_so(client, notes):
    start = {"document": 1, "page": 2}
    text = quoted(client, notes / "lease.pdf", QUOTE, **start)
    make_pdf(notes / "lease.pdf", ["Rental contract", "Something else stands here now."], title="Lease")
    spread = place_of(client, notes / "lease.pdf", page=2, quote=QUOTE, start=0, end=1)
    assert spread["rectangles"] == [] and not spread["placed"] and spread["changed"]
    assert "has changed since it was indexed" in spread["why"] and "is not certain" in spread["why"]
    assert marked(spread) == marked(text) == [QUOTE], "the stored text still has it"


def test_a_file_that_changed_says_so_and_one_that_is_gone_keeps_its_text(client, notes):
    (notes / "plan.md").write_text(PLAN.replace("4,200", "9,900"))
    spread = quoted(client, notes / "plan.md", "The greenhouse costs 4,200 euros.")
    assert spread["changed"] and spread["placed"] and "has changed since it was indexed" in spread["why"]
    (notes / "plan.md").unlink()
    spread = quoted(client, notes / "plan.md", "The greenhouse costs 4,200 euros.")
    assert spread["placed"] and spread["original"] == "" and "there is no such file" in spread["why"]
    assert spread["why"].endswith("Bring the index up to date to see what is there now.")
    (notes / "lease.pdf").unlink()
    spread = quoted(client, notes / "lease.pdf", QUOTE, document=1)
    assert spread["image"] is None and spread["placed"] and marked(spread) == [QUOTE]


def test_only_the_time_of_a_file_is_no_change(client, notes):
    os.utime(notes / "plan.md", (1, 1))
    assert not client.get(f"/api/documents/{file_id(str(notes / 'plan.md'))}").json()["changed"]


def test_pages_are_pictures(there):
    client, notes = there
    lease = file_id(str(notes / "lease.pdf"))
    for _ in range(2):
        response = client.get(f"/api/documents/{lease}/pages/2")
        assert response.headers["content-type"] == "image/png"
        assert struct.unpack(">II", response.content[16:24]) == (1190, 1684)
    assert client.get(f"/api/documents/{lease}/pages/3").json()["error"]["message"].startswith("has no page 3")
    assert client.get(f"/api/documents/{file_id(str(notes / 'plan.md'))}/pages/1").status_code == 404


def test_originals_open_inline_only_where_that_is_safe(there):
    client, notes = there

    def original(name):
        return client.get(f"/api/documents/{file_id(str(notes / name))}/original")

    lease, plan, page = original("lease.pdf"), original("plan.md"), original("page.html")
    assert lease.headers["content-type"] == "application/pdf" and lease.content == (notes / "lease.pdf").read_bytes()
    assert lease.headers["content-disposition"].startswith("inline")
    assert plan.headers["content-type"] == "text/plain; charset=utf-8" and plan.text == PLAN
    assert page.headers["content-disposition"].startswith("attachment")
    assert page.headers["content-type"] == "application/octet-stream"
    for response in (lease, plan, page):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "script-src" not in response.headers["content-security-policy"]
    assert original("wide.txt").text == "Der Wärter prüft täglich die Öllampe."


def test_what_a_link_leads_out_to_is_not_opened(client, notes, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the password of the safe")
    stored = quoted(client, notes / "plan.md", "Building starts on 3 May.")
    (notes / "plan.md").unlink()
    (notes / "plan.md").symlink_to(secret)
    spread = quoted(client, notes / "plan.md", "Building starts on 3 May.")
    assert spread["segments"] == stored["segments"] and spread["original"] == "" and "outside" in spread["why"]
    response = client.get(f"/api/documents/{file_id(str(notes / 'plan.md'))}/original")
    assert response.status_code == 403 and response.json()["error"]["code"] == "outside"
    (notes / "lease.pdf").unlink()
    (notes / "lease.pdf").symlink_to(make_pdf(tmp_path / "secret.pdf", ["secret"]))
    response = client.get(f"/api/documents/{file_id(str(notes / 'lease.pdf'))}/pages/1")
    assert response.status_code == 403


def test_a_root_that_has_become_a_link_is_not_followed(notes, tmp_path):
    """A file is a root, too, where it was indexed by its name."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the password of the safe")
    plan = notes / "plan.md"
    with client_of(plan) as client:
        path = f"/api/documents/{file_id(str(plan))}/original"
        assert client.get(path).status_code == 200
        plan.unlink()
        plan.symlink_to(secret)
        response = client.get(path)
        assert response.status_code == 403 and response.json()["error"]["code"] == "outside"


def test_what_is_not_in_the_index_is_not_there(there, tmp_path):
    client, notes = there
    (tmp_path / "other.txt").write_text("not indexed")
    for identity in (file_id(str(tmp_path / "other.txt")), file_id(str(notes)), "0" * 20, "..%2F..%2Fetc%2Fpasswd"):
        for tail in ("", "/place", "/text?document=0", "/pages/1", "/original"):
            response = client.get(f"/api/documents/{identity}{tail}")
            assert response.status_code == 404, (identity, tail, response.text)


def test_names_that_would_turn_a_line_around_are_shown_harmless(client, notes):
    (notes / "a\u202egpj.txt").write_text("The invoice of the plumber.")
    resync()
    (file,) = client.get("/api/files", params={"filter": "gpj"}).json()["files"]
    assert file["label"] == "notes/agpj.txt" and client.get(f"/api/documents/{file['file_id']}").json()["file"] == file


def test_without_an_index_there_are_no_files_and_a_hint(serve, home):
    error = serve().get("/api/files").json()["error"]
    assert error["code"] == "index_missing" and error["hint"].startswith("local-rag index")
