"""What a language model reads a question about a table as: checked by code, corrected once, computed by code."""

import json

import pytest
from support.fakes import ScriptedEvaluator
from support.fakes_index import HashingEmbedder
from support.ollama_engine import engine_on, grades, shown

from local_rag.config.settings import Settings
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.index.index import Index
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag

TABLE = """Vessel,Berth,Litres,Filled
Kittiwake,A,30,2024-03-02
Petrel,B,12,2024-03-19
Fulmar,A,25,2024-05-07
"""
SOLD = "How many litres were swallowed by the vessels in A?"
EMPTY = {"where": [], "select": [], "aggregate": "", "group_by": "", "order": "", "descending": False, "limit": 0}


def query(*where, **others):
    conditions = [dict(zip(("column", "is", "value"), each, strict=True)) for each in where]
    return json.dumps(EMPTY | {"where": conditions} | others)


SUM = query(("Berth", "is", "A"), select=["Litres"], aggregate="sum")
SAID = "fuel.csv, 2 of 3 rows where Berth is A: the sum of Litres is 55"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuel")
    (folder / "fuel.csv").write_text(TABLE)
    with Index.open(folder / "index", HashingEmbedder(window=300), create=True) as index:
        index.sync([folder / "fuel.csv"])
        yield index


@pytest.fixture
def ask(index, ollama):
    with engine_on(ollama) as engine:
        rag = Rag(Settings.load(graph="plain"), index, Choice(engine))
        yield lambda question, **options: rag.ask(question, record=False, **options)


def test_the_model_reads_what_the_rules_do_not_and_is_not_believed_alone(ollama, ask):
    ollama.script(SUM, f"{SAID}. [1]")
    answer = ask(SOLD)
    assert [call.role for call in answer.usage.log] == ["table_query", "generator"]
    assert (answer.status, answer.certainty) == ("partial", "probably") or answer.certainty == "in doubt"
    assert "only a language model read the question so" in answer.reason
    (citation,) = answer.cited
    assert citation.verified and citation.located == "computed" and len(citation.rows) == 2
    asked, written = (body["messages"][-1]["content"] for body in ollama.chats)
    assert asked.startswith("Examples, over another table:") and SAID in written
    assert "- Berth (text): A, B" in asked and "- Filled (date): 2024-03-02 to 2024-05-07" in asked
    columns = ollama.chats[0]["format"]["properties"]["select"]["items"]["enum"]
    assert columns == ["Vessel", "Berth", "Litres", "Filled"]


def test_what_rules_are_certain_of_is_not_asked(ollama, ask):
    ollama.script(f"{SAID}. [1]")
    answer = ask("What is the sum of litres in berth A?")
    assert [call.role for call in answer.usage.log] == ["generator"] and answer.certainty == "sure"


def test_where_both_agree_it_is_sure(ollama, ask):
    said = "fuel.csv, the row where Vessel is kittiwake: Litres is 30"
    ollama.script(query(("Vessel", "is", "kittiwake"), select=["Litres"]), f"{said} [1]")
    answer = ask("litres of Kittiwakke")
    assert answer.certainty == "sure" and answer.cited[0].located == "computed"


WRONG = [
    (SOLD, query(("Berth", "is", "Z"), select=["Litres"]), "'Z' stands neither in the question nor in Berth"),
    (SOLD, query(("Litres", "is", "many"), select=["Berth"]), "'many' is no number, and Litres holds numbers"),
    (SOLD, query(("Vessel", "over", "A"), select=["Berth"]), "Vessel holds texts, which are not compared by 'over'"),
    (SOLD, query(("Filled", "is", "soon"), select=["Berth"]), "'soon' is no date for Filled"),
    (SOLD, query(("Berth", "is", "B"), select=["Berth"]), "Berth is what the question asks for"),
    (SOLD, query(("Litres", "over", "900"), select=["Berth"]), "no row meets these conditions"),
    (SOLD, query(aggregate="sum"), "sum needs a column to select"),
    ("Who swallowed oil in A?", query(("Berth", "is", "A"), aggregate="count"), "who or which, not how many"),
    (SOLD, query(select=["Captain"]), "select.0: expected"),
    (SOLD, "It is 55.", "expected"),
]


@pytest.mark.parametrize(("question", "wrong", "said"), WRONG)
def test_a_query_that_does_not_fit_is_asked_for_once_more_with_the_error(ollama, ask, question, wrong, said):
    ollama.script(wrong, SUM, f"{SAID}. [1]")
    assert ask(question).cited[0].located == "computed"
    correction = ollama.chats[1]["messages"][-1]["content"]
    assert correction.startswith("That reply could not be used") and said in correction


def test_what_stays_wrong_is_left_out_and_rows_are_not_sure(ollama, ask):
    ollama.script("no", "no", "Kittiwake | Berth: A | Litres: 30 | Filled: 2024-03-02 [1]")
    answer = ask(SOLD)
    assert answer.usage.unparsed == 1 and answer.certainty != "sure"
    assert "could not be read as one about this table" in answer.reason


def test_a_question_is_read_once_however_often_passages_are_retrieved(ollama, ask):
    def reply(body):
        wanted = (body.get("format") or {}).get("properties", {})
        return SUM if "where" in wanted else grades("n" * len(shown(body))) if wanted else "fuel of vessels"

    ollama.always = reply
    answer = ask(SOLD, graph="self-rag")
    roles = [call.role for call in answer.usage.log]
    assert roles.count("table_query") == 1 and roles.count("rewriter") == 1 and answer.status == "abstained"


def test_a_row_behind_a_better_passage_is_no_reason_to_ask(tmp_path, ollama):
    (tmp_path / "fuel.csv").write_text(TABLE)
    (tmp_path / "vessels.md").write_text("Many litres of brandy were swallowed by the vessels in the storm of 1901.\n")
    with (
        Index.open(tmp_path / "index", HashingEmbedder(window=300), create=True) as index,
        engine_on(ollama) as engine,
    ):
        index.sync([tmp_path])
        ollama.script("Many litres were swallowed. [1]")
        answer = Rag(Settings.load(graph="plain"), index, Choice(engine)).ask(
            "How many litres of brandy were swallowed by the vessels in the storm?", record=False
        )
    assert [call.role for call in answer.usage.log] == ["generator"]


def test_a_computed_figure_stands_where_the_model_miscounts_its_rows(tmp_path, ollama):
    (tmp_path / "fuel.csv").write_text(TABLE + "Petrel,B,,2024-06-02\n")
    assessor = ExtractiveEngine(HashingEmbedder(), ScriptedEvaluator({}))
    ollama.script("no query", "no query", "The vessels in berth B took 900 litres. [1]")
    with (
        Index.open(tmp_path / "index", HashingEmbedder(window=300), create=True) as index,
        engine_on(ollama, grading="auto", assessor=assessor) as engine,
    ):
        index.sync([tmp_path / "fuel.csv"])
        answer = Rag(Settings.load(graph="self-rag"), index, Choice(engine)).ask(
            "How many litres took berth B?", record=False
        )
    assert "2 of 4 rows where Berth is B: the sum of Litres is 12" in answer.text
    assert answer.certainty == "probably" and "1 cell of Litres is empty" in answer.reason
