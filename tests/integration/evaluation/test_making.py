"""Making a set of cases: what is proposed, how a person decides, and what the file holds afterwards."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from rich.console import Console
from support.fakes_index import HashingEmbedder, remembering_minilm
from support.ollama_engine import engine_on
from support.ollama_server import OllamaServer

from local_rag.config.settings import Settings
from local_rag.core.errors import DiskFull, IndexMissing, UsageError
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.engines.language_model.judge import QuestionProposer
from local_rag.evaluation.cases import Case, Target, read_cases
from local_rag.evaluation.making.case_file import CaseFile
from local_rag.evaluation.making.model_questions import USELESS
from local_rag.evaluation.making.proposals import CaseProposals, named, same, tails
from local_rag.evaluation.making.rules import ideas
from local_rag.evaluation.making.unanswerable import FOREIGN, foreign, unsaid
from local_rag.evaluation.making.wording import is_contents, is_english, is_prose, located, sentence_at
from local_rag.evaluation.matching import holds
from local_rag.index.index import Index
from local_rag.index.store.schema import Passage
from local_rag.terminal.case_making import RULES_NOTE, make_cases
from local_rag.text.sentences import Span

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
    """The notes in passages of a section each, by a toy embedder; nobody changes it."""
    folder = make_notes(tmp_path_factory.mktemp("notes"))
    with Index.open(tmp_path_factory.mktemp("data") / "i", HashingEmbedder(), chunk_size=60, create=True) as index:
        index.sync([folder])
        yield index


def of(text, heading="", title="", source="/notes/rental-contract.txt"):
    return Passage(1, "k", source, title, None, heading, 0, len(text), text)


# --- rules ------------------------------------------------------------------------------------------------------------

SENTENCES = [
    ("The notice period is three months.", "What is the notice period?", "three months"),
    ("The greenhouse costs about 4,200 euros, and the fence is paid for.", "How much does the greenhouse cost?",
     "about 4,200 euros"),
    ("Two tickets to the zoo cost $30.", "How much do two tickets to the zoo cost?", "$30"),
    ("Building starts on 3 May.", "When does building start?", "3 May"),
    ("The tax return is due in July 2024.", "When is the tax return due?", "July 2024"),
    ("The fence was paid for in 2023.", "When was the fence paid for?", "2023"),
    ("The old bridge was rebuilt by the army in May 1946.", "When was the old bridge rebuilt?", "May 1946"),
    ("The repair takes two weeks.", "How long does the repair take?", "two weeks"),
    ("The crate has twelve bottles of wine.", "How many bottles of wine does the crate have?", "twelve"),
    ("A sublease is a contract between a tenant and another person.", "What is a sublease?",
     "a contract between a tenant and another person"),
    ("WAL stands for write-ahead log.", "What does WAL stand for?", "write-ahead log"),
    ("Arrears, also called back rent, must be paid at once.", "What else is Arrears called?", "back rent"),
    ("Corrective RAG, or CRAG for short, grades documents.", "What is Corrective RAG called for short?", "CRAG"),
    ("MiniLM is a small language model; it fits anywhere.", "What is MiniLM?", "a small language model"),
    ("- **Rent** is the sum that a tenant pays.", "What is Rent?", "the sum that a tenant pays"),
    ("Docling is a parser for [many kinds](kinds.md) of files.", "What is Docling?",
     "a parser for many kinds of files"),
    ("Silently truncated data is a nasty class of bug.", "What is silently truncated data?", "a nasty class of bug"),
    ("The method was published in 2021.", "According to “rental contract”, when was the method published?", "2021"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "question", "answer"), SENTENCES, ids=[one[0][:30] for one in SENTENCES])
def test_a_sentence_becomes_a_question(sentence, question, answer):
    found = ideas(of(sentence))
    assert [(idea.question, idea.answer) for idea in found] == [(question, answer)]
    assert found[0].quote.of(sentence) == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "It is a long way to the next village.",
        "This is the reason why nobody came.",
        "There are three ways to do that.",
        "Patience and straw are one thing that a gardener needs.",
        "Which of them is the best?",
        "If the tenant is late, the rent is 20 euros more.",
        "The class is {a: 1, b: 2} in this file.",
        "The call is a function_name that returns nothing.",
        "Das Haus ist ein altes Gebäude am Rand der Stadt.",
        "| a | is the one |",
        "The roof was the talk of the village for a year.",
        "A lease is a deed.",
        "What you do next is the hardest part of it.",
        "The result of that: this house is a very old one.",
        "“Home is the place where they let you in,” said he.",
        "The last thing you need is the key of the shed.",
        "The handler is one of the tools → steps that a builder needs.",
        "A fence is one of the following two things:",
    ],
)
def test_other_sentences_do_not(sentence):
    assert ideas(of(sentence)) == []


def test_a_glossary_needs_two_entries():
    glossary = "Words of the trade\n\n- Lessee: a person who rents a flat.\n- Lessor: a person who owns the flat.\n"
    assert [(idea.question, idea.answer) for idea in ideas(of(glossary))] == [
        ("What is Lessee?", "a person who rents a flat"),
        ("What is Lessor?", "a person who owns the flat"),
    ]
    assert ideas(of("- Lessee: a person who rents a flat.\n\nThat was all of it.\n")) == []
    assert ideas(of("- Scoring: use the table of points\n- Paraphrase: rewrite the input text\n")) == []
    assert ideas(of("From: the owner of the flat\nNote: the door is to be kept shut\n")) == []


HEADINGS = [
    ("Termination", "What does “Rental contract” say about “Termination”?"),
    ("3.2 Notice Period", "What does “Rental contract” say about “Notice Period”?"),
    ("When the flat is sold", "What does “Rental contract” say about “When the flat is sold”?"),
    ("`Keys` and [locks](locks.md) { #keys }", "What does “Rental contract” say about “Keys and locks”?"),
    ("What is a sublease", "What is a sublease?"),
    ("How do tenants complain", "How do tenants complain?"),
    ("How does it end?", "According to “Rental contract”, how does it end?"),
    ("What a sublease is", "What is a sublease?"),
    ("How to complain", "How can one complain?"),
    ("When to pay", "When should one pay?"),
    ("Who pays the water?", "Who pays the water?"),
    ("About this rental contract", "What is said under “About this rental contract”?"),
    ("This rental contract in short", "What is said under “This rental contract in short”?"),
]


@pytest.mark.parametrize(("heading", "question"), HEADINGS, ids=[one[0] for one in HEADINGS])
def test_a_heading_becomes_a_question_without_a_short_answer(heading, question):
    text = f"{heading}\n\nPeople of the house see to that together when they meet."
    (idea,) = ideas(of(text, f"Rental contract > {heading}", "Rental contract"))
    assert (idea.question, idea.answer, idea.kind) == (question, "", "heading")
    assert idea.quote.of(text) == "People of the house see to that together when they meet."


@pytest.mark.parametrize(
    "heading", ["Learn more", "Recap", "1. Introduction", "Examples", "Rental contract", "What is it?"]
)
def test_a_heading_that_names_nothing_is_not_asked(heading):
    text = f"{heading}\n\nPeople of the house see to that together when they meet."
    assert ideas(of(text, f"Rental contract > {heading}", "Rental contract")) == []


def test_a_document_is_called_by_its_heading_and_a_page_by_its_title_without_the_site():
    text = "Deposit\n\nPeople of the house see to that together when they meet."
    (own,) = ideas(of(text, "Rent - the basics > Deposit", "Rent - the basics"))
    (page,) = ideas(of(text, "Rent > Deposit", "Rent: the basics - Example Ltd"))
    assert own.question == "What does “Rent - the basics” say about “Deposit”?"
    assert page.question == "What does “Rent” say about “Deposit”?"


def test_a_comment_is_no_text_below_a_heading():
    text = "Deposit\n\n# the owner keeps it until the end\n\nPeople of the house see to that together."
    (idea,) = ideas(of(text, "Rental contract > Deposit", "Rental contract"))
    assert idea.quote.of(text) == "People of the house see to that together."


def test_headings_of_other_languages_and_of_nothing():
    german = "Kündigung\n\nDie Wohnung wird immer bis zum dritten Werktag eines Monats gekündigt."
    (idea,) = ideas(of(german, "Mietvertrag > Kündigung", "Mietvertrag"))
    assert idea.question == "Mietvertrag: Kündigung?"
    assert ideas(of("Termination\n\n", "Rental contract > Termination", "Rental contract")) == []
    later = "People of the house see to that together when they meet."
    assert ideas(of(later, "Rental contract > Termination", "Rental contract")) == [], "it begins in another passage"


def test_a_table_of_contents_is_left_out():
    contents = "Contents\n1 The notice period is three ..... 3\n2 Deposit ......... 14\n3 Fence | 17\nIndex\t20\n"
    assert is_contents(contents)
    assert ideas(of(contents, "Contents", "Rental contract")) == []
    assert not is_prose(contents)
    assert not is_contents(NOTES["contract/lease.md"])
    assert is_prose(NOTES["contract/lease.md"])
    assert not is_prose("a | b | c\n1 | 2 | 3\n4 | 5 | 6\n")
    assert is_english("The deposit is kept until the tenant leaves.")
    assert not is_english("Die Kaution wird bis zum Auszug verwahrt.")


# --- words ------------------------------------------------------------------------------------------------------------

TEXT = "The deposit, 1,200 euros,\nis paid in three equal parts by the tenant. It bears 2.5% interest, or −1 in 2020."
LOCATED = [
    ("three equal parts", "three equal parts"),
    ("The Deposit 1,200 EUROS is paid", "The deposit, 1,200 euros,\nis paid"),
    ("is paid in three even parts by the tenant", "is paid in three equal parts by the tenant"),
    ("2.5", "2.5%"),
    ("1", "1"),
    ("three even parts", None),
    ("is paid in four equal parts by the tenant", None),
    ("the tenant pays it in a single part", None),
    ("", None),
    ("?!", None),
    (TEXT + " And more than there is.", None),
]


@pytest.mark.parametrize(("copied", "place"), LOCATED, ids=[one[0][:30] or "nothing" for one in LOCATED])
def test_copied_words_are_located(copied, place):
    found = located(copied, TEXT)
    assert (found and found.of(TEXT)) == place


def test_a_quote_is_the_sentence():
    assert sentence_at(TEXT, located("interest", TEXT)).of(TEXT).startswith("It bears")
    assert sentence_at(TEXT, located("tenant. It bears", TEXT)).of(TEXT) == TEXT
    assert sentence_at("", Span(0, 0)) == Span(0, 0)


def test_files_are_named_as_shortly_as_can_be():
    assert tails(["/a/b/x.md", "/a/c/x.md", "/a/c/y.md", "/x/c/y.md", "https://example.org/x.md"]) == {
        "/a/b/x.md": "b/x.md",
        "/a/c/x.md": "c/x.md",
        "/a/c/y.md": "a/c/y.md",
        "/x/c/y.md": "x/c/y.md",
        "https://example.org/x.md": "https://example.org/x.md",
    }


# --- proposals --------------------------------------------------------------------------------------------------------


def test_passages_take_turns_over_the_files(index):
    found = list(index.passages(3))
    assert len(found) == len({passage.id for passage in found}) == index.status().chunks
    assert len({passage.source for passage in found[: len(NOTES)]}) == len(NOTES)
    assert found == list(index.passages(3))
    assert {tuple(passage.id for passage in index.passages(seed)) for seed in range(5)} != {
        tuple(passage.id for passage in found)
    }


def test_proposals_carry_true_labels(index):
    found = list(CaseProposals(index, []).answered())
    questions = {proposal.case.question: proposal.case for proposal in found}
    assert len(questions) == len(found)
    assert questions["What is the notice period?"].answers == ("three months",)
    assert questions["When was the garden shed built?"].answers == ("1987",)
    assert questions["What does “Rental contract” say about “Termination”?"].answers == ()
    files = [passage.source for passage in index.passages()]
    for proposal in found:
        case, about = proposal.case, proposal.passage
        assert case.id == named(case.question)
        assert (case.answerable, len(case.relevant)) == (True, 1)
        assert holds(case.relevant[0], about.metadata["source"], None, about.page_content)
        assert sum(map(bool, (holds(Target(case.relevant[0].file), file, None, "") for file in set(files)))) == 1
        if case.answers:
            assert same(proposal.marked.of(about.page_content)) == same(case.answers[0])
    assert questions["When was the garden shed built?"].relevant[0].file == "contract/annex.md"
    assert questions["What is the notice period?"].relevant[0].file == "lease.md"


def test_the_seed_decides(index):
    def asked(seed):
        return [proposal.case.question for proposal in CaseProposals(index, [], seed).answered()]

    assert asked(1) == asked(1)
    assert len({tuple(asked(seed)) for seed in range(4)}) > 1


def test_the_walk_goes_on_behind_what_was_kept(index):
    first = [proposal.case for proposal in CaseProposals(index, []).answered()]
    facts = [case for case in first if case.answers]
    again = [proposal.case for proposal in CaseProposals(index, [facts[2]]).answered()]
    assert facts[2] not in again
    assert again[0] not in facts[:2], "what was dropped before does not come first"
    assert {case.question for case in again} == {case.question for case in first} - {facts[2].question}
    assert list(CaseProposals(index, first).answered()) == []


def test_foreign_questions_have_no_word_in_the_files(index, tmp_path):
    everything = " ".join(NOTES.values()).lower()
    asked = list(foreign(index, 0))
    assert "How deep must tulip bulbs be planted?" in asked
    assert asked == list(foreign(index, 0)) != list(foreign(index, 1))
    (tmp_path / "cactus.md").write_text("The cactus is watered once a month. A violin has strings; we play chess.")
    with Index.open(tmp_path / "i", HashingEmbedder(), chunk_size=60, create=True) as other:
        other.sync([tmp_path / "cactus.md"])
        left = list(foreign(other, 0))
    assert set(asked) - set(left) == {
        "How often should a cactus be watered?", "How many strings does a violin have?", "How does one castle in chess?"
    }  # fmt: skip
    for _, telling in FOREIGN:
        assert not all(word in everything for word in telling.split())


def test_what_a_passage_may_say_is_not_asked(index):
    asked = list(unsaid(index, [("the deposit", False), ("beds", True), ("zebras", True)], 0))
    assert len(asked) == 2
    assert "How much does the deposit cost?" not in asked, "the contract says what it costs"
    assert all("zebras" not in question for question in asked), "no passage mentions them"
    assert "{s}" not in "".join(asked)


def test_questions_without_an_answer_come_in_turn_with_the_nearest_passage(index):
    found = list(islice(CaseProposals(index, []).unanswered(), 6))
    assert [proposal.kind for proposal in found[:4]] == ["near", "foreign", "near", "foreign"]
    for proposal in found:
        assert proposal.case.answerable is False
        assert (proposal.case.answers, proposal.case.relevant) == ((), ())
        assert proposal.passage is not None
    known = [proposal.case for proposal in found]
    assert not {one.case.id for one in CaseProposals(index, known).unanswered()} & {case.id for case in known}


def test_sections_are_asked_about_where_little_is_defined(tmp_path):
    (tmp_path / "rules.md").write_text(
        "# House rules\n\n## Quiet hours\n\nPeople of the house are quiet after ten in the evening.\n\n"
        "## Stairs\n\nPeople of the house clean them by turns and leave nothing on them.\n"
    )
    with Index.open(tmp_path / "i", HashingEmbedder(), chunk_size=40, create=True) as index:
        index.sync([tmp_path / "rules.md"])
        found = [one.case for one in CaseProposals(index, []).unanswered() if one.kind == "near"]
    assert len(found) == 2
    assert all("“House rules”" in one.question and one.answerable is False for one in found)
    assert {"“Quiet hours”" in one.question for one in found} == {True, False}


def test_facts_and_headings_go_on_each_behind_its_own(index):
    first = [proposal.case for proposal in CaseProposals(index, []).answered()]
    headings = [one for one in first if one.note == "proposed: heading"]
    facts = [one for one in first if one.answers]
    again = [proposal.case for proposal in CaseProposals(index, [facts[0], headings[-1]]).answered()]
    assert [one for one in again if one.answers] == facts[1:], "a heading far behind does not skip facts"


# --- by a model -------------------------------------------------------------------------------------------------------


def proposed(server, index, reply, known=()):
    """(proposals, what was thrown away) where the model answers each chat with `reply(body)`."""
    server.always = reply
    with engine_on(server) as engine:
        proposer = CaseProposals(index, known, 0, QuestionProposer(engine))
        return list(proposer.answered()), proposer.thrown


def first_sentence(body, question="What is said in {}?"):
    """A model that asks for the first words below the heading."""
    text = re.search(r'<passage n="1"[^\n]*>\n(.*?)\n</passage>', body["messages"][1]["content"], re.S)[1]
    words = text.split("\n\n")[-1].split()
    return json.dumps({"q": question.format(" ".join(words[:3])), "a": " ".join(words[:6])})


def test_a_model_proposes_from_each_passage_once(ollama, index):
    found, thrown = proposed(ollama, index, first_sentence)
    assert len(found) == index.status().chunks == len(ollama.chats)
    assert not thrown
    for proposal in found:
        case = proposal.case
        assert proposal.kind == "ollama/tiny"
        assert case.note == "proposed: ollama/tiny"
        assert case.answers[0] in " ".join(proposal.passage.page_content.split())
        assert holds(case.relevant[0], proposal.passage.metadata["source"], None, proposal.passage.page_content)


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
def test_what_a_model_makes_up_is_thrown_away_and_it_is_not_asked_for_ever(ollama, index, reply, why):
    ollama.always = lambda body: reply
    with engine_on(ollama) as engine:
        proposer = CaseProposals(index, [], 0, QuestionProposer(engine))
        found, missing = list(proposer.answered()), list(proposer.unanswered())
    assert [one.case for one in found] == [one.case for one in CaseProposals(index, []).answered()], "rules go on"
    assert [one.case for one in missing] == [one.case for one in CaseProposals(index, []).unanswered()]
    times = min(USELESS, index.status().chunks)
    assert proposer.notes == [f"the model gave nothing usable {times} times in a row; going on with rules"]
    assert len(proposer.thrown) == 1
    assert why in next(iter(proposer.thrown))
    assert proposer.thrown.total() == times == len(ollama.chats) / (2 if why == "could not be read" else 1)


def test_the_same_question_comes_once(ollama, index):
    found, _ = proposed(ollama, index, lambda body: first_sentence(body, "Always the same?"))
    assert len(found) == 1
    found, _ = proposed(ollama, index, first_sentence, [found[0].case])
    assert found[0].case.question != "Always the same?"


def test_a_question_that_the_files_answer_is_not_unanswerable(ollama, index):
    def reply(body):
        if body.get("format"):
            return json.dumps({"q": f"What about number {len(ollama.chats)} of them?"})
        return NOT_IN_PASSAGES if len(ollama.chats) % 4 else "It says so. [1]"

    ollama.always = reply
    with engine_on(ollama) as engine:
        proposer = CaseProposals(index, [], 0, QuestionProposer(engine))
        found = [proposal for proposal in islice(proposer.unanswered(), 6)]
    assert [proposal.kind for proposal in found[:4]] == ["ollama/tiny", "foreign"] * 2
    assert proposer.thrown["the files answer what was to have no answer"] >= 1
    assert Counter(proposal.case.answerable for proposal in found) == {False: 6}


# --- the file ---------------------------------------------------------------------------------------------------------


def case(question, **about):
    return Case(named(question), question, answerable=False, **about)


def test_lines_are_appended_and_nothing_else_is_touched(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text('{"question": "By hand?"}')  # without a line end, as some editors leave it
    file = CaseFile(path)
    assert file.has("by hand")
    assert not file.has("Another?")
    file.append(case("Another? Ä"))
    CaseFile(path).append(case("A third?"))
    assert [one.question for one in read_cases(path)] == ["By hand?", "Another? Ä", "A third?"]
    assert path.read_text(encoding="utf-8").startswith('{"question": "By hand?"}\n')


def test_only_its_owner_reads_a_new_file(tmp_path):
    CaseFile(tmp_path / "cases.jsonl").append(case("Where?"))
    assert os.name == "nt" or (tmp_path / "cases.jsonl").stat().st_mode & 0o777 == 0o600


def test_cases_of_another_index_are_counted(tmp_path):
    file = CaseFile(tmp_path / "cases.jsonl")
    for number, name in enumerate(("lease.md", "b/lease.md", "https://example.org/a", "https://example.org/b", "")):
        relevant = (Target(name),) if name else ()
        file.append(Case(str(number), f"Number {number}?", (), bool(relevant), relevant))
    assert file.foreign_to(["/a/lease.md", "https://Example.org/a"]) == 2
    assert file.foreign_to([]) == 4


def test_a_file_that_cannot_be_is_refused_before_anything_is_asked(tmp_path):
    for path, words in ((tmp_path, "is a folder"), (tmp_path / "none" / "cases.jsonl", "there is no folder")):
        with pytest.raises(UsageError, match=words):
            CaseFile(path)
    with pytest.raises(UsageError) as met:
        CaseFile(tmp_path / "no such" / "cases.jsonl")
    assert met.value.hint == f"mkdir -p '{tmp_path / 'no such'}'"
    (tmp_path / "cases.jsonl").write_text("not json\n")
    with pytest.raises(UsageError, match="line 1 is not JSON"):
        CaseFile(tmp_path / "cases.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    assert CaseFile(tmp_path / "empty.jsonl").cases == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_full_disk_is_said():
    with pytest.raises(DiskFull, match="what was stored before is kept"):
        CaseFile(Path("/dev/full")).append(case("Where?"))


# --- the dialogue -----------------------------------------------------------------------------------------------------


class Keys(io.StringIO):
    """A terminal at which these lines are typed; a \x03 in them is Ctrl-C, the end is Ctrl-D."""

    def isatty(self):
        return True

    def readline(self, *size):
        line = super().readline(*size)
        if "\x03" in line:
            raise KeyboardInterrupt
        return line


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The notes in an index of the product's own, named `notes`."""
    data = tmp_path_factory.mktemp("data")
    notes = make_notes(tmp_path_factory.mktemp("notes"))
    with Index.open(data / "indexes" / "notes", remembering_minilm(), chunk_size=250, create=True) as index:
        index.sync([notes])
    return data


@pytest.fixture
def make(world, tmp_path, monkeypatch, capsys):
    """(what was shown, what was written, the cases) of one run with these lines typed."""
    monkeypatch.setenv("LOCAL_RAG_DATA_DIR", str(world))
    monkeypatch.chdir(tmp_path)

    def run(typed, width=100, settings=None, interrupted=False, **options):
        monkeypatch.setattr(sys, "stdin", Keys("".join(f"{line}\n" for line in typed)))
        shown = io.StringIO()
        console = Console(file=shown, force_terminal=True, width=width, emoji=False, color_system=None)
        options = {"count": 6, "unanswerable": 0} | options
        wanted = pytest.raises(KeyboardInterrupt) if interrupted else contextlib.nullcontext()
        with wanted:
            assert make_cases(settings or Settings.load(index="notes"), Path("my.jsonl"), console, **options) == 0
        written = capsys.readouterr().out
        kept = read_cases(Path("my.jsonl")) if Path("my.jsonl").exists() else ()
        return shown.getvalue(), written, kept

    return run


def test_keep_drop_and_quit(make):
    shown, written, kept = make(["what?", "k", "drop", "K", "q"])
    assert "type k, e, d or q, then Enter" in shown
    assert "1 of 6" in shown
    assert "4 of 6" in shown
    assert "5 of 6" not in shown
    assert "without a language model" in shown
    assert len(kept) == 2
    assert written.splitlines() == [
        "2 kept in my.jsonl, 1 dropped; it has 2 cases now",
        RULES_NOTE,
        "next: local-rag eval my.jsonl --index notes",
    ]
    for one in kept:
        assert one.question in shown.replace("\n", " ") or len(one.question) > 80


def test_the_same_command_goes_on(make):
    _, _, first = make(["k", "d", "k"])
    shown, _, second = make(["k"] * 9)
    assert second[: len(first)] == first
    assert len({same(one.question) for one in second}) == len(second) > len(first)
    assert not any(f"Question  {one.question}" in shown for one in first)
    _, written, _ = make(["k"] * 50, count=50)
    assert re.search(r"The index gave no more: \d+ fewer", written)


def test_edit(make):
    _, _, (first,) = make(["k"], count=1)
    Path("my.jsonl").unlink()
    shown, _, (edited,) = make(["e", "How long is the notice?", "3 months | a quarter"], count=1)
    assert f"{first.question}" in shown
    assert (edited.question, edited.answers) == ("How long is the notice?", ("3 months", "a quarter"))
    assert edited.id == named("How long is the notice?")
    assert edited.relevant == first.relevant
    assert edited.note.endswith(", edited")
    Path("my.jsonl").unlink()
    _, _, (same_one,) = make(["e", "", ""], count=1)
    assert (same_one.question, same_one.answers) == (first.question, first.answers)


def test_a_new_answer_brings_its_own_sentence(make):
    make(["k"] * 20, count=20)
    notice = next(one for one in read_cases(Path("my.jsonl")) if one.question == "What is the notice period?")
    assert notice.relevant[0].quote == "The notice period is three months."
    place = [one.question for one in read_cases(Path("my.jsonl"))].index(notice.question)
    Path("my.jsonl").unlink()
    _, _, kept = make([*["d"] * place, "e", "How is notice given?", "in writing", "q"], count=20)
    assert kept[0].relevant[0].quote == "The notice must be given in writing to the owner of the house."


def test_a_new_answer_that_stands_nowhere_is_said(make):
    shown, _, (kept,) = make(["e", "", "a hundred elephants"], count=1)
    assert shown.count("stands nowhere in the passage; the quote stays as it was") == 1
    assert kept.answers == ("a hundred elephants",)
    assert kept.relevant[0].quote
    Path("my.jsonl").unlink()
    shown, _, _ = make(["e", "Another question?", ""], count=1)
    assert "stands nowhere" not in shown


def test_questions_without_an_answer_stay_in_proportion(make):
    _, _, first = make(["k"] * 99, count=99, unanswerable=10)
    answerable = sum(one.answerable for one in first)
    assert 0 < len(first) - answerable <= -(-10 * answerable // 99)
    _, written, second = make(["k"] * 99, count=99, unanswerable=10)
    assert second == first
    assert written.startswith("0 kept")
    _, _, third = make(["k"] * 2, count=0, unanswerable=2)
    assert [one.answerable for one in third[len(first) :]] == [False, False]


def test_cases_about_other_files_are_noted(make):
    Path("my.jsonl").write_text('{"question": "Old?", "relevant": ["old.md"]}\n')
    shown, _, _ = make(["q"])
    assert "note: 1 case in my.jsonl is about files that this index does not hold" in shown
    Path("my.jsonl").unlink()
    make(["k", "q"])
    shown, _, _ = make(["q"])
    assert "note:" not in shown


def world_of(tmp_path, monkeypatch, name, text):
    """An index of one file, or of none."""
    monkeypatch.setenv("LOCAL_RAG_DATA_DIR", str(tmp_path / "data"))
    with Index.open(tmp_path / "data" / "indexes" / name, remembering_minilm(), chunk_size=250, create=True) as index:
        if text:
            (tmp_path / "one.md").write_text(text, encoding="utf-8")
            index.sync([tmp_path / "one.md"])
    return Settings.load(index=name)


GERMAN = (
    "# Mietvertrag\n\n## Kündigung\n\nDie Wohnung wird immer bis zum dritten Werktag eines Monats gekündigt.\n\n"
    "## Kaution\n\nDie Kaution wird bis zum Auszug auf einem Konto des Vermieters verwahrt.\n"
)


def test_one_file_in_another_language(tmp_path, monkeypatch, make):
    settings = world_of(tmp_path, monkeypatch, "one", GERMAN)
    shown, written, kept = make(["k"] * 9, settings=settings)
    assert shown.count("not English: only headings can be asked") == 1
    assert "fewer than asked for." in written
    assert "--seed" not in written, "all of a small index is looked at anyway"
    assert [one.question for one in kept] and all(one.question.startswith("Mietvertrag: ") for one in kept)


def test_an_empty_index(tmp_path, monkeypatch):
    settings = world_of(tmp_path, monkeypatch, "bare", "")
    with pytest.raises(UsageError, match="the index bare is empty") as met:
        make_cases(settings, tmp_path / "my.jsonl", Console(file=io.StringIO()), keep_all=True)
    assert met.value.hint == "local-rag index FOLDER --index bare"


def test_an_edited_question_that_is_there_already_is_not_kept(make):
    _, _, (first,) = make(["k", "q"])
    shown, written, kept = make(["e", first.question.upper(), "", "q"])
    assert "has that question already" in shown
    assert len(kept) == 1
    assert written.startswith("0 kept in my.jsonl, 1 dropped")


def test_the_end_of_the_input_and_ctrl_c_lose_nothing(make):
    _, written, kept = make(["k", "k"])
    assert len(kept) == 2
    assert written.startswith("2 kept")
    shown, written, kept = make(["k", "\x03"], interrupted=True)
    assert shown.endswith("> \n"), "what comes next stands on a line of its own"
    assert len(kept) == 3
    assert written.startswith("1 kept")
    _, written, kept = make(["e", "What is half typed?", "\x03"], interrupted=True)
    assert len(kept) == 3


@pytest.mark.parametrize("width", [50, 100])
def test_the_screen_is_kept(make, width):
    shown, _, _ = make(["d"] * 8, width=width, unanswerable=2)
    lines = shown.replace("\r", "").split("\n")
    body = [line for line in lines if "to change that" not in line and "loading" not in line and "language" not in line]
    assert max(map(len, body)) <= width
    assert "your files should not answer it" in shown
    assert "nearest passage: " in shown
    assert "§ Rental contract > " in " ".join(shown.split())


def test_unanswerable_ones_are_mixed_in(make):
    _, _, kept = make(["k"] * 8, unanswerable=2)
    assert [one.answerable for one in kept].count(False) == 2
    assert kept[0].answerable
    assert not all(one.answerable for one in kept[:4])


def test_a_model_asks_and_the_person_decides(make, monkeypatch):
    with OllamaServer() as server:
        server.always = first_sentence
        settings = Settings.load(index="notes", engine="ollama", model="tiny", ollama__host=server.host)
        shown, written, kept = make(["k", "q"], settings=settings)
        assert "engine: ollama: tiny" in shown
        assert [one.note for one in kept] == ["proposed: ollama/tiny"]
        server.always = lambda body: '{"q": "What is the price of gold?", "a": "sixty dollars an ounce"}'
        shown, written, _ = make([], settings=settings)
        assert re.search(r"repl(?:y|ies) of the model not shown: the words of the answer are not in", shown)
        assert "the model gave nothing usable" in shown
        assert "going on with rules" in shown
        assert "1 of 6" in shown
        assert "no more" not in written


def test_without_a_terminal_nothing_is_kept_unless_all_is(make, world, tmp_path, capsys):
    console = Console(file=io.StringIO(), width=100)
    settings = Settings.load(index="notes")
    with pytest.raises(UsageError, match="no terminal in which") as met:
        make_cases(settings, Path("my.jsonl"), console)
    assert met.value.hint == "local-rag eval make my.jsonl --yes keeps every proposal"
    assert not Path("my.jsonl").exists()
    assert make_cases(settings, Path("my.jsonl"), console, count=3, unanswerable=1, keep_all=True) == 0
    assert capsys.readouterr().out.startswith("4 kept in my.jsonl, 0 dropped")
    assert len(read_cases(Path("my.jsonl"))) == 4
    with pytest.raises(UsageError, match="--count and --unanswerable are both 0"):
        make_cases(settings, Path("my.jsonl"), console, count=0, unanswerable=0, keep_all=True)
    with pytest.raises(IndexMissing):
        make_cases(Settings.load(index="none"), Path("my.jsonl"), console, keep_all=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it has no pty")
def test_in_a_real_terminal(world, tmp_path):
    program = (
        "from pathlib import Path; from rich.console import Console; from local_rag.config.settings import Settings;"
        "from local_rag.terminal.case_making import make_cases;"
        "make_cases(Settings.load(index='notes'), Path('my.jsonl'), Console(stderr=True), count=3, unanswerable=0)"
    )
    leader, follower = pty.openpty()
    env = {**os.environ, "LOCAL_RAG_DATA_DIR": str(world), "TERM": "xterm", "COLUMNS": "50"}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=follower, stdout=follower, stderr=follower, env=env, cwd=tmp_path
    ) as process:
        os.close(follower)
        os.write(leader, b"k\nd\n\x04")
        shown = b""
        with contextlib.suppress(OSError):  # Linux says so where the other end is closed
            while part := os.read(leader, 4096):
                shown += part
        os.close(leader)
        assert process.wait(60) == 0, shown.decode()
    assert b"1 kept in my.jsonl, 1 dropped" in shown
    assert len(read_cases(tmp_path / "my.jsonl")) == 1
