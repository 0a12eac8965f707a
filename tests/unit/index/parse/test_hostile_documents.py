"""Documents that were made to harm: each is read without harm or skipped with a reason, and none reads other files."""

from __future__ import annotations

import json
import socket
import struct
import sys
import zipfile
import zlib

import pytest
from support.hostile import (
    SENTENCE,
    docx_members,
    docx_paragraph,
    epub_members,
    lie_about_sizes,
    make_pdf,
    make_zip,
)

from local_rag.index.parse.worker import parse

CANARY = "canary-of-another-file"
MOST = 1_000_000
"""Characters that none of these documents may become: they hold a sentence."""

LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)


def outside(path):
    """A URL of a file that nobody asked to read."""
    (path.parent / "outside.txt").write_text(CANARY)
    return (path.parent / "outside.txt").as_uri()


def entity(path):
    return f'<!DOCTYPE x [<!ENTITY e SYSTEM "{outside(path)}">]>'


def external_entity_in_xml(path):
    path.with_suffix(".xml").write_text(f"<?xml version='1.0'?>{entity(path)}<x>{SENTENCE} &e;</x>")


def external_entity_in_docx(path):
    members = docx_members(docx_paragraph(SENTENCE + " &e;"))
    document = members["word/document.xml"].decode()
    make_zip(path.with_suffix(".docx"), members | {"word/document.xml": (entity(path) + document).encode()})


def external_entity_in_epub(path):
    members = epub_members({"a.xhtml": f"<p>{SENTENCE}</p><p>&e;</p>"})
    page = members["OPS/a.xhtml"].decode().replace("?>", f"?>{entity(path)}", 1)
    make_zip(path.with_suffix(".epub"), members | {"OPS/a.xhtml": page.encode()})


def external_dtd_in_epub(path):
    members = epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"})
    dtd = f'<!DOCTYPE package SYSTEM "{outside(path)}">'
    book = members["OPS/book.opf"].decode().replace("?>", f"?>{dtd}", 1)
    make_zip(path.with_suffix(".epub"), members | {"OPS/book.opf": book.encode()})


def laughs_in_xml(path):
    path.with_suffix(".xml").write_text(f"{LAUGHS}]><x>{SENTENCE} &j;</x>")


def laughs_in_docx(path):
    members = docx_members(docx_paragraph(SENTENCE + " &j;"))
    document = members["word/document.xml"].decode()
    make_zip(path.with_suffix(".docx"), members | {"word/document.xml": f"{LAUGHS}]>{document}".encode()})


def laughs_in_epub(path):
    members = epub_members({"a.xhtml": f"<p>{SENTENCE} &j;</p>"})
    page = members["OPS/a.xhtml"].decode().replace("?>", f"?>{LAUGHS}]>", 1)
    make_zip(path.with_suffix(".epub"), members | {"OPS/a.xhtml": page.encode()})


def a_chapter_outside_the_book(path):
    outside(path)
    make_zip(path.with_suffix(".epub"), epub_members({"../../outside.txt": f"<p>{SENTENCE}</p>"}))


def a_chapter_with_the_address_of_a_file(path):
    members = epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"})
    book = members["OPS/book.opf"].decode().replace('href="a.xhtml"', f'href="{outside(path)}"')
    make_zip(path.with_suffix(".epub"), members | {"OPS/book.opf": book.encode()})


def a_document_outside_its_package(path):
    members = docx_members(docx_paragraph(SENTENCE))
    relations = members["_rels/.rels"].decode().replace("word/document.xml", outside(path))
    external = relations.replace("Target=", 'TargetMode="External" Target=')
    make_zip(path.with_suffix(".docx"), members | {"_rels/.rels": external.encode()})


def a_page_that_loads_things(path):
    there = outside(path)
    path.with_suffix(".html").write_text(
        f'<html><head><meta http-equiv="refresh" content="0;url={there}"><base href="{there}">'
        f'<link rel="import" href="{there}"><script src="http://box.test/x.js">document.write("{CANARY}")</script></head>'
        f'<body><p>{SENTENCE}</p><iframe src="{there}"></iframe><object data="{there}"></object>'
        f'<img src="http://box.test/i.png"><svg><use href="{there}"/></svg></body></html>'
    )


def a_zip_in_a_zip_in_a_zip(path):
    inner = path.with_suffix(".zip")
    make_zip(inner, {"x": bytes(4_000_000)})
    for _ in range(5):
        data = inner.read_bytes()
        make_zip(inner, {f"{number}.zip": data for number in range(10)})
    extra = {"word/media/image.zip": inner.read_bytes()}
    make_zip(path.with_suffix(".docx"), docx_members(docx_paragraph(SENTENCE)) | extra)


def a_great_many_members(path):
    names = {f"OPS/{number}": b"" for number in range(20_000)}
    make_zip(path.with_suffix(".epub"), epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"}, extra=names))


def members_of_one_name(path):
    make_zip(path.with_suffix(".docx"), docx_members(docx_paragraph(SENTENCE)))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path.with_suffix(".docx"), "a") as archive:
        archive.writestr("word/document.xml", b"<x>another</x>")


def sizes_of_four_gigabytes(path):
    make_zip(path.with_suffix(".docx"), docx_members(docx_paragraph(SENTENCE)))
    lie_about_sizes(path.with_suffix(".docx"), 0xFFFFFFFE)


def a_method_that_nobody_has(path):
    file = make_zip(path.with_suffix(".docx"), docx_members(docx_paragraph(SENTENCE)))
    file.write_bytes(
        file.read_bytes().replace(struct.pack("<HH", 20, 0) + b"\x08\x00", struct.pack("<HH", 20, 0) + b"\x62\x00")
    )


def pdf(path, *objects):
    """A PDF of these objects, numbered from 1; its cross references are left for the reader to repair."""
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % (number, one) for number, one in enumerate(objects, 1))
    path.with_suffix(".pdf").write_bytes(b"%PDF-1.7\n" + body + b"trailer << /Root 1 0 R >>\n%%EOF\n")


CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"


def pages_in_a_circle(path):
    pdf(path, CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>")


def a_billion_pages(path):
    pdf(path, CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>", b"<< /Type /Page /Parent 2 0 R >>")


def pages_within_pages(path):
    kids = [b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % (number + 3) for number in range(3_000)]
    pdf(path, CATALOG, *kids)


def an_object_that_is_itself(path):
    pdf(path, CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", b"3 0 R")


def a_stream_of_zeros(path):
    bomb = zlib.compress(bytes(80_000_000), 6)
    stream = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(bomb), bomb)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>"
    pdf(path, CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, stream)


def actions_of_a_pdf(path):
    make_pdf(path.with_suffix(".pdf"), [SENTENCE])
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import DictionaryObject, NameObject, TextStringObject

    writer = PdfWriter(PdfReader(path.with_suffix(".pdf")))
    call = TextStringObject("app.launchURL('http://box.test/')")
    script = {NameObject("/S"): NameObject("/JavaScript"), NameObject("/JS"): call}
    writer.root_object[NameObject("/OpenAction")] = DictionaryObject(script)
    writer.add_attachment("outside.txt", CANARY.encode())
    with path.with_suffix(".pdf").open("wb") as file:
        writer.write(file)


def parts_within_parts(path):
    lines = ["From: a@example.org", "MIME-Version: 1.0"]
    for number in range(400):
        lines += [f'Content-Type: multipart/mixed; boundary="b{number}"', "", f"--b{number}"]
    path.with_suffix(".eml").write_text("\n".join([*lines, "Content-Type: text/plain", "", SENTENCE, ""]))


def a_great_many_headers(path):
    headers = "".join(f"X-{number}: {'y' * 50}\n" for number in range(20_000))
    path.with_suffix(".eml").write_text(f"From: a@example.org\n{headers}\n{SENTENCE}\n")


def an_attachment_with_a_path(path):
    path.with_suffix(".eml").write_text(
        'From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'
        f"--b\n\n{SENTENCE}\n"
        '--b\nContent-Disposition: attachment; filename="../../../tmp/\x1b[31mevil"\n\nevil\n--b--\n'
    )


def a_header_without_end(path):
    path.with_suffix(".mbox").write_text(f"From a Tue Mar  3 08:00:00 2026\nSubject: {'x' * 500_000}\n\n{SENTENCE}\n")


def numbers_without_end(path):
    path.with_suffix(".json").write_text(f'{{"a": {"9" * 100_000}, "b": 1e99999, "c": NaN, "d": "{SENTENCE}"}}')


def objects_within_objects(path):
    path.with_suffix(".json").write_text('{"a":' * 50_000 + f'"{SENTENCE}"' + "}" * 50_000)


def one_key_many_times(path):
    path.with_suffix(".json").write_text("{" + '"a": 1, ' * 50_000 + f'"a": "{SENTENCE}"}}')


def a_great_many_columns(path):
    path.with_suffix(".csv").write_text(
        ",".join(f"c{n}" for n in range(20_000)) + "\n" + "," * 19_999 + SENTENCE + "\n"
    )


def formulas(path):
    path.with_suffix(".csv").write_text(f"name,note\n=cmd|'/c calc'!A1,@SUM(1)\n+1,{SENTENCE}\n\x00,\x00\n")


def front_matter_that_laughs(path):
    lines = ["a: &a [x]", *(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(12))]
    path.with_suffix(".md").write_text("\n".join(["---", *lines, "---", "", SENTENCE, ""]))


def front_matter_with_code(path):
    path.with_suffix(".md").write_text(
        f"---\ntitle: !!python/object/apply:os.system [touch pwned]\n---\n\n{SENTENCE}\n"
    )


def a_heading_of_blanks(path):
    path.with_suffix(".md").write_text(
        f"# a{' ' * 6_000}b\n\n{SENTENCE}\n\n{'#' * 5_000}\n\n{'=' * 5_000}\n{'-' * 5_000}\n"
    )


def adornments_without_end(path):
    path.with_suffix(".rst").write_text("=" * 5_000 + "\n" + "a" * 5_000 + "\n" + f"{'=' * 5_000}\n\n{SENTENCE}\n")


def a_page_in_utf7(path):
    script = "+ADw-script+AD4-alert(1)+ADw-/script+AD4-"
    path.with_suffix(".html").write_text(f'<meta charset="utf-7"><p>{script}</p><p>{SENTENCE}</p>')


def attributes_without_end(path):
    attributes = " ".join(f"a{number}='x'" for number in range(2_000))
    path.with_suffix(".html").write_text(f"<p {attributes}>{SENTENCE}</p><!--{'-' * 50_000}<![CDATA[{']' * 50_000}")


def marks_without_a_letter(path):
    path.with_suffix(".txt").write_text(f"{SENTENCE}\n" + "a" + "\u0301" * 50_000 + "\n" + "\u202e\u2066" * 20_000)


MADE = [
    value
    for name, value in globals().items()
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name not in ("outside", "entity", "pdf")
    and not name.startswith("test_")
]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_a_document_that_was_made_to_harm(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("a look-up"))
    make(tmp_path / "document")
    before = {path.name for path in tmp_path.iterdir()}
    (path,) = [path for path in tmp_path.iterdir() if path.stem == "document" and path.suffix != ".zip"]
    limit = sys.getrecursionlimit()
    reply = parse(path)
    if "skipped" in reply:
        assert reply["skipped"] and len(reply["skipped"]) < 500 and "\x1b" not in reply["skipped"]
        assert not reply.get("passing"), "the content is to blame"
    else:
        text = "\n".join(part for document in reply["documents"] for part in (document["title"], document["text"]))
        assert SENTENCE in text
        assert CANARY not in text
        assert len(text) < MOST
        assert "\x1b" not in json.dumps(reply["warnings"])
    assert sys.getrecursionlimit() == limit
    assert {path.name for path in tmp_path.iterdir()} == before, "something was written"
    assert not list(tmp_path.parent.glob("evil*"))
