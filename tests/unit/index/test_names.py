"""The words of a file's name, and the header of a passage that begins with them."""

from __future__ import annotations

import pytest

from local_rag.index import names
from local_rag.index.names import document_header, passage_header


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/notes/pep-0572.rst", "pep 0572 572"),
        ("/filings/3M_2018_10K.pdf", "3M 2018 10K"),
        ("/filings/JPMORGAN_2022Q2_10Q.pdf", "JPMORGAN 2022 Q2 10Q"),
        ("/filings/FY2023Q3.pdf", "FY 2023 Q3"),
        ("/filings/AnnualReport2023.pdf", "Annual Report 2023"),
        ("/manuals/APIReference.html", "API Reference"),
        ("/manuals/rfc2616.txt", "rfc 2616"),
        ("/manuals/utf8.txt", "utf8"),
        ("/manuals/pump-parts__pump-2.txt", "pump parts 2"),
        ("/notes/2023-03-31-pumps.md", "2023-03-31 pumps"),
        ("/notes/re\u0301sume\u0301.pdf", "résumé"),
        ("/notes/हिन्दी_रिपोर्ट.txt", "हिन्दी रिपोर्ट"),
        ("https://www.example.org/posts/water%20pumps/?page=2", "water pumps"),
        # names that a program gave
        ("/a/0000320193-23-000106.pdf", ""),
        ("/a/d41d8cd98f00b204e9800998ecf8427e.txt", ""),
        ("/a/2310.11511v1.pdf", "2310 11511v1"),
        ("/a/document(1).pdf", ""),
        ("/a/IMG_1234.pdf", ""),
        # a folder gives no words, so that it can move
        ("/home/pumps/README.md", "README"),
        ("/home/lectures/03.md", ""),
        ("/README", "README"),
        ("/", ""),
    ],
)
def test_the_words_of_a_name_are_those_that_a_person_says(path, expected):
    assert " ".join(names.name_words(path)) == expected


@pytest.mark.parametrize(
    ("function", "path", "expected"),
    [
        (names.name_date, "/notes/Scan_20230331.pdf", "2023-03-31"),
        (names.name_date, "/notes/minutes 2023-03.md", "2023-03"),
        (names.name_date, "/filings/3M_2018_10K.pdf", ""),
        (names.name_date, "/notes/0000320193-23-000106.pdf", ""),
        (names.name_text, "/notes/pep-0572.rst", "pep-0572 572"),
        (names.name_text, "/notes/0000320193-23-000106.pdf", "0000320193-23-000106"),
        (names.folder_words, "/water pumps/2023/lease.pdf", ["water", "pumps", "2023"]),
        (names.called, "/2023-03 North Pier.md", "2023-03 North Pier march märz 2023 NorthPier"),
    ],
)
def test_dates_and_what_full_text_search_sees(function, path, expected):
    assert function(path) == expected


@pytest.mark.parametrize(
    ("path", "title", "header"),
    [
        ("/notes/pep-0572.rst", "Assignment Expressions", "pep 0572 572. Assignment Expressions"),
        ("/notes/pep-0572.rst", "PEP 572 – Assignment", "PEP 572 – Assignment"),
        ("/filings/BESTBUY_2023_10K.pdf", "Best Buy", "BESTBUY 2023 10K. Best Buy"),
        ("/notes/water_pumps_2023.md", "Water pumps", "water pumps 2023"),
        ("https://example.org/pumps", "https://example.org/pumps", "pumps"),
        ("/notes/IMG_1.pdf", "", ""),
    ],
)
def test_a_name_and_a_title_that_repeats_it_are_said_once(path, title, header):
    assert document_header(path, title) == header


@pytest.mark.parametrize(
    ("header", "heading", "expected"),
    [
        ("pep 572. Expressions", "Expressions > Syntax > Scope", "pep 572. Expressions. Syntax > Scope"),
        ("pep 572. Expressions", "", "pep 572. Expressions"),
        ("", "Syntax", "Syntax"),
        ("What is a pump?", "Valves", "What is a pump? Valves"),
    ],
)
def test_the_heading_path_follows_without_what_the_title_says(header, heading, expected):
    assert passage_header(header, heading) == expected


def test_a_header_is_bounded_and_keeps_the_innermost_heading():
    header = document_header("/notes/" + "pump " * 50 + ".md", "a long title " * 1000)
    deep = passage_header(header, " > ".join(f"Section {number} of a very long path" for number in range(100)))
    assert len(header) <= names.DOCUMENT_LENGTH and len(deep) <= names.HEADER_LENGTH
    assert deep.endswith("Section 99 of a very long path")
