"""Provide two notes, and an evaluation's cases about them."""

from __future__ import annotations

import json

PLAN = "# Garden plan\n\n## Costs\n\nThe greenhouse costs 4,200 euros. The fence was paid for in 2023.\n"
LETTER = "Dear tenant,\n\nthe notice period of your rental contract is three months to the end of a quarter.\n"
CASES = [
    {
        "id": "greenhouse",
        "question": "What does the greenhouse cost?",
        "answers": ["4,200 euros"],
        "relevant": [{"file": "plan.md", "quote": "The greenhouse costs 4,200 euros."}],
        "route": "vectorstore",
    },
    {
        "id": "notice",
        "question": "How long is the notice period?",
        "answers": ["three months"],
        "relevant": ["tenant.txt"],
        "route": "vectorstore",
    },
    {"id": "cup", "question": "Who won the cup final in 1998?", "answerable": False, "route": "web_search"},
]


def cases_file(folder, cases=CASES, name="mine.jsonl"):
    file = folder / name
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return file


def notes_in(folder):
    """Make a folder of the two notes."""
    notes = folder / "notes"
    notes.mkdir()
    (notes / "plan.md").write_text(PLAN)
    (notes / "tenant.txt").write_text(LETTER)
    return notes


def rows_of(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
