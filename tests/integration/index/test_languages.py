"""Words in the language of a text: a search finds their other forms, in each store."""

import json
from pathlib import Path

import pytest
from support.fakes_index import add, indexed

TEXTS = {
    "miete.md": "Die Häuser werden von den Mietern im Frühling gestrichen, und der Vermieter zahlt die Farben.",
    "bail.md": "Les locataires doivent repeindre les chevaux de bois, et les propriétaires paient la peinture.",
    "casa.md": "Los inquilinos pintaron las paredes, y los propietarios pagan por las pinturas.",
    "notes.md": "It is not in the notes of the house that they are painted. The tenants may paint them.",
    "code.py": "def haeuser(mieter):\n    return [mieter for _ in range(3)]\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Return the texts, which nobody changes."""
    with indexed(tmp_path_factory.mktemp("languages") / "index", TEXTS) as made:
        yield made


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Haus streichen Farbe", "miete.md"),
        ("Mieter Haus", "miete.md"),
        ("mieten haus", "miete.md"),
        ("locataire cheval propriétaire", "bail.md"),
        ("inquilino pintura pared", "casa.md"),
        ("tenant painting house", "notes.md"),
    ],
)
def test_a_word_is_found_in_its_other_forms(index, query, found):
    first, *_ = index.search(query, 3, mode="words")
    assert first.metadata["source"] == found and 0 < first.metadata["sparse"] <= 1


@pytest.mark.parametrize(("word", "found"), [("Notes", "notes.md"), ("Haus", "miete.md")])
def test_a_stem_of_one_language_is_no_word_of_another(index, word, found):
    """The German stem of "Notes" is "not"."""
    assert {each.metadata["source"] for each in index.search(word, 5, mode="words")} == {found}


def test_a_text_that_goes_takes_its_stems_along(tmp_path):
    with indexed(tmp_path / "index", TEXTS) as index:
        add(index, {"miete.md": "The contract is of another kind, and it is not about that."})
        assert index.search("Haus Farbe", 3, mode="words") == [] and index.verify(deep=True)
        assert "de" not in index.store.languages()


def test_index_says_once_that_the_embedder_does_not_read_most_documents(tmp_path, said, converted):
    for name in ("miete.md", "haus.md"):
        (tmp_path / name).write_text(f"{TEXTS['miete.md']} {name}")
    told = said.shown(f"index {tmp_path}").err
    assert "most documents are in German, which the embedder minilm does not read: they are found by" in told
    assert "local-rag index --reembed --embedder NAME" in told
    (tmp_path / "more.md").write_text(TEXTS["miete.md"] + " Noch etwas.")
    assert "most documents" not in said(f"index {tmp_path}")


def test_questions_in_three_languages_find_their_passages_by_words(tmp_path):
    lines = (Path(__file__).parents[2] / "data/languages/questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    with indexed(tmp_path / "index", {f"{row['topic']}-{row['language']}": row["text"] for row in rows}) as index:
        for code, least in (("de", 0.85), ("fr", 0.95), ("es", 0.95)):
            of_language = [row for row in rows if row["language"] == code]
            firsts = [
                index.search(question, 1, mode="words")[0].metadata["source"] == f"{row['topic']}-{code}"
                for row in of_language
                for question in row["questions"]
            ]
            assert len(firsts) == 40 and sum(firsts) >= least * len(firsts), code
