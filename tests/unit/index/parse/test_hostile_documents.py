"""Documents that were made to harm: each is read without harm or skipped with a reason, and none reads other files."""

import struct
import sys
import zipfile
import zlib

import pytest
from support.files import PROPERTIES, load
from support.hostile import SENTENCE, docx_members, docx_paragraph, epub_members, lie_about_sizes, make_zip

from local_rag.core.errors import FileSkipped

CANARY = "canary-of-another-file"
MOST = 1_000_000
"""Characters that none of these documents may become: they hold a sentence."""

EVIL = "\x1b[31mRed\x1b[0m \u202eback \u200b" + "long " * 20_000
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)
HEADS = {
    "external entity": '<!DOCTYPE x [<!ENTITY j SYSTEM "{outside}">]>',
    "external DTD": '<!DOCTYPE x SYSTEM "{outside}">',
    "laughs": f"{LAUGHS}]>",
}
BOUNDARIES = "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(400))
ANCHORS = "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(12))
SCRIPT = "+ADw-script+AD4-alert(1)+ADw-/script+AD4-"
ATTRIBUTES = " ".join(f"a{number}='x'" for number in range(2_000))
TEXTS = [
    ("xml", f"<?xml version='1.0'?>{HEADS['external entity']}<x>{SENTENCE} &j;</x>"),
    ("xml", f"{LAUGHS}]><x>{SENTENCE} &j;</x>"),
    (
        "html",
        '<html><head><meta http-equiv="refresh" content="0;url={outside}"><base href="{outside}">'
        '<link rel="import" href="{outside}"><script src="http://box.test/x.js">document.write("'
        + CANARY
        + '")</script>'
        f'</head><body><p>{SENTENCE}</p><iframe src="{{outside}}"></iframe><object data="{{outside}}"></object>'
        '<img src="http://box.test/i.png"><svg><use href="{outside}"/></svg></body></html>',
    ),
    ("html", f'<meta charset="utf-7"><p>{SCRIPT}</p><p>{SENTENCE}</p>'),
    ("html", f"<p {ATTRIBUTES}>{SENTENCE}</p><!--{'-' * 50_000}<![CDATA[{']' * 50_000}"),
    ("html", f'<title>{EVIL}</title><meta name="author" content="{EVIL}"><p>{SENTENCE}</p>'),
    ("html", "<table><tr><td>" * 2_000 + SENTENCE),
    ("html", "<div>" * 20_000 + SENTENCE + "</div>" * 20_000),
    ("html", f'<table><tr><td colspan="999999999" rowspan="999999999">{SENTENCE}<td>x</table>'),
    ("eml", f"From: a@example.org\nMIME-Version: 1.0\n{BOUNDARIES}Content-Type: text/plain\n\n{SENTENCE}\n"),
    ("eml", "From: a@example.org\n" + "".join(f"X-{n}: {'y' * 50}\n" for n in range(20_000)) + f"\n{SENTENCE}\n"),
    ("eml", f"From: {EVIL}\nSubject: {EVIL}\nDate: {EVIL}\n\n{SENTENCE}"),
    ("eml", f"From: {'(' * 5_000}a\nContent-Type: {'[' * 5_000}\nContent-Disposition: ;;=\n\n{SENTENCE}"),
    (
        "eml",
        'From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'
        f"--b\n\n{SENTENCE}\n"
        '--b\nContent-Disposition: attachment; filename="../../../tmp/\x1b[31mevil"\n\nevil\n--b--\n',
    ),
    ("mbox", f"From a Tue Mar  3 08:00:00 2026\nSubject: {'x' * 500_000}\n\n{SENTENCE}\n"),
    ("json", f'{{"a": {"9" * 100_000}, "b": 1e99999, "c": NaN, "d": "{SENTENCE}"}}'),
    ("json", '{"a":' * 50_000 + f'"{SENTENCE}"' + "}" * 50_000),
    ("json", "[" * 100_000 + f'"{SENTENCE}"' + "]" * 100_000),
    ("json", "{" + '"a": 1, ' * 50_000 + f'"a": "{SENTENCE}"}}'),
    ("csv", ",".join(f"c{n}" for n in range(20_000)) + "\n" + "," * 19_999 + SENTENCE + "\n"),
    ("csv", f"name,note\nlog,{'y' * 900_000}\nlamp,{SENTENCE}\n"),
    ("csv", f"name,note\n=cmd|'/c calc'!A1,@SUM(1)\n+1,{SENTENCE}\n\x00,\x00\n"),
    ("md", f"---\na: &a [x]\n{ANCHORS}\nauthor: *m\n---\n\n{SENTENCE}\n"),
    ("md", f"---\ntitle: {'[' * 9_000}\n---\n\n{SENTENCE}\n"),
    ("md", f"---\ntitle: !!python/object/apply:os.system [touch pwned]\n---\n\n{SENTENCE}\n"),
    ("md", f"# a{' ' * 6_000}b\n\n{SENTENCE}\n\n{'#' * 5_000}\n\n{'=' * 5_000}\n{'-' * 5_000}\n"),
    ("md", f"{'> - ' * 1_000}{SENTENCE}\n\n" + "|a" * 500 + "\n" + "|-" * 500 + "\n" + "|\n" * 500),
    ("rst", "=" * 5_000 + "\n" + "a" * 5_000 + "\n" + f"{'=' * 5_000}\n\n{SENTENCE}\n"),
    ("txt", f"{'x' * 900_000} {SENTENCE}"),
    ("txt", f"{SENTENCE}\n" + "a" + "\u0301" * 50_000 + "\n" + "\u202e\u2066" * 20_000),
    ("txt", f"Title: {EVIL}\nAuthor: {EVIL}\nDate: {EVIL}\n\n{SENTENCE}"),
    ("ics", f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:{SENTENCE}\nDTSTART:{'9' * 5_000}\nEND:VEVENT\nEND:VCALENDAR\n"),
    ("rtf", "{\\rtf1 " + "{" * 20_000 + SENTENCE + "}" * 20_001),
    ("srt", f"1\n00:00:01,000 --> 00:00:02,000\n{SENTENCE}{'<' * 20_000}\n"),
]


@pytest.fixture
def outside(tmp_path):
    """The URL of a file that nobody asked to read."""
    (tmp_path / "outside.txt").write_text(CANARY)
    return (tmp_path / "outside.txt").as_uri()


def harmless(path, passing=False):
    """Whether the file was read, as what it says, or skipped because of what is in it."""
    before, limit = set(path.parent.iterdir()), sys.getrecursionlimit()
    try:
        file = load(path)
    except FileSkipped as skipped:
        assert len(str(skipped)) < 500 and "\x1b" not in str(skipped) and not skipped.passing, "the content is to blame"
    else:
        text = "\n".join(document.text for document in file.documents)
        assert (SENTENCE in text or file.scans) and CANARY not in text and len(text) < MOST
        assert all(line.isprintable() for line in file.warnings)
        for document in file.documents:
            known = [str(getattr(document, name) or "") for name in PROPERTIES]
            assert all(len(value) <= 500 and value.isprintable() and "\u202e" not in value for value in known)
    assert sys.getrecursionlimit() == limit
    assert set(path.parent.iterdir()) == before and not list(path.parent.parent.glob("evil*")), "something was written"


@pytest.mark.parametrize(("suffix", "text"), TEXTS, ids=[f"{n} {suffix}" for n, (suffix, _) in enumerate(TEXTS)])
def test_texts(tmp_path, monkeypatch, outside, suffix, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"a.{suffix}").write_text(text.replace("{outside}", outside))
    harmless(tmp_path / f"a.{suffix}")


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    ("name", "part"),
    [("a.docx", "word/document.xml"), ("a.epub", "OPS/a.xhtml"), ("a.epub", "OPS/book.opf"), ("a.odt", "content.xml")],
)
def test_xml_inside(tmp_path, outside, head, name, part):
    members = docx_members(docx_paragraph(f"{SENTENCE} &j;")) | epub_members(
        {"a.xhtml": f"<p>{SENTENCE}</p><p>&j;</p>"}
    )
    members["content.xml"] = f"<x><body><text><p>{SENTENCE} &j;</p></text></body></x>".encode()
    start = b"?>" if b"?>" in members[part] else b""
    declaration, _, tree = members[part].rpartition(start) if start else (b"", b"", members[part])
    members[part] = declaration + start + HEADS[head].format(outside=outside).encode() + tree
    harmless(make_zip(tmp_path / name, members))


@pytest.mark.parametrize("target", ["../../outside.txt", "{outside}"])
def test_names_of_parts_that_lead_elsewhere(tmp_path, outside, target):
    target = target.format(outside=outside)
    book = epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"})
    book["OPS/book.opf"] = book["OPS/book.opf"].replace(b'href="a.xhtml"', f'href="{target}"'.encode())
    harmless(make_zip(tmp_path / "a.epub", book))
    word = docx_members(docx_paragraph(SENTENCE))
    external = f'TargetMode="External" Target="{target}"'.encode()
    word["_rels/.rels"] = word["_rels/.rels"].replace(b'Target="word/document.xml"', external)
    harmless(make_zip(tmp_path / "a.docx", word))


def test_zips(tmp_path):
    word, path = docx_members(docx_paragraph(SENTENCE)), tmp_path / "a.docx"
    data = make_zip(tmp_path / "inner.zip", {"x": bytes(4_000_000)}).read_bytes()
    for _ in range(5):
        data = make_zip(tmp_path / "inner.zip", {f"{number}.zip": data for number in range(3)}).read_bytes()
    harmless(make_zip(path, word | {"word/media/image.zip": data}))
    harmless(tmp_path / "inner.zip")
    harmless(make_zip(path, word | {f"word/{number}": b"" for number in range(10_001)}))
    for size in (10, 0xFFFFFFFE):
        lie_about_sizes(make_zip(path, word), size)
        harmless(path)
    old, new = struct.pack("<HHH", 20, 0, 8), struct.pack("<HHH", 20, 0, 0x62)
    path.write_bytes(make_zip(path, word).read_bytes().replace(old, new))  # a method that nobody has
    harmless(path)
    make_zip(path, word)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/document.xml", b"<x>another</x>")
    harmless(path)


BOMB = zlib.compress(bytes(30_000_000), 6)
STREAM = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(BOMB), BOMB)
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>"


@pytest.mark.parametrize(
    "objects",
    [
        [b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"],
        [b"<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>", PAGE],
        [b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % (number + 3) for number in range(3_000)],
        [b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", b"3 0 R"],
        [b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", PAGE, STREAM],
    ],
    ids=["a circle", "a billion pages", "pages within pages", "an object that is itself", "zeros"],
)
def test_pdf(tmp_path, objects):
    """Its cross references are left for the reader to repair."""
    numbered = enumerate([b"<< /Type /Catalog /Pages 2 0 R >>", *objects], 1)
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % pair for pair in numbered)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n" + body + b"trailer << /Root 1 0 R >>\n%%EOF\n")
    harmless(tmp_path / "a.pdf")
