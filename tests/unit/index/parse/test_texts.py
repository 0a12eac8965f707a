"""Files that are texts: what the loaders make of them."""

import pytest
from support.files import PROPERTIES, document_of, load, reason, shown

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.properties import iso_date
from local_rag.text.encoding import decode

KEPT = [
    ("a.txt", "THE LEDGER\n==========\nText.\n", "[title THE LEDGER]"),
    ("a.txt", "Dear Ada,\n\nText.\n", ""),
    ("a.txt", "Copyright (c) 2020 Ada Keeper\n\nText.\n", ""),
    ("a.txt", "The lamp was lit at dusk.\n\nText.\n", ""),
    ("a.txt", "The lamp was lit\nat dusk.\n", ""),
    (
        "a.txt",
        """\
A free book, by many

Title: The Lamp
       and the Ledger

Author: Ada Keeper

Release Date: June 17, 2008 [eBook #9001]

Chapter one.
""",
        "[title The Lamp and the Ledger][author Ada Keeper][date 2008-06-17]",
    ),
    ("2023-03-31 lamps.txt", "Text.\n", "[date 2023-03-31]"),
    (
        "a.org",
        "#+TITLE: Lamps\n#+AUTHOR: Ada Keeper\n#+DATE: <2023-03-31 Fri>\n* Night\n",
        "[title Lamps][author Ada Keeper][date 2023-03-31]",
    ),
    ("a.txt", "Author: Ada Keeper\nDate: 3 May 2021\n\nThe roof leaks.\n", "[author Ada Keeper][date 2021-05-03]"),
    ("a.txt", "We met at noon. The plan:\n\nDate: 3 May 2021\n", ""),
    (
        "a.md",
        "# Minutes\n\n**Date:** 28 August 2023\n- Author: Ada Keeper\n\nWe met.\n",
        "[title Minutes][author Ada Keeper][date 2023-08-28]<1 Minutes>",
    ),
    (
        "a.txt",
        "12 Pier Road\n\n28 August 2023\n\nDear Mr Stone,\n\nI move out.\n\nYours sincerely,\n\nAda Keeper\n",
        "[author Ada Keeper][date 2023-08-28]",
    ),
    (
        "a.txt",
        "Graz, den 28. August 2023\n\nSehr geehrte Frau Huber,\n\nich gehe.\n\nMit freundlichen Grüßen\nAda Keeper\n",
        "[author Ada Keeper][date 2023-08-28]",
    ),
    ("a.lampnotes", "Text.", ""),
    ("Makefile", "all: lamp\n", ""),
    ("a.py", "Title = 1\n\n# Author: Ada\n", ""),
    ("a.txt", "GIF89a is what a picture begins with.\n", ""),
    ("a.md", "%PDF-1.7 is what a PDF begins with.\n", ""),
    ("a.doc", "Not all that is called .doc is of Word.\n", ""),
    ("a.md", "## Second\n\n# First\n\n# Third\n", "[title First]<2 Second><1 First><1 Third>"),
    ("a.md", '+++\ntitle = "Lamps"\ndate = 2023-03-31T09:00:00Z\n+++\nText.\n', "[title Lamps][date 2023-03-31]"),
    (
        "a.md",
        """\
---
title: Lamps: a ledger
author: 'Ada Keeper'
subject: [
date: {a
---
Text.
""",
        "[title Lamps: a ledger][author Ada Keeper]",
    ),
    ("a.md", "---\n\n# Night\n\nText.\n", "[title Night]<1 Night>"),
    (
        "a.rst",
        """\
Lamps
=====

A list::

   x
   -----

Oil
---

Wicks of :ref:`cotton <c>`
~~~~~~~~~~~~~~~~~~~~~~~~~~~

Gas
---

----

end
""",
        "[title Lamps]<1 Lamps><2 Oil><3 Wicks of cotton><2 Gas>",
    ),
    (
        "a.rst",
        """\
=====
Lamps
=====

:Author: Ada Keeper
:Date: 2021-05-04
:Keywords: lamps, oil

Oil
=====
""",
        """\
[title Lamps][author Ada Keeper][date 2021-05-04][subject lamps, oil]<1 Lamps><2 Oil>""",
    ),
    (
        "pep-9001.rst",
        """\
PEP: 9001
Title: Lamps in Towers
Author: Ada Keeper <ada@example.org>,
        Ben Reed <ben at example.org>
Created: 28-Feb-2018
Post-History: 01-Mar-2018

Abstract
========

A lamp.
""",
        """\
[title Lamps in Towers][author Ada Keeper, Ben Reed][date 2018-02-28]<1 Abstract>""",
    ),
]
"""Name, content, and what is known of it; the text is stored as it is written."""

READ = [
    (
        "a.txt",
        "The keeper's ledger\r\n\r\none\rtwo\x0cthr\x00ee bl\xadue \x1b[31mgreen\x1b[0m \u202eabc\n",
        """\
[title The keeper's ledger]The keeper's ledger

one
two
three blue green abc
""",
    ),
    (
        "a.md",
        """\
---
title: "Lamps: a ledger"
author: [Ada Keeper, {name: Ben Reed}]
date: 2023-03-31
tags:
  - lamps
  - oil
---
# Keeper's *log* { #log }

```sh
# not a heading
```

Night watch
-----------

## See [the chart](chart.md) ##

| Item | 2023 |
|---|---|
| Oil \\| gas | 46,298 |
para

---
""",
        """\
[title Lamps: a ledger][author Ada Keeper, Ben Reed][date 2023-03-31][subject lamps; oil]---
title: "Lamps: a ledger"
author: [Ada Keeper, {name: Ben Reed}]
date: 2023-03-31
tags:
  - lamps
  - oil
---
<1 Keeper's log># Keeper's *log* { #log }

```sh
# not a heading
```

<2 Night watch>Night watch
-----------

<2 See the chart>## See [the chart](chart.md) ##

Item | 2023
Oil | gas | 2023: 46,298
para

---
""",
    ),
    (
        "a.html",
        """\
<!DOCTYPE html><html><head><title>Night &amp; lamp</title><script>var secret = 1</script>
<link rel="canonical" href="https://example.org/lamp"><meta name="author" content="Ada Keeper">
<meta property="article:published_time" content="2023-03-31T09:30:00+00:00">
<meta name="description" content="How lamps are lit."><meta name="keywords" content="lamps, oil"></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
<article><h1>The night lamp</h1><p>Paragraph 0 tells how the keeper of the lighthouse trims the wick on night\
 0. Paragraph 1 tells how the keeper of the lighthouse trims the wick on night 1. Paragraph 2 tells how the\
 keeper of the lighthouse trims the wick on night 2. Paragraph 3 tells how the keeper of the lighthouse trims\
 the wick on night 3.</p><h2>Oil&shy;ing the <em>gear</em></h2>
<p>Paragraph 0 tells how the keeper of the lighthouse trims the gear on night 0. Paragraph 1 tells how the\
 keeper of the lighthouse trims the gear on night 1. Paragraph 2 tells how the keeper of the lighthouse trims\
 the gear on night 2. Paragraph 3 tells how the keeper of the lighthouse trims the gear on night 3. Use\
 <code>oilcan</code>, not <b>but</b>ter.</p><pre>step one
  step two</pre><ul><li>lamp<ul><li>glass</li></ul></li><li>wick</li></ul>
<table><caption>Costs</caption><tr><th></th><th>2023</th><th>2022</th></tr>
<tr><td rowspan="2"><p>Revenue</p></td><td>46,298</td><td>51,761</td></tr><tr><td>1,950</td><td>2,050</td></tr\
></table>
<p style="display: none">hidden words</p></article>
<footer>Imprint of the shop</footer></body></html>""",
        """\
[title Night & lamp][author Ada Keeper][date 2023-03-31][subject How lamps are lit.; lamps, oil][url\
 https://example.org/lamp]<1 The night lamp>The night lamp

Paragraph 0 tells how the keeper of the lighthouse trims the wick on night 0. Paragraph 1 tells how the\
 keeper of the lighthouse trims the wick on night 1. Paragraph 2 tells how the keeper of the lighthouse trims\
 the wick on night 2. Paragraph 3 tells how the keeper of the lighthouse trims the wick on night 3.

<2 Oiling the gear>Oiling the gear

Paragraph 0 tells how the keeper of the lighthouse trims the gear on night 0. Paragraph 1 tells how the\
 keeper of the lighthouse trims the gear on night 1. Paragraph 2 tells how the keeper of the lighthouse trims\
 the gear on night 2. Paragraph 3 tells how the keeper of the lighthouse trims the gear on night 3. Use\
 oilcan, not butter.

step one
  step two

- lamp
- glass
- wick

Costs
2023 | 2022
Revenue | 2023: 46,298 | 2022: 51,761
Revenue | 2023: 1,950 | 2022: 2,050""",
    ),
    (
        "a.html",
        """\
<table><tr><td><h2>Lamps</h2><p>Lit.</p></td><td><table><tr><td>Oil</td><td>5</td></tr></table></td></tr></tab\
le>""",
        "[title Lamps]<2 Lamps>Lamps\n\nLit.\n\nOil | 5",
    ),
    (
        "a.html",
        """\
<script type="application/ld+json">{"@graph": [{"@type": "Person"}, {"headline": "Lamps", "datePublished":\
 "2023-03-31", "author": [{"name": "Ada Keeper"}, "Ben Reed"]}]}</script><p>lamp&#x202e; is\
 &#27;[31mlit&#8288;</p>""",
        "[title Lamps][author Ada Keeper, Ben Reed][date 2023-03-31]lamp is lit\u2060",
    ),
    (
        "a.html",
        b'<meta charset="windows-1250"><p>Za\xbf\xf3\xb3\xe6 g\xea\x9cl\xb9 ja\x9f\xf1</p>',
        "Zażółć gęślą jaźń",
    ),
    ("a.csv", "\nItem;May\nOil;5\n\nWick;6\n", "<9 row 2>Item | May\n<9 row 3>Oil | May: 5\n<9 row 5>Wick | May: 6"),
    ("a.tsv", 'Item\tMay\nOil\t"5\n6"\n', "<9 row 1>Item | May\n<9 row 2>Oil | May: 5 6"),
    (
        "a.json",
        '{"lamp": {"oil": 2, "lit": true}, "by": ["Ada", "Bo"], "name": "x\\ud800y"}',
        "lamp: oil: 2; lit: true\n\nby: Ada, Bo; name: x�y",
    ),
    ("a.json", '[{"a": 1, "b": {"c": "x"}}, {"a": 2, "d": null}]', "a: 1; b.c: x\n\na: 2"),
    (
        "a.json",
        """\
{"title": "Lamps", "authors": [{"name": "Ada Keeper"}], "published": "2020-01", "nights": [{"n": 1}, {"n": 2}]}""",
        """\
[title Lamps][author Ada Keeper][date 2020-01]title: Lamps

authors: name: Ada Keeper

published: 2020-01

nights: n: 1

nights: n: 2""",
    ),
    ("a.json", '{"lamp": ', '{"lamp": '),
    ("a.jsonl", '{"a": 1}\n{broken\n\n{"a": 2}\n', "a: 1\n\n{broken\n\na: 2"),
    (
        "a.ipynb",
        """\
{"metadata": {"authors": [{"name": "Ada Quill"}]}, "cells": [{"cell_type": "markdown", "source": ["# Oil\\n",\
 "Two litres."]}, {"cell_type": "code", "source": "# no heading\\n2 + 2", "outputs": [{"data": {"text/plain":\
 ["4"], "image/png": "iVBO"}}, {"evalue": "no oil"}, {"text": "two\\nlines\\n"}]}]}""",
        """\
[title Oil][author Ada Quill]<1 Oil># Oil
Two litres.

```
# no heading
2 + 2
```

```
4
```

```
no oil
```

```
two
lines
```""",
    ),
    ("a.ipynb", '["x"]', '["x"]'),
    (
        "a.ics",
        """\
BEGIN:VCALENDAR
X-WR-CALNAME:Tower
BEGIN:VEVENT
DTSTART;TZID=Europe/Berlin:20230331T093000
DURATION:PT1H
SUMMARY:Trim\\, and fill
LOCATION:Lamp room
RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=4
EXDATE;TZID=Europe/Berlin:20230403T093000
ORGANIZER;CN=Bo:MAILTO:bo@example.org
ATTENDEE;CN=Ada Quill:mailto:ada@example.org
ATTENDEE:mailto:cy@example.org
DESCRIPTION:Bring oil\\nand a wick.
BEGIN:VALARM
DESCRIPTION:ring
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20230401
DTEND;VALUE=DATE:20230403
SUMMARY:Leave
END:VEVENT
BEGIN:VTODO
DUE:20239901T090000Z
SUMMARY:Odd dates
END:VTODO
END:VCALENDAR
""",
        """\
[title Tower]<1 Trim, and fill>Trim, and fill
When: 2023-03-31 09:30 Europe/Berlin to 2023-03-31 10:30 Europe/Berlin
Repeats: every week, on Monday, Wednesday, 4 times
Not on: Monday 3 April 2023
Where: Lamp room
Organizer: Bo <bo@example.org>
With: Ada Quill <ada@example.org>, cy@example.org
Bring oil
and a wick.
Friday 31 March 2023, 09:30: Trim, and fill.
Wednesday 5 April 2023, 09:30: Trim, and fill.
Monday 10 April 2023, 09:30: Trim, and fill.
Wednesday 12 April 2023, 09:30: Trim, and fill.

<1 Leave>Leave
When: 2023-04-01 to 2023-04-02

<1 Odd dates>Odd dates""",
    ),
    (
        "a.srt",
        """\
1
00:00:01,000 --> 00:00:04,000
<i>Light</i> the
lamp.

2
00:00:05,000 --> 00:00:06,000
{\\an8}At dusk.
""",
        "<9 00:00:01>Light the lamp.\n<9 00:00:05>At dusk.",
    ),
    (
        "a.vtt",
        """\
WEBVTT

NOTE no

00:01.000 --> 00:02.000 line:0
<v Ada>Light it.

00:02.000 --> 00:03.000
At dusk.
""",
        "<9 00:01>Ada: Light it.\n<9 00:02>At dusk.",
    ),
    (
        "a.rtf",
        """\
{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}}{\\pict 89504e47}Gr\\'f6\\'dfe \\u8364?\
 \\u-10179?\\u-9017?\\par Item\\cell May\\cell\\row Oil\\cell 5\\cell\\row End.\\par}""",
        "Größe € 📇\nItem | May\nOil | May: 5\nEnd.",
    ),
    (
        "a.eml",
        """\
From: =?utf-8?q?Ada_K=C3=A9eper?= <ada@example.org>
To: ben@example.org
Date: Fri, 16 Dec 2022 22:04:16 -0500
Subject: =?utf-8?q?The_l=C3=A4mp?=
MIME-Version: 1.0
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

<p>It is <b>br=E9ve</b>.</p>
""",
        """\
[title The lämp][author Ada Kéeper <ada@example.org>][date 2022-12-17T03:04Z]Subject: The lämp
From: Ada Kéeper <ada@example.org>
To: ben@example.org
Date: Fri, 16 Dec 2022 22:04:16 -0500

It is bréve.""",
    ),
    (
        "a.mbox",
        """\
From ada Tue Mar  3 08:00:00 2026
Subject: Night 1
From: Ada <ada@example.org>

Lamp 1 was lit.

From ben
Subject: Night 2
Date: some day

Lamp 2
""",
        """\
[title Night 1][author Ada <ada@example.org>]Subject: Night 1
From: Ada <ada@example.org>

Lamp 1 was lit.
[title Night 2]Subject: Night 2
Date: some day

Lamp 2""",
    ),
    (
        "a.mhtml",
        b"""\
From: <Saved by Blink>
Snapshot-Content-Location: https://example.org/lamp
MIME-Version: 1.0
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable

<meta name=3D"author" content=3D"Ada Keeper"><p>Lit.</p>""",
        "[author Ada Keeper][url https://example.org/lamp]Lit.",
    ),
]
"""Name, content, and what is known of it and stored."""


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(("name", "content", "expected"), KEPT)
def test_texts_are_kept_as_they_are_written(tmp_path, name, content, expected):
    found = document_of(written(tmp_path / name, content))
    assert found.text == content
    known = "".join(f"[{name} {value}]" for name in PROPERTIES if (value := getattr(found, name)))
    assert known + "".join(f"<{heading.level} {heading.text}>" for heading in found.headings) == expected
    for heading in found.headings:
        assert heading.text.split()[0] in "".join(content[heading.start :].splitlines()[:2])


MANUAL = """<title>Coffee machine</title><h1>Coffee machine</h1><h2>Grinder</h2>
<p>Turn the ring in the bean container only while the grinder is running, one notch at a time.</p>
<h2>Descaling</h2><p>The machine asks for descaling when the drop lamp blinks. Do not use vinegar; it attacks the seals.
<ol><li>Remove the water filter and empty the drip tray.<li>Pour one bottle of descaler into the tank.
<li>Hold the drop button for three seconds.</ol><h2>Faults</h2>
<table><tr><th>Display<th>Meaning<tr><td>E1<td>Grinder blocked<tr><td>E4<td>Air in the pipes</table>"""


def test_a_page_with_nothing_but_a_document_is_read_whole(tmp_path):
    """The extraction of a page's main text leaves out lists and the headings before tables."""
    manual = document_of(written(tmp_path / "manual.html", MANUAL))
    assert "3. Hold the drop button for three seconds.\n\nFaults\n\nDisplay | Meaning" in manual.text
    assert [heading.text for heading in manual.headings] == ["Coffee machine", "Grinder", "Descaling", "Faults"]


@pytest.mark.parametrize(("name", "content", "expected"), READ)
def test_what_is_stored_of_other_files(tmp_path, name, content, expected):
    assert "\n".join(map(shown, load(written(tmp_path / name, content)).documents)) == expected


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.nxt", b"PK\x03\x04" + bytes(200), ".nxt files cannot be read; it reads .md .txt"),
        ("a.gif", b"GIF89a" + bytes(range(256)), ".gif files cannot be read"),
        ("a.txt", bytes(range(256)) * 64, "is binary, not text"),
        ("a.txt", b"", "is empty"),
        ("a.md", " \n\t\r\n\n", "is empty"),
        ("a.eml", "just some words\n", "no header of a mail"),
        ("a.mbox", "nothing\n", "no message"),
        ("a.mhtml", b"MIME-Version: 1.0\nContent-Type: image/png\n\n" + bytes(range(256)), "holds no page"),
        ("a.ics", "garbage", "damaged"),
        ("a.rtf", "garbage", "not RTF"),
    ],
)
def test_what_is_no_text_is_skipped_with_a_reason(tmp_path, name, content, why):
    assert why in reason(written(tmp_path / name, content))


@pytest.mark.parametrize(("suffix", "command"), [(".doc", "docx"), (".ppt", "pptx"), (".pst", "readpst")])
def test_files_that_nothing_reads_are_named_with_what_converts_them(tmp_path, suffix, command):
    with pytest.raises(FileSkipped, match=f"{suffix} files cannot be read") as skipped:
        load(written(tmp_path / f"my mail{suffix}", bytes(range(256)) * 4))
    assert command in skipped.value.hint and f"'my mail{suffix}'" in skipped.value.hint


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Größe, naïve, 12 €"),
        ("utf-8-sig", "Größe"),
        ("utf-16", "Größe"),
        ("utf-16-le", "The lamp is lit at dusk"),
        ("utf-32-be", "The lamp is lit at dusk"),
        ("cp1252", "L’été dernier, nous avons mangé à la crêperie où l’on sert des galettes très salées."),
        ("cp1251", "Смотритель зажигает маяк каждый вечер на закате и гасит его на рассвете."),
        ("euc_jp", "灯台守は毎晩日没に灯をともし、夜明けに消す。島には他に誰もいない。"),
        ("iso2022_jp", "灯台守は毎晩日没に灯をともす。"),
        ("iso8859-2", "Každý večer za soumraku strážce rozžíhá žárovku majáku a ráno ji opět zháší, že ano."),
    ],
)
def test_encodings(encoding, text):
    assert decode(text.encode(encoding)) == text


def test_a_declared_encoding_is_used_unless_the_bytes_are_utf8():
    assert decode("Zażółć gęślą jaźń".encode("iso8859-2"), "iso-8859-2") == "Zażółć gęślą jaźń"
    assert decode("Zażółć".encode(), "iso-8859-2") == "Zażółć"
    assert decode(("Größe und Höhe. " * 50).encode() + b"\xff").startswith("Größe und Höhe. ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-03-31T09:30:00+02:00", "2023-03-31"),
        ("2023-03-31T09:30Z", "2023-03-31T09:30Z"),
        ("2023/3/7", "2023-03-07"),
        ("D:20230331093000+02'00'", "2023-03-31"),
        ("D:202301011200", "2023-01-01"),
        ("20230331T093000Z", "2023-03-31"),
        ("D:2023", "2023"),
        ("2023-03", "2023-03"),
        ("28-Feb-2018", "2018-02-28"),
        ("the 3rd of March 1894", "1894-03-03"),
        ("Fri, 16 Dec 2022 17:04:16 -0500", "2022-12-16"),
        ("March, 1994", "1994-03"),
        ("Marketing 2020", "2020"),
        ("Decision 2021", "2021"),
        ("31.3.2023", "2023-03-31"),
        ("3/31/2023", "2023-03-31"),
        ("31/3/2023", "2023-03-31"),
        ("3/4/2023", "2023"),
        ("c. 1890", "1890"),
        ("2023-02-30", "2023"),
        *((text, "") for text in ("", "soon", "$Date$", "0017-03-31", "D:00010101", "3023-01-01", "9" * 5000, "12:30")),
    ],
)
def test_a_date_is_as_precise_as_it_is_written(text, expected):
    assert iso_date(text) == expected
