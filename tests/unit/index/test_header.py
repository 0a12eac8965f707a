"""The header of a passage, and the words of a file's name that it begins with."""

from __future__ import annotations

import pytest

from local_rag.index.names import DOCUMENT_LENGTH, HEADER_LENGTH, document_header, passage_header
from local_rag.index.names import folder_words, name_date, name_text, name_words


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
        ("/manuals/iso-27001.pdf", "iso 27001"),
        ("/manuals/utf8.txt", "utf8"),
        ("/manuals/pump-parts__pump-2.txt", "pump parts 2"),
        ("/notes/2023-03-31-pumps.md", "2023-03-31 pumps"),
        ("/notes/Copy of Lease Agreement (2).docx", "Lease Agreement"),
        ("/notes/re\u0301sume\u0301.pdf", "résumé"),
        ("/notes/हिन्दी_रिपोर्ट.txt", "हिन्दी रिपोर्ट"),
        ("https://www.example.org/posts/water%20pumps/?page=2", "water pumps"),
    ],
)
def test_the_words_of_a_name_are_those_that_a_person_says(path: str, expected: str) -> None:
    assert " ".join(name_words(path)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "0000320193-23-000106.pdf",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301.pdf",
        "d41d8cd98f00b204e9800998ecf8427e.txt",
        "dQw4w9WgXcQ.html",
        "2310.11511v1.pdf",
        "document(1).pdf",
        "IMG_1234.pdf",
        "Untitled 3.docx",
        "4983",
    ],
)
def test_a_name_that_a_program_gave_has_no_words(name: str) -> None:
    assert name_words(f"/home/anna/{name}") == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/pumps/README.md", "README"),
        ("/home/pumps/docs/index.rst", "index"),
        ("/home/lectures/03.md", ""),
        ("/README", "README"),
    ],
)
def test_a_folder_gives_no_words_so_that_it_can_move(path: str, expected: str) -> None:
    assert " ".join(name_words(path)) == expected


def test_the_date_in_a_name_is_a_day_or_a_month() -> None:
    assert name_date("/notes/Scan_20230331.pdf") == "2023-03-31"
    assert name_date("/notes/minutes 2023-03.md") == "2023-03"
    assert name_date("/filings/3M_2018_10K.pdf") == name_date("/notes/0000320193-23-000106.pdf") == ""


def test_full_text_search_sees_a_name_as_it_is_written_and_its_words() -> None:
    assert name_text("/notes/pep-0572.rst") == "pep-0572 572"
    assert name_text("/notes/0000320193-23-000106.pdf") == "0000320193-23-000106"
    assert folder_words("/water pumps/2023/lease.pdf") == ["water", "pumps", "2023"]


def test_a_name_and_a_title_that_repeats_it_are_said_once() -> None:
    assert document_header("/notes/pep-0572.rst", "Assignment Expressions") == "pep 0572 572. Assignment Expressions"
    assert document_header("/notes/pep-0572.rst", "PEP 572 – Assignment") == "PEP 572 – Assignment"
    assert document_header("/filings/BESTBUY_2023_10K.pdf", "Best Buy") == "BESTBUY 2023 10K. Best Buy"
    assert document_header("/notes/water_pumps_2023.md", "Water pumps") == "water pumps 2023"
    assert document_header("https://example.org/pumps", "https://example.org/pumps") == "pumps"
    assert document_header("/notes/IMG_1.pdf", "") == ""


def test_the_heading_path_follows_without_what_the_title_says() -> None:
    header = document_header("/notes/pep-0572.rst", "Assignment Expressions")
    assert passage_header(header, "Assignment Expressions > Syntax > Scope") == f"{header}. Syntax > Scope"
    assert passage_header(header, "") == header
    assert passage_header("", "Syntax") == "Syntax"
    assert passage_header("What is a pump?", "Valves") == "What is a pump? Valves"


def test_a_header_is_bounded_and_keeps_the_innermost_heading() -> None:
    header = document_header("/notes/" + "pump " * 50 + ".md", "a long title " * 1000)
    assert len(header) <= DOCUMENT_LENGTH
    deep = passage_header(header, " > ".join(f"Section {number} of a very long path" for number in range(100)))
    assert len(deep) <= HEADER_LENGTH
    assert deep.endswith("Section 99 of a very long path")
