"""Test cases and published formats: what is read, what is refused, and with which message."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.core.errors import DiskFull, UsageError
from local_rag.evaluation.cases import Case, CaseFile, Target, line_of, named, read_cases
from local_rag.evaluation.sets import guess, open_cases, sampled


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_line_may_say_everything(tmp_path):
    file = lines(
        tmp_path / "cases.jsonl",
        {
            "id": "a",
            "question": " What is the fee? ",
            "answers": ["12 euros", "€ 12"],
            "answerable": True,
            "relevant": ["fees.pdf", {"file": "b.md", "page": 3, "quote": "12 euros", "gain": 2}],
            "route": "vectorstore",
            "hops": 2,
            "note": "asked by mail",
        },
        {"question": "Who won?", "answerable": False},
        {"question": "What is it?", "answers": ["a pump"]},
    )
    first, second, third = read_cases(file)
    assert first == Case(
        "a",
        "What is the fee?",
        ("12 euros", "€ 12"),
        True,
        (Target("fees.pdf"), Target("b.md", 3, "12 euros", 2)),
        "vectorstore",
        2,
        "asked by mail",
    )
    assert (second.id, second.answerable, second.relevant) == ("2", False, ())
    assert third.answerable is True, "answers say that it has one"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("text", "expected an object, found str"),
        ({"question": " "}, "question: "),
        ({"question": "q", "answer": "x"}, "answer: Unexpected"),
        ({"question": "q", "answers": "x"}, "answers: "),
        ({"question": "q", "answers": [" "]}, "answers.0: "),
        ({"question": "q", "answerable": "yes"}, "answerable: Input should be a valid boolean"),
        ({"question": "q", "answerable": False, "answers": ["x"]}, "can have no answers"),
        ({"question": "q", "route": "files"}, "route: Input should be 'vectorstore', 'web_search' or 'direct'"),
        ({"question": "q", "hops": 0}, "hops: Input should be greater than or equal to 1"),
        ({"question": "q", "relevant": "a.md"}, "relevant: "),
        ({"question": "q", "relevant": [{}]}, "needs a file or a quote"),
        ({"question": "q", "relevant": [{"file": "a", "page": 0}]}, "relevant.0.page: "),
        ({"question": "q", "relevant": [{"file": "a", "page": True}]}, "relevant.0.page: "),
        ({"question": "q", "relevant": [{"file": "a", "gain": -1}]}, "relevant.0.gain: "),
        ({"question": "q", "relevant": [{"file": "a", "gain": float("inf")}]}, "relevant.0.gain: "),
        ({"question": "q", "keep": "yes"}, "keep must be true or false"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(tmp_path, row, said):
    file = lines(tmp_path / "cases.jsonl", {"question": "fine"}, row)
    with pytest.raises(UsageError, match="line 2") as caught:
        read_cases(file)
    assert said in str(caught.value)
    assert "question" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\n\n", "holds no case"),
        (b'{"question": "q"}\n{"question', "line 2 is not JSON"),
        (b'[{"question": "q"}]', r"found list; write one object per line, with no \[ \] around them"),
        (b'{"question": "\xe9"}', "no text in UTF-8"),
        (b'{"id": 1, "question": "a"}\n{"id": "1", "question": "b"}', "two cases with the id '1'"),
    ],
)
def test_files_that_hold_no_cases_are_refused(tmp_path, text, said):
    (tmp_path / "cases.jsonl").write_bytes(text)
    with pytest.raises(UsageError, match=said):
        read_cases(tmp_path / "cases.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_cases(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "case",
    [
        Case("1", "What?"),
        Case("1", "Who?", answerable=False, route="web_search", note="by mail"),
        Case(
            "1", "Wie\u2028lang\u0085?", ("zwölf\nEuro",), True, (Target("a", 2), Target(quote="x", gain=0.5)), hops=3
        ),
    ],
)
def test_a_case_comes_back_from_its_line(tmp_path, case):
    (tmp_path / "cases.jsonl").write_text(line_of(case) + "\r\n", encoding="utf-8")
    assert read_cases(tmp_path / "cases.jsonl") == (case,)
    assert "null" not in line_of(case) and "hops" not in line_of(replace(case, hops=1)), "what is empty is left out"


# --- a file that grows


def test_proposals_are_left_out_until_somebody_keeps_them(tmp_path):
    file = CaseFile(tmp_path / "mine.jsonl")
    file.append(Case(named("What is the fee?"), "What is the fee?", ("12",), True), keep=False)
    with pytest.raises(UsageError, match='each of its 1 cases says "keep": false'):
        read_cases(file.path)
    file.append(Case("2", "Who won?", answerable=False))
    assert [case.id for case in read_cases(file.path)] == ["2"]
    again = CaseFile(file.path)
    assert len(again.cases) == 2 and again.has("what is the FEE") and not again.has("Who lost?")
    first, rest = file.path.read_text().split("\n", 1)
    assert first.startswith('{"keep": false, "id"')
    file.path.write_text(first.replace("false", "true", 1) + "\n" + rest)
    assert len(read_cases(file.path)) == 2
    assert file.path.stat().st_mode & 0o777 == 0o600, "it quotes a person's files"


def test_a_line_is_appended_whole_or_not_at_all(tmp_path, monkeypatch):
    (tmp_path / "mine.jsonl").write_text('{"question": "by hand"}')
    file = CaseFile(tmp_path / "mine.jsonl")
    file.append(Case("2", "Who won?", answerable=False))
    assert [case.question for case in read_cases(file.path)] == ["by hand", "Who won?"]
    before = file.path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(DiskFull, match="what was stored before is kept"):
        file.append(Case("3", "Who lost?", answerable=False))
    assert file.path.read_bytes() == before
    with pytest.raises(UsageError, match="is a folder"):
        CaseFile(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        CaseFile(tmp_path / "none" / "mine.jsonl")


# --- the formats of others


def squad(tmp_path):
    def article(context, *asked, **title):
        return {"paragraphs": [{"context": context, "qas": asked}]} | title

    cost = {"id": "1", "question": "What does it cost?", "answers": [{"text": "12 euros"}] * 2, "is_impossible": False}
    maker = {"id": "2", "question": "Who made it?", "answers": [], "plausible_answers": [], "is_impossible": True}
    age = {"id": "3", "question": "How old?", "answers": [{"text": "ten years"}]}
    blank = {"id": "4", "question": " ", "answers": []}
    data = [article("The pump costs 12 euros.", cost, maker, title="Old_pumps")]
    data += [article("It is ten years old.", age, title="Old_pumps"), article("none", blank)]
    file = tmp_path / "squad.json"
    file.write_text(json.dumps({"version": "v2.0", "data": data}))
    return file


def test_squad_paragraphs_become_documents_of_names_of_their_own(tmp_path):
    found = open_cases([squad(tmp_path)])
    assert (found.format, found.name) == ("squad", "squad")
    assert found.cases == (
        Case("1", "What does it cost?", ("12 euros",), True, (Target("Old pumps/1"),)),
        Case("2", "Who made it?", (), False),
        Case("3", "How old?", ("ten years",), True, (Target("Old pumps (2)/1"),)),
    ), "a blank is none"
    assert [name for name, _ in found.documents] == ["Old pumps/1", "Old pumps (2)/1", "text 3/1"]
    _, text = found.documents[0]
    assert (text.title, text.text) == ("Old pumps", "Old pumps\n\nThe pump costs 12 euros.")


def test_beir_documents_with_a_gain_are_relevant(tmp_path):
    folder, scores = tmp_path / "pumps", tmp_path / "pumps" / "qrels" / "test.tsv"
    scores.parent.mkdir(parents=True)
    lines(folder / "corpus.jsonl", {"_id": "d1", "title": "Pumps", "text": "They pump."}, {"_id": "d2", "text": "No."})
    lines(folder / "queries.jsonl", {"_id": 1, "text": "what pumps"}, {"_id": "q2", "text": "nothing"})
    head = "\ufeffquery-id\tcorpus-id\tscore\n"
    scores.write_text(f"{head}1\td1\t1\n1\td1\t2\n1\td2\t0\nq2\td2\t-1\n")
    found = open_cases([folder])
    relevant = (Target("d1", gain=2.0),)
    assert found.cases == (Case("1", "what pumps", answerable=True, relevant=relevant),), "0 and -1 are not relevant"
    assert [name for name, _ in found.documents] == ["d1", "d2"]
    scores.write_text(f"{head}1\td1\tx\n")
    with pytest.raises(UsageError, match="not in the format beir"):
        open_cases([folder])
    scores.unlink()
    with pytest.raises(UsageError, match=r"no qrels/test\.tsv"):
        open_cases([folder])


def test_clapnq_rows_without_an_answer_are_unanswerable(tmp_path):
    passage = {"title": "Sapper", "text": "A sapper digs .", "sentences": ["A sapper digs ."]}
    file = lines(
        tmp_path / "clapnq.jsonl",
        {"id": "7", "input": "what does a sapper do", "passages": [passage], "output": [{"answer": "It digs."}] * 2},
        {"id": "8", "input": "who is she", "passages": [passage], "output": [{"answer": ""}]},
    )
    found = open_cases([file])
    assert found.format == "clapnq"
    assert found.cases == (
        Case("7", "what does a sapper do", ("It digs.",), True, (Target("Sapper/7"),)),
        Case("8", "who is she", (), False),
    )
    assert [name for name, _ in found.documents] == ["Sapper/7", "Sapper/8"]


@pytest.mark.parametrize("pairs", [True, False], ids=["lists", "columns"])
def test_hotpotqa_supporting_sentences_are_relevant(tmp_path, pairs):
    context = [["A", ["A is old. ", "A is big."]], ["B", ["B made A."]]]
    facts = [["A", 1], ["B", 0], ["B", 5]]
    if not pairs:
        context = {"title": ["A", "B"], "sentences": [texts for _, texts in context]}
        facts = {"title": [title for title, _ in facts], "sent_id": [number for _, number in facts]}
    row = {"question": "Who made the big one?", "answer": "B", "context": context, "supporting_facts": facts}
    if pairs:
        file = tmp_path / "hotpot.json"
        file.write_text(json.dumps([{"_id": "x", **row}]))
    else:
        file = lines(tmp_path / "hotpot.jsonl", {"id": "x", **row})
    found = open_cases([file])
    (case,) = found.cases
    assert found.format == "hotpotqa"
    assert (case.id, case.answers, case.hops) == ("x", ("B",), 2)
    assert case.relevant == (Target("A", quote="A is big."), Target("B", quote="B made A.")), (
        "a fact out of range is left out"
    )
    assert dict(found.documents)["A"].text == "A\n\nA is old. A is big."


def test_several_files_are_one_set(tmp_path):
    one = lines(tmp_path / "a.jsonl", {"id": "1", "question": "a"})
    two = lines(tmp_path / "b.jsonl", {"id": "2", "question": "b"})
    found = open_cases([one, two])
    assert (found.name, [case.id for case in found.cases]) == ("a+b", ["1", "2"])
    with pytest.raises(UsageError, match="must have the same format"):
        open_cases([one, squad(tmp_path)])
    with pytest.raises(UsageError, match="two cases with the id '1'"):
        open_cases([one, one])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("other.jsonl", '{"prompt": "x"}', "its first entry has prompt"),
        ("x.json", "{", r"is not JSON: .* in line 1$"),
        ("empty.jsonl", "\n", r"empty\.jsonl is empty"),
        ("list.jsonl", '[["question", "q"]]', "unknown format; its first entry has no keys"),
        ("y.json", '{"data": [{}]}', "not in the format squad"),
    ],
)
def test_what_is_in_no_known_format_is_refused(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=said):
        open_cases([tmp_path / name])
    with pytest.raises(UsageError, match="no BEIR set"):
        guess(tmp_path)
    with pytest.raises(UsageError, match="there is no format 'csv'"):
        open_cases([tmp_path / name], "csv")


@given(st.integers(0, 60), st.integers(0, 9))
def test_a_sample_keeps_the_order_and_depends_on_the_seed_alone(limit, seed):
    cases = [Case(str(number), "q") for number in range(40)]
    found = sampled(cases, limit, seed)
    assert found == sampled(cases, limit, seed)
    assert len(found) == min(limit, 40)
    assert list(found) == sorted(found, key=lambda case: int(case.id))
