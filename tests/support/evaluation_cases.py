"""Provide the cases of an evaluation about the notes of the garden."""

import json

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


def rows_of(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
