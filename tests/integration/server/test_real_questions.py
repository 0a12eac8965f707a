"""Questions about real files, with the packaged embedder and the extractive engine, over the API."""

from __future__ import annotations

import pytest
from support.asking import asked
from support.serving import marked, text_of

from local_rag.cli.app import run

BEFORE = "The garden has a greenhouse and a shed. " * 30
AFTER = " The hedge is cut in June." * 40


@pytest.mark.slow
def test_an_answer_names_a_file_that_opens_and_its_quote_stands_in_its_passage(serve, tmp_path, capsys):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "lease.md").write_text(f"# Lease\n\n{BEFORE}The deposit for the flat is 1,200 euros.{AFTER}\n")
    assert run(["index", str(notes)]) == 0
    capsys.readouterr()
    client = serve()
    events = asked(client, "How high is the deposit for the flat?", thread="flat", engine="extractive")
    answer = events[-1][1]
    assert "1,200 euros" in answer["text"], events[-1]
    (citation,) = answer["citations"]
    assert (citation["label"], citation["where"]) == ("notes/lease.md", "§ Lease")
    place_ = client.get(f"/api/documents/{citation['file_id']}/place?start={citation['start']}&end={citation['end']}")
    assert marked(place_.json()) == [citation["quote"]]
    works, ended = ([value["node"] for name, value in events if name == kind] for kind in ("started", "step"))
    assert works[0] == "open" and set(works) <= set(ended), "whatever begins has ended"
    passages = [each for name, value in events if name == "retrieved" for each in value["passages"]]
    assert passages[0]["file_id"] == citation["file_id"] and passages[0]["dense"] > 0
    page = client.get("/api/thread/export?thread=flat&turn=1&format=html").text
    shown = page.partition("<blockquote ")[2].partition("</blockquote>")[0]
    before, _, rest = shown.partition("<mark>")
    quote, _, after = rest.partition("</mark>")
    assert quote == citation["quote"] and before.endswith("a greenhouse and a shed. ") and "hedge is cut" in after


def test_rows_are_drawn_as_a_table_beside_the_answer_and_in_a_search(serve, tmp_path, capsys):
    lines = ["item,price", "Shovel,12.50", *(f"Rake {number},9.90" for number in range(8))]
    (tmp_path / "prices.csv").write_text("\n".join(lines) + "\n")
    assert run(["index", str(tmp_path / "prices.csv")]) == 0
    capsys.readouterr()
    client = serve()
    asked(client, "What does the shovel cost?", thread="garden", engine="extractive")
    asked(client, "What is the average price?", thread="garden", engine="extractive")
    first, second = client.got("/api/thread?thread=garden&detail=true")["turns"]
    (shovel,) = first["blocks"][-1]["tables"]["1"]
    assert [[text_of([cell]) for cell in row["c"]] for row in shovel["c"]] == [["item", "price"], ["Shovel", "12.50"]]
    mean, more = second["blocks"][-1]["tables"]["1"]
    assert len(mean["c"]) == 6 and text_of([more]) == "and 4 more rows"
    (found,) = client.posted("/api/search", {"query": "shovel"})["passages"]
    assert found["rows"][0]["t"] == "table" and marked({"blocks": found["rows"]}) == ["Shovel"]
