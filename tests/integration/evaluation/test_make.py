"""Test making a set of cases: proposals from headings and by a model, and the contents of the file."""

import json
import re
from itertools import islice

import pytest
from support.fakes_index import HashingEmbedder
from support.ollama_engine import engine_on

from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.engines.language_model.judge import QuestionProposer
from local_rag.evaluation.cases import Target, named, read_cases
from local_rag.evaluation.headings import is_prose, of_heading
from local_rag.evaluation.make import USELESS, Proposals
from local_rag.evaluation.matching import holds
from local_rag.index.index import Index
from local_rag.index.store.values import Passage

pytestmark = pytest.mark.usefixtures("converted")

NOTES = {
    "contract/lease.md": "# Rental contract\n\n## Termination\n\nThe notice period is three months. The notice must be "
    "given in writing to the owner of the house.\n\n## Deposit\n\nThe deposit is a sum that the owner keeps until the "
    "tenant leaves. The deposit costs 1,200 euros.\n",
    "contract/annex.md": "# Annex\n\n## Garden shed\n\nThe garden shed was built in 1987. A tenant is a person who "
    "rents a flat from its owner.\n",
    "garden/plan.md": "# Garden plan\n\n## Dates\n\nBuilding starts on 3 May. Until then the beds are covered with "
    "straw and with old leaves.\n\n## Fence\n\nThe fence has twelve posts and is painted green every second year.\n",
    "garden/annex.md": "# Beds\n\n## Compost\n\nCompost means rotted leaves and kitchen scraps. It is turned twice, "
    "once in spring and once in autumn.\n",
}


def make_notes(folder):
    for name, text in NOTES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Return an index of the notes with a passage per section, by a toy embedder, which no test changes."""
    folder = make_notes(tmp_path_factory.mktemp("notes"))
    with Index.open(tmp_path_factory.mktemp("data") / "i", HashingEmbedder(), chunk_size=60, create=True) as index:
        index.sync([folder])
        yield index


def of(text, heading="", title="", source="/notes/rental-contract.txt"):
    return of_heading(Passage(1, "k", source, title, None, heading, 0, len(text), text))


BODY = "People of the house see to that together when they meet."
HEADINGS = [
    ("Termination", "What does “Rental contract” say about “Termination”?"),
    ("3.2 Notice Period", "What does “Rental contract” say about “Notice Period”?"),
    ("When the flat is sold", "What does “Rental contract” say about “When the flat is sold”?"),
    ("`Keys` and [locks](locks.md) { #keys }", "What does “Rental contract” say about “Keys and locks”?"),
    ("What is a sublease", "What is a sublease?"),
    ("How do tenants complain", "How do tenants complain?"),
    ("How does it end?", "According to “Rental contract”, how does it end?"),
    ("How to complain", "How can one complain?"),
    ("When to pay", "When should one pay?"),
    ("Who pays the water?", "Who pays the water?"),
    ("About this rental contract", "What is said under “About this rental contract”?"),
    ("This rental contract in short", "What is said under “This rental contract in short”?"),
]


@pytest.mark.parametrize(("heading", "question"), HEADINGS, ids=[one[0] for one in HEADINGS])
def test_a_heading_becomes_a_question_without_a_short_answer(heading, question):
    text = f"{heading}\n\n{BODY}"
    asked, body = of(text, f"Rental contract > {heading}", "Rental contract")
    assert (asked, body.of(text)) == (question, BODY)


@pytest.mark.parametrize(
    "heading", ["Learn more", "Recap", "1. Introduction", "Examples", "Rental contract", "What is it?"]
)
def test_a_heading_that_names_nothing_is_not_asked(heading):
    assert of(f"{heading}\n\n{BODY}", f"Rental contract > {heading}", "Rental contract") is None


@pytest.mark.parametrize(
    ("text", "heading", "title", "question"),
    [
        (f"Deposit\n\n{BODY}", "Rent - the basics > Deposit", "Rent - the basics",
         "What does “Rent - the basics” say about “Deposit”?"),
        (f"Deposit\n\n{BODY}", "Rent > Deposit", "Rent: the basics - Example Ltd",
         "What does “Rent” say about “Deposit”?"),
        (f"Deposit\n\n# the owner keeps it until the end\n\n{BODY}", "Lease > Deposit", "Lease",
         "What does “Lease” say about “Deposit”?"),
        ("Kündigung\n\nDie Wohnung wird immer bis zum dritten Werktag eines Monats gekündigt.",
         "Mietvertrag > Kündigung", "Mietvertrag", "Mietvertrag: Kündigung?"),
        ("Termination\n\n", "Rental contract > Termination", "Rental contract", None),
        (BODY, "Rental contract > Termination", "Rental contract", None),  # it begins in another passage
        ("Contents\n1 The notice period ..... 3\n2 Deposit ......... 14\n", "Contents", "Rental contract", None),
    ],
)  # fmt: skip
def test_a_heading_gives_a_question_that_names_its_document(text, heading, title, question):
    found = of(text, heading, title)
    assert (found and found[0]) == question


def test_prose_is_whole_sentences():
    assert is_prose(NOTES["contract/lease.md"])
    assert not is_prose("a | b | c\n1 | 2 | 3\n4 | 5 | 6\n")
    assert not is_prose("1 The notice period is three ..... 3\n2 Deposit ......... 14\n3 Fence | 17\n")


def test_proposals_carry_true_labels_and_none_comes_again(index):
    found = list(Proposals(index, []).answered())
    questions = {case.question: case for case in found}
    assert len(questions) == len(found) > 5
    assert questions["What does “Annex” say about “Garden shed”?"].relevant[0].file == "contract/annex.md"
    assert questions["What does “Rental contract” say about “Termination”?"].relevant[0].file == "lease.md"
    for case in found:
        assert case.id == named(case.question) and case.answers == () and case.note == "proposed: heading"
        (target,) = case.relevant
        assert any(holds(target, p.source, None, p.text) for p in index.passages())
        assert len({p.source for p in index.passages() if holds(Target(target.file), p.source, None, "")}) == 1
    again = list(Proposals(index, found[:3]).answered())
    assert [case.question for case in again] == [case.question for case in found[3:]]
    assert [case.id for case in Proposals(index, [], 1).answered()] != [case.id for case in found]
    assert list(Proposals(index, []).unanswered()) == [], "only a model asks what the files do not say"


# --- by a model


def first_sentence(body, question="What is said in {}?"):
    """Reply as a model that asks for the first words below the heading."""
    text = re.search(r'<passage n="1"[^\n]*>\n(.*?)\n</passage>', body["messages"][1]["content"], re.S)[1]
    words = text.split("\n\n")[-1].split()
    return json.dumps({"q": question.format(" ".join(words[:3])), "a": " ".join(words[:6])})


@pytest.fixture
def model(ollama, index):
    """Return a function that makes proposals with a model that answers with `reply(body)`."""

    def start(reply):
        ollama.always = reply
        return Proposals(index, [], 0, QuestionProposer(engine))

    with engine_on(ollama) as engine:
        yield start


def test_a_model_proposes_from_each_passage_once(ollama, index, model):
    proposals = model(first_sentence)
    found = list(proposals.answered())
    assert len(found) == sum(is_prose(p.text) for p in index.passages()) == len(ollama.chats) and not proposals.thrown
    for case in found:
        assert case.note == "proposed: ollama/tiny"
        assert any(case.answers[0] in " ".join(p.text.split()) for p in index.passages())
    assert len(list(model(lambda body: first_sentence(body, "Always the same?")).answered())) == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ('{"q": "What is the price of gold?", "a": "sixty dollars an ounce"}', "not in the passage"),
        ('{"q": "What is said in this passage?", "a": "the"}', "points at its passage"),
        ('{"q": "?", "a": "the"}', "too short"),
        ("The question is: what?", "could not be read"),
    ],
    ids=["invented", "pointing", "short", "garbage"],
)
def test_what_a_model_makes_up_is_left_out_and_it_is_not_asked_for_ever(index, model, reply, why):
    proposals = model(lambda body: reply)
    assert list(proposals.answered()) == []
    ((said, times),) = proposals.thrown.items()
    assert why in said and times == min(USELESS, sum(is_prose(p.text) for p in index.passages()))


def test_a_question_that_the_files_answer_is_not_unanswerable(ollama, model):
    def reply(body):
        if body.get("format"):
            return json.dumps({"q": f"What about number {len(ollama.chats)} of them?"})
        return NOT_IN_PASSAGES if len(ollama.chats) % 4 else "It says so. [1]"

    proposals = model(reply)
    found = list(islice(proposals.unanswered(), 3))
    assert [case.answerable for case in found] == [False] * len(found) and found
    assert proposals.thrown["the files answer what was to have no answer"] >= 1


# --- the command


def test_proposals_are_written_for_a_person_to_read_and_the_same_command_goes_on(tmp_path, said):
    said(f"index {make_notes(tmp_path / 'notes')}")
    file = tmp_path / "cases.jsonl"
    make = f"eval make {file} --engine extractive --count 3 --unanswerable 1"
    shown = said.out(make)
    assert "3 questions proposed in" in shown and "made from headings, without a language model" in shown
    assert 'set "keep" to true' in shown and "next: local-rag eval" in shown
    said(f"{make} --yes")
    assert len(read_cases(file)) == 1 and len(read_cases(file, proposed=True)) == 4, "one of each passage"
    assert "are both 0" in said(f"eval make {file} --count 0 --unanswerable 0", 2)
    assert "there is no index" in said(f"eval make {file} --index none", 1)
