"""Files, documents, places of quotes, pictures of pages and originals, as a page asks for them."""

import os
import struct
from contextlib import contextmanager

import pytest
from support.fakes_index import HashingEmbedder
from support.garden import entered
from support.hostile import docx_members, docx_paragraph, make_pdf, make_zip
from support.scans import drawn
from support.serving import a_workspace, asking, marked, text_of

from local_rag.config.settings import Settings
from local_rag.index.index import Index
from local_rag.index.parse.ocr import READERS
from local_rag.server.answers import file_id
from local_rag.text.citations import quotation
from local_rag.text.display import home_path
from local_rag.text.sentences import Span

LEASE = """The notice period is three months to the end of a quar-
ter. The landlord repairs the roof. The deposit is 1,200 euros."""
QUOTE = "The deposit is 1,200 euros."
PLAN = "# Garden\n\nThe greenhouse costs 4,200 euros.\n\n## Dates\n\nBuilding starts on 3 May.\n"
MAILS = (
    "From a@b Thu Jan  1 00:00:00 2026\nSubject: One\n\nBest regards. The key lies below the pot.\n\n"
    "From a@b Thu Jan  2 00:00:00 2026\nSubject: Two\n\nBest regards. The spare key lies in the shed.\n\n"
)
WIDE = "Der Wärter prüft täglich die Öllampe."
LINES = [f"Line {number} about nothing in particular." for number in range(2_000)]
LINES[1_000] = "The anchor weighs 40 kilograms."


@pytest.fixture
def notes(tmp_path):
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
    (folder / "wide.txt").write_text(WIDE, "utf-16")
    (folder / "fuel.csv").write_text("Vessel,Litres\nPetrel,30\nFulmar,25\nSkua,7\n")
    (folder / "a\u202egpj.txt").write_text("The invoice of the plumber.")  # turns the rest of a line around
    drawn("A photograph", size=(900, 400)).save(folder / "photo.png")
    (folder / "old" / "mail").mkdir(parents=True)
    for name in ("b.md", "mail/a.txt"):
        (folder / "old" / name).write_text("The well is deep.")
        os.utime(folder / "old" / name, (0, 86400 * 365))
    return folder


@contextmanager
def client_of(folder):
    settings = Settings.load()
    with Index.open(settings.index_path, HashingEmbedder(window=300), create=True) as index:
        index.sync([folder], loaders=READERS)
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
    with entered(base):
        folder = write_notes(base)
        with client_of(folder) as made:
            yield made, folder


def asked(client, path, tail, status=200, **params):
    response = client.get(f"/api/documents/{file_id(str(path))}/{tail}", params=params)
    assert response.status_code == status, response.text
    return response


def place_of(client, path, **quote):
    return asked(client, path, "place", **quote).json()


def quoted(client, path, quote, **where):
    """The place of a quote whose offsets are true."""
    start = stored(client, path, where.get("document", 0)).index(quote)
    return place_of(client, path, start=start, end=start + len(quote), quote=quote, **where)


def stored(client, path, document=0):
    with Index.open(client.workspace.settings.index_path) as index:
        return index.store.documents(str(path))[document].text


def files(client, **params):
    """The names of files as they are listed, and the whole reply."""
    reply = client.got("/api/files", **params)
    return [file["label"].removeprefix("notes/") for file in reply["files"]], reply


NAMES = (
    "agpj.txt fuel.csv lease.pdf letter.docx long.txt mails.mbox old/b.md old/mail/a.txt page.html photo.png plan.md "
    "wide.txt"
).split()


def test_files_are_listed_by_name_and_filtered_as_one_types(there):
    client, notes = there
    names, everything = files(client)
    assert names == NAMES and everything["total"] == len(NAMES)
    lease = everything["files"][2]
    assert (lease["file_id"], lease["title"], lease["kind"]) == (file_id(str(notes / "lease.pdf")), "Lease", "pdf")
    assert lease["documents"] == 2 and lease["chunks"] == lease["embedded"] > 0
    assert files(client, filter="LEASE notes")[1]["files"] == [lease]
    _, first = files(client, limit=7)
    _, rest = files(client, limit=7, cursor=first["cursor"])
    assert first["files"] + rest["files"] == everything["files"] and rest["cursor"] is None


def test_files_are_listed_by_folder_kind_and_change_in_an_order(there):
    client, notes = there
    root = f"/{file_id(str(notes))}"
    names, top = files(client, folder="/")
    assert names == [] and top["folders"] == [{"folder": root, "name": home_path(notes), "files": len(NAMES)}]
    names, first = files(client, folder=root, limit=2)
    assert names == NAMES[:2] and first["cursor"] == 2
    assert first["folders"] == [{"folder": f"{root}/old", "name": "old", "files": 2}]
    names, old = files(client, folder=f"{root}/old")
    assert names == ["old/b.md"] and [each["name"] for each in old["folders"]] == ["mail"]
    assert files(client, folder=f"{root}/old/nothing")[0] == []
    assert files(client, type="markdown")[0] == ["old/b.md", "plan.md"]
    pdfs, reply = files(client, type="pdf", folder=root)
    assert pdfs == ["lease.pdf"] and reply["folders"] == []
    assert files(client, since="2000-01-01")[1]["matching"] == len(NAMES) - 2
    assert files(client, sort="changed")[0][-2:] == ["old/b.md", "old/mail/a.txt"]
    sizes = [file["size"] for file in files(client, sort="size")[1]["files"]]
    assert sizes == sorted(sizes, reverse=True)
    kinds = client.got("/api/index")["kinds"]
    assert kinds["markdown"] == 2 and sum(kinds.values()) == len(NAMES)
    for wrong in ({"since": "soon"}, {"sort": "colour"}):
        client.got("/api/files", 400, **wrong)


def test_numbers_that_nothing_counts_to_are_refused(there):
    client, notes = there
    plan = notes / "plan.md"
    for tail, name, more in (
        *(("place", name, {}) for name in ("document", "page", "start", "end")),
        *(("text", name, {"document": 0}) for name in ("document", "start", "end")),
    ):
        response = asked(client, plan, tail, 400, **more | {name: 2**64})
        assert response.json()["error"]["code"] == "usage"
    asked(client, plan, f"pages/{2**64}", 404)
    asked(client, plan, "place", 404, document=2**53, start=1, end=2)
    asked(client, plan, "text", 404, document=99_999)


def test_a_quote_in_a_pdf_has_rectangles_and_its_text(there):
    client, notes = there
    spread = quoted(client, notes / "lease.pdf", QUOTE, document=1, page=2)
    assert (spread["kind"], spread["page"], spread["original"]) == ("pdf", 2, "pdf")
    (rectangle,) = spread["image"].pop("rectangles")
    assert spread["image"] == {"width": 1190, "height": 1684, "pages": 2}
    assert marked(spread) == [QUOTE] and spread["placed"] and not spread["why"] and not spread["changed"]
    x, y, width, height = rectangle
    assert 0.1 < x < x + width < 1 and 0 < y < y + height < 0.2


@pytest.mark.parametrize(
    ("name", "quote", "opens"),
    [
        ("plan.md", "The greenhouse costs 4,200 euros.", "text"),
        ("page.html", "painted green", "attachment"),
        ("letter.docx", "hedge is cut", "attachment"),
    ],
)
def test_a_quote_in_other_kinds_is_marked_in_the_stored_text(there, name, quote, opens):
    client, notes = there
    spread = quoted(client, notes / name, quote)
    assert (spread["kind"], marked(spread), spread["original"]) == ("text", [quote], opens) and spread["placed"]
    assert not (spread["image"] or spread["before"] or spread["after"])


def test_of_several_messages_the_one_with_the_quote_or_the_cited_passage_is_shown(there):
    client, notes = there
    mails, quote, regards = notes / "mails.mbox", "The spare key lies in the shed.", "Best regards."
    start = stored(client, mails, 1).index(quote)
    spread = place_of(client, mails, start=start, end=start + len(quote), quote=quote)
    assert (spread["document"], spread["documents"], marked(spread)) == (1, 2, [quote])
    with Index.open(client.workspace.settings.index_path, HashingEmbedder(window=300)) as index:
        (second,) = index.search("spare key shed", 1, mode="words")
    cited = quotation(1, second, Span(0, 5)).chunk_id
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
    shown = text_of(spread["blocks"])
    assert 5_000 < len(shown) < 12_000 and shown.startswith("Line ") and shown.endswith(".")
    first, last = spread["after"], spread["after"] + 1_000
    more = asked(client, notes / "long.txt", "text", document=0, start=first, end=last).json()
    assert (more["before"], more["after"]) == (first, last)
    assert "\n".join(LINES).count("\n".join([shown, text_of(more["blocks"])])) == 1


@pytest.mark.parametrize(
    ("quote", "span", "found", "why"),
    [
        ("Building starts on 3 May.", (0, 25), True, ""),
        ("The greenhouse costs 9 euros.", (0, 30), False, "does not stand in the indexed text any more"),
        ("J. Doe", (0, 0), False, "what the file says of itself"),
    ],
)
def test_stale_offsets_are_not_believed_and_what_is_not_marked_says_why(there, quote, span, found, why):
    client, notes = there
    spread = place_of(client, notes / "plan.md", start=span[0], end=span[1], quote=quote)
    assert marked(spread) == [quote] * found and spread["placed"] is found and why in spread["why"]


def test_a_file_that_changed_says_so_and_one_that_is_gone_keeps_its_text(client, notes):
    lease, plan, costs = notes / "lease.pdf", notes / "plan.md", "The greenhouse costs 4,200 euros."
    os.utime(plan, (1, 1))
    assert not quoted(client, plan, costs)["changed"], "only its time is another"
    plan.write_text(PLAN.replace("4,200", "9,900"))
    make_pdf(lease, ["Rental contract", "Something else stands here now."], title="Lease")
    spread = quoted(client, plan, costs)
    assert spread["changed"] and spread["placed"] and "has changed since it was indexed" in spread["why"]
    spread = place_of(client, lease, page=2, quote=QUOTE, start=0, end=1)
    assert not spread["image"]["rectangles"] and not spread["placed"] and spread["changed"]
    assert "has changed since it was indexed" in spread["why"] and "is not certain" in spread["why"]
    assert marked(spread) == [QUOTE], "the stored text still has it"
    plan.unlink()
    lease.unlink()
    spread = quoted(client, plan, costs)
    assert spread["placed"] and spread["original"] == "" and "there is no such file" in spread["why"]
    assert spread["why"].endswith("Bring the index up to date to see what is there now.")
    spread = quoted(client, lease, QUOTE, document=1)
    assert spread["image"] is None and spread["placed"] and marked(spread) == [QUOTE]
    (notes / "new.txt").write_text("A new note about the well.")
    with Index.open(Settings.load().index_path, HashingEmbedder(window=300)) as index:
        index.sync(loaders=READERS)
    assert files(client)[0] == sorted({*NAMES, "new.txt"} - {"lease.pdf", "plan.md"})


def test_pages_are_pictures(there):
    client, notes = there
    for _ in range(2):
        response = asked(client, notes / "lease.pdf", "pages/2")
        assert response.headers["content-type"] == "image/png"
        assert struct.unpack(">II", response.content[16:24]) == (1190, 1684)
    third = client.get(f"/api/documents/{file_id(str(notes / 'lease.pdf'))}/pages/3").json()
    assert third["error"]["message"].startswith("has no page 3")
    asked(client, notes / "plan.md", "pages/1", 404)


@pytest.mark.parametrize(
    ("name", "how", "kind", "content"),
    [
        ("lease.pdf", "inline", "application/pdf", None),
        ("plan.md", "inline", "text/plain; charset=utf-8", PLAN),
        ("page.html", "attachment", "application/octet-stream", None),
        ("wide.txt", "inline", "text/plain; charset=utf-8", WIDE),
    ],
)
def test_originals_open_inline_only_where_that_is_safe(there, name, how, kind, content):
    client, notes = there
    response = asked(client, notes / name, "original")
    assert response.headers["content-disposition"].startswith(how) and response.headers["content-type"] == kind
    assert response.content == (content.encode() if content else (notes / name).read_bytes())
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "script-src" not in response.headers["content-security-policy"]


def test_what_a_link_leads_out_to_is_not_opened(client, notes, tmp_path):
    plan, secret = notes / "plan.md", tmp_path / "secret.txt"
    secret.write_text("the password of the safe")
    before = quoted(client, plan, "Building starts on 3 May.")
    for path, target in ((plan, secret), (notes / "lease.pdf", make_pdf(tmp_path / "secret.pdf", ["secret"]))):
        path.unlink()
        path.symlink_to(target)
    spread = quoted(client, plan, "Building starts on 3 May.")
    assert spread["blocks"] == before["blocks"] and spread["original"] == "" and "outside" in spread["why"]
    assert asked(client, plan, "original", 403).json()["error"]["code"] == "outside"
    asked(client, notes / "lease.pdf", "pages/1", 403)


def test_a_root_that_has_become_a_link_is_not_followed(notes, tmp_path):
    """A file is a root, too, where it was indexed by its name."""
    plan, secret = notes / "plan.md", tmp_path / "secret.txt"
    secret.write_text("the password of the safe")
    with client_of(plan) as client:
        asked(client, plan, "original")
        plan.unlink()
        plan.symlink_to(secret)
        assert asked(client, plan, "original", 403).json()["error"]["code"] == "outside"


def test_what_is_not_in_the_index_is_not_there(there, tmp_path):
    client, notes = there
    (tmp_path / "other.txt").write_text("not indexed")
    for identity in (file_id(str(tmp_path / "other.txt")), file_id(str(notes)), "0" * 20, "..%2F..%2Fetc%2Fpasswd"):
        for tail in ("", "/place", "/text?document=0", "/pages/1", "/original"):
            response = client.get(f"/api/documents/{identity}{tail}")
            assert response.status_code == 404, (identity, tail, response.text)


def test_without_an_index_there_are_no_files_and_a_hint(serve, home):
    error = serve().get("/api/files").json()["error"]
    assert error["code"] == "index_missing" and error["hint"].startswith("local-rag index")


def test_a_draft_is_read_as_an_answer_is(there):
    client, _ = there
    (heading, paragraph) = client.posted("/api/read", {"text": "## Rent\n\nIt is **900"})["blocks"]
    assert (heading["t"], paragraph["c"][1]["t"]) == ("h", "strong")
    client.posted("/api/read", {"text": "x" * 100_001}, 400)


def test_an_image_is_shown_as_a_page_before_ocr_has_read_it(there):
    client, notes = there
    place = place_of(client, notes / "photo.png", page=1)
    assert (place["kind"], place["blocks"]) == ("pdf", [])
    assert place["image"] == {"rectangles": [], "width": 900, "height": 400, "pages": 1}
    assert asked(client, notes / "photo.png", "pages/1").content.startswith(b"\x89PNG")


def test_the_rows_of_a_computed_answer_are_marked(there):
    client, notes = there
    text = stored(client, notes / "fuel.csv")
    lines = [(text.index(line), text.index(line) + len(line)) for line in text.split("\n")]
    rows = ",".join(f"{start}-{end}" for start, end in (lines[1], lines[3]))
    place = place_of(client, notes / "fuel.csv", start=lines[1][0], end=lines[3][1], rows=rows)
    assert place["placed"] and marked(place) == ["Petrel", "30", "Skua", "7"]
    elsewhere = place_of(client, notes / "fuel.csv", start=3, end=9, rows="3-9,11-90000")
    assert not elsewhere["placed"] and "does not stand in the indexed text any more" in elsewhere["why"]
    asked(client, notes / "fuel.csv", "place", 400, rows="1-2;drop")


def test_a_file_has_an_outline_whose_lines_have_their_places(there):
    client, notes = there
    lines = asked(client, notes / "plan.md", "outline").json()["lines"]
    assert [line["text"] for line in lines][:2] == ["Garden: md, 14 words", "The greenhouse costs 4,200 euros."]
    place = lines[1]["places"][0]
    assert PLAN[place["start"] : place["end"]] == "The greenhouse costs 4,200 euros."
