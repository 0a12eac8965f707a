"""What a file says of itself, in every format: title, author, date, subject; and what only looks like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.hostile import (
    SENTENCE,
    docx_core,
    docx_members,
    docx_paragraph,
    epub_members,
    make_mhtml,
    make_pdf,
    make_zip,
)
from support.loading import document_of, write

from local_rag.core.documents import LoadedDocument
from local_rag.index.parse.front_matter import front_matter
from local_rag.index.parse.parts import load
from local_rag.index.parse.properties import from_mapping, stated


def properties_of(document: LoadedDocument) -> tuple[str, str, str, str]:
    return document.title, document.author, document.date, document.subject


# --- texts -----------------------------------------------------------------------------------------------------

YAML = """---
title: "Lamps: a ledger"
author: [Ada Keeper, {name: Ben Reed}]
date: 2023-03-31
tags:
  - lamps
  - oil
---
# Night

Text.
"""


def test_front_matter_of_markdown(tmp_path: Path) -> None:
    document = document_of(write(tmp_path, "a.md", YAML))
    assert properties_of(document) == ("Lamps: a ledger", "Ada Keeper, Ben Reed", "2023-03-31", "lamps; oil")
    assert document.text == YAML, "it stays part of the text"


def test_front_matter_of_hugo(tmp_path: Path) -> None:
    text = '+++\ntitle = "Lamps"\ndate = 2023-03-31T09:00:00Z\nauthor = "Ada Keeper"\n+++\n# Night\n'
    assert properties_of(document_of(write(tmp_path, "a.md", text))) == ("Lamps", "Ada Keeper", "2023-03-31", "")


def test_front_matter_that_is_no_yaml_is_read_by_its_lines(tmp_path: Path) -> None:
    text = "---\ntitle: Lamps: a ledger\nauthor: 'Ada Keeper'\nnote: [\n---\n# Night\n"
    assert properties_of(document_of(write(tmp_path, "a.md", text))) == ("Lamps: a ledger", "Ada Keeper", "", "")


def test_a_rule_above_a_text_is_no_front_matter(tmp_path: Path) -> None:
    document = document_of(write(tmp_path, "a.md", "---\n\n# Night\n\nText.\n"))
    assert properties_of(document) == ("Night", "", "", "")


PEP = """PEP: 9001
Title: Lamps in Towers
Author: Ada Keeper <ada@example.org>,
        Ben Reed <ben at example.org>
Status: Draft
Created: 28-Feb-2018
Post-History: 01-Mar-2018

Abstract
========

A lamp.
"""


def test_the_head_of_a_pep(tmp_path: Path) -> None:
    document = document_of(write(tmp_path, "pep-9001.rst", PEP))
    assert properties_of(document) == ("Lamps in Towers", "Ada Keeper, Ben Reed", "2018-02-28", "")


def test_bibliographic_fields_of_docutils(tmp_path: Path) -> None:
    text = "Lamps\n=====\n\n:Author: Ada Keeper\n:Date: 2021-05-04\n:Keywords: lamps, oil\n\nText.\n"
    assert properties_of(document_of(write(tmp_path, "a.rst", text))) == (
        "Lamps",
        "Ada Keeper",
        "2021-05-04",
        "lamps, oil",
    )


def test_the_head_of_a_book_as_plain_text(tmp_path: Path) -> None:
    text = "A free book, by many\n\nTitle: The Lamp\n       and the Ledger\n\nAuthor: Ada Keeper\n\nRelease Date: "
    text += "June 17, 2008 [eBook #9001]\n\n*** START ***\n\nChapter one.\n"
    assert properties_of(document_of(write(tmp_path, "a.txt", text))) == (
        "The Lamp and the Ledger",
        "Ada Keeper",
        "2008-06-17",
        "",
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The keeper's ledger\n\nText.\n", "The keeper's ledger"),
        ("THE LEDGER\n==========\nText.\n", "THE LEDGER"),
        ("Dear Ada,\n\nText.\n", ""),
        ("Copyright (c) 2020 Ada Keeper\n\nText.\n", ""),
        ("The lamp was lit at dusk.\n\nText.\n", ""),
        ("the lamp\n\nText.\n", ""),
        ("The lamp was lit\nat dusk.\n", ""),
        ("2,3,4\n\n5\n", ""),
        ("Only one line", ""),
        ("Date: today\n\nText.\n", ""),
    ],
)
def test_the_first_line_of_a_text_where_it_looks_like_a_title(tmp_path: Path, text: str, title: str) -> None:
    assert document_of(write(tmp_path, "a.txt", text)).title == title


def test_code_has_no_title(tmp_path: Path) -> None:
    assert properties_of(document_of(write(tmp_path, "a.py", "Title = 1\n\n# Author: Ada\n"))) == ("", "", "", "")


def test_an_org_file(tmp_path: Path) -> None:
    text = "#+TITLE: Lamps\n#+AUTHOR: Ada Keeper\n#+DATE: <2023-03-31 Fri>\n* Night\n"
    assert properties_of(document_of(write(tmp_path, "a.org", text))) == ("Lamps", "Ada Keeper", "2023-03-31", "")


def test_the_date_of_a_name_stands_in_for_one_of_its_own(tmp_path: Path) -> None:
    assert document_of(write(tmp_path, "2023-03-31 lamps.txt", SENTENCE)).date == "2023-03-31"
    assert document_of(write(tmp_path, "2024-01-01.md", YAML)).date == "2023-03-31"


def test_json_with_the_usual_names(tmp_path: Path) -> None:
    value = {"title": "Lamps", "authors": [{"name": "Ada Keeper"}], "published": "2020-01", "text": SENTENCE}
    assert properties_of(document_of(write(tmp_path, "a.json", json.dumps(value)))) == (
        "Lamps",
        "Ada Keeper",
        "2020-01",
        "",
    )


def test_metadata_of_a_notebook(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "source": ["# no heading"]},
        {"cell_type": "markdown", "source": ["# Lamps\n", SENTENCE]},
    ]
    text = json.dumps({"cells": cells, "metadata": {"authors": [{"name": "Ada Keeper"}]}})
    document = document_of(write(tmp_path, "a.ipynb", text))
    assert properties_of(document) == ("Lamps", "Ada Keeper", "", "")
    assert properties_of(document_of(write(tmp_path, "b.ipynb", '["x"]'))) == ("", "", "", "")


# --- office, PDF, books -----------------------------------------------------------------------------------------


def test_properties_of_a_pdf(tmp_path: Path) -> None:
    properties = {"Author": "Ada Keeper; Ben Reed", "Subject": "Lamps", "Keywords": "oil; wicks"}
    path = make_pdf(
        tmp_path / "a.pdf", ["One.", "Two."], title="The ledger", properties=properties | {"CreationDate": "D:20230331"}
    )
    for document in load(path).documents:
        assert properties_of(document) == ("The ledger", "Ada Keeper, Ben Reed", "2023-03-31", "Lamps; oil; wicks")


@pytest.mark.parametrize(
    "title",
    [
        "Microsoft Word - draft7.docx",
        "untitled",
        "draft7.pdf",
        "0001018724-18-000005",
        "Book1",
        "d41d8cd98f00b204e9800998ecf8427e",
        "https://example.org/lamps",
    ],
)
def test_a_title_that_a_program_gave_is_none(tmp_path: Path, title: str) -> None:
    assert document_of(make_pdf(tmp_path / "a.pdf", ["Text."], title=title)).title == ""


@pytest.mark.parametrize(
    "author",
    ["Administrator", "user", "root", "python-docx", "https://example.org/ada", "LampWriter Online, a division"],
)
def test_an_author_that_is_no_person_is_none(tmp_path: Path, author: str) -> None:
    properties = {"Author": author, "Creator": "LampWriter 3.0", "CreationDate": "D:00010101"}
    document = document_of(make_pdf(tmp_path / "a.pdf", ["Text."], properties=properties))
    assert (document.author, document.date) == ("", "")


def test_the_largest_lines_of_the_first_page_are_the_title(tmp_path: Path) -> None:
    body = "\n".join(f"The keeper trims the wick on night number {number}." for number in range(12))
    path = make_pdf(tmp_path / "a.pdf", [f"Lamps and ledgers\nof a tower\n{body}"], large=2)
    assert document_of(path).title == "Lamps and ledgers of a tower"
    small = make_pdf(tmp_path / "b.pdf", ["Lamps\nand oil."], large=1)
    assert document_of(small).title == "", "too little else to tell by"
    figures = make_pdf(tmp_path / "c.pdf", [f"4711\n{body}"], large=1)
    assert document_of(figures).title == ""


def test_properties_of_word(tmp_path: Path) -> None:
    core = docx_core(
        "<dc:title>The ledger</dc:title><dc:creator>Ada Keeper</dc:creator><dc:subject>Lamps</dc:subject>"
        "<cp:keywords>oil; wicks</cp:keywords><dcterms:created>2023-03-31T09:30:00Z</dcterms:created>"
    )
    path = make_zip(tmp_path / "a.docx", docx_members(docx_paragraph(SENTENCE)) | core)
    assert properties_of(document_of(path)) == ("The ledger", "Ada Keeper", "2023-03-31", "Lamps; oil; wicks")


def test_a_template_of_word_says_nothing(tmp_path: Path) -> None:
    core = docx_core(
        "<dc:creator>python-docx</dc:creator><dcterms:created>2013-12-23T23:15:00Z</dcterms:created>"
        "<dc:title>Document1</dc:title>"
    )
    path = make_zip(tmp_path / "a.docx", docx_members(docx_paragraph(SENTENCE)) | core)
    assert properties_of(document_of(path)) == ("", "", "", "")


def test_metadata_of_a_book(tmp_path: Path) -> None:
    metadata = "<dc:creator>Ada Keeper</dc:creator><dc:creator>Ben Reed</dc:creator><dc:date>1894</dc:date>"
    metadata += "<dc:subject>Lamps -- Towers</dc:subject><dc:subject>Oil</dc:subject>"
    path = make_zip(tmp_path / "a.epub", epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"}, metadata=metadata))
    assert properties_of(document_of(path)) == (
        "Lamps & Ledgers",
        "Ada Keeper, Ben Reed",
        "1894",
        "Lamps -- Towers; Oil",
    )


# --- mails and pages --------------------------------------------------------------------------------------------

MAIL = """From: =?utf-8?q?Ada_K=C3=A9eper?= <ada@example.org>
To: ben@example.org
Date: Fri, 16 Dec 2022 22:04:16 -0500
Subject: The lamp

It is lit.
"""


def test_headers_of_a_mail(tmp_path: Path) -> None:
    document = document_of(write(tmp_path, "a.eml", MAIL))
    assert properties_of(document) == ("The lamp", "Ada Kéeper <ada@example.org>", "2022-12-17T03:04Z", "")


def test_each_mail_of_a_mailbox_has_its_own(tmp_path: Path) -> None:
    second = MAIL.replace("ada@", "ben@").replace("16 Dec 2022 22:04:16 -0500", "some day").replace("The lamp", "Oil")
    path = write(tmp_path, "a.mbox", f"From ada\n{MAIL}\nFrom ben\n{second}")
    first, other = load(path).documents
    assert (first.title, first.date) == ("The lamp", "2022-12-17T03:04Z")
    assert (other.title, other.author, other.date) == ("Oil", "Ada Kéeper <ben@example.org>", "")


def test_meta_of_a_page(tmp_path: Path) -> None:
    head = """<title>Lamps | The Tower</title><meta name="author" content="Ada Keeper">
      <meta property="article:published_time" content="2023-03-31T09:30:00+00:00">
      <meta name="description" content="How lamps are lit."><meta name="keywords" content="lamps, oil">"""
    path = write(tmp_path, "a.html", f"<html><head>{head}</head><body><p>{SENTENCE}</p></body></html>")
    expected = ("Lamps | The Tower", "Ada Keeper", "2023-03-31", "How lamps are lit.; lamps, oil")
    assert properties_of(document_of(path)) == expected


@pytest.mark.parametrize("wrap", ["{}", "[{}]", '{{"@graph": [{{"@type": "Person"}}, {}]}}'])
def test_linked_data_of_a_page(tmp_path: Path, wrap: str) -> None:
    article = {"headline": "Lamps", "datePublished": "2023-03-31", "author": [{"name": "Ada Keeper"}, "Ben Reed"]}
    script = f'<script type="application/ld+json">{wrap.format(json.dumps(article))}</script>'
    path = write(tmp_path, "a.html", f"<html><head>{script}</head><body><p>{SENTENCE}</p></body></html>")
    assert properties_of(document_of(path)) == ("Lamps", "Ada Keeper, Ben Reed", "2023-03-31", "")


def test_a_page_saved_in_one_file(tmp_path: Path) -> None:
    data = make_mhtml(f'<meta name="author" content="Ada Keeper"><p>{SENTENCE}</p>', "https://example.org/lamp")
    (tmp_path / "a.mhtml").write_bytes(data)
    assert document_of(tmp_path / "a.mhtml").author == "Ada Keeper"


# --- hostile ----------------------------------------------------------------------------------------------------


def test_what_is_hostile_is_short_and_harmless(tmp_path: Path) -> None:
    evil = "\x1b[31mRed\x1b[0m \u202eback \u200b" + "long " * 50_000
    meta = f'<title>{evil}</title><meta name="author" content="{evil}"><meta name="keywords" content="{evil}">'
    documents = [
        document_of(write(tmp_path, "a.html", f"<head>{meta}</head><body><p>{SENTENCE}</p></body>")),
        document_of(write(tmp_path, "a.json", json.dumps({"title": evil, "author": evil, "date": evil}))),
        document_of(write(tmp_path, "a.txt", f"Title: {evil}\nAuthor: {evil}\nDate: {evil}\n\n{SENTENCE}")),
        document_of(write(tmp_path, "a.eml", f"From: {evil}\nSubject: {evil}\nDate: {evil}\n\n{SENTENCE}")),
    ]
    for document in documents:
        for text, most in zip(properties_of(document), (200, 300, 20, 500), strict=True):
            assert len(text) <= most and text.isprintable() and "\u202e" not in text


def test_front_matter_cannot_explode(tmp_path: Path) -> None:
    layers = "\n".join(f"{chr(97 + n)}: &{chr(97 + n)} [{', '.join([f'*{chr(96 + n)}'] * 9)}]" for n in range(1, 20))
    bomb = f"---\na: &a [lol]\n{layers}\nauthor: *t\n---\n{SENTENCE}\n"
    assert document_of(write(tmp_path, "a.md", bomb)).author == ""
    deep = f"---\ntitle: {'[' * 9000}\n---\n{SENTENCE}\n"
    assert SENTENCE in document_of(write(tmp_path, "b.md", deep)).text


def test_values_that_are_no_texts_are_passed_over() -> None:
    odd = {"title": {"a": 1}, "author": [[["x"]], None, True, 7], "date": 2023, 5: "x", "keywords": [1.5, "oil"]}
    known = from_mapping(odd)
    assert (known.title, known.author, known.date, known.subject) == ("", "", "2023", "oil")
    assert stated(authors=["ada@example.org (Ada Keeper)", "ben@example.org"]).author == "Ada Keeper, ben@example.org"
    assert stated(authors=["Keeper, Ada", "Reed, Ben"]).author == "Keeper, Ada; Reed, Ben"


def test_of_broken_front_matter_only_plain_values_are_read():
    front = '---\ntitle: [broken\nauthor: {a\ndate: 2023-03-01\nsubject: "open\n---\nText.\n'
    properties, begin = front_matter(front)
    assert (properties.title, properties.author, properties.date) == ("", "", "2023-03-01")
    assert front[begin:] == "Text.\n"
    assert front_matter("---\ntitle: Part 1: The Tower\nauthor: [a\n---\n")[0].title == "Part 1: The Tower"
