"""Questions about real files, with the packaged embedder and the extractive engine, over the API."""

from support.asking import asked
from support.serving import marked, text_of


def test_an_answer_names_a_file_that_opens_and_its_quote_stands_in_its_passage(serve, here):
    client = serve()
    (turn,) = client.got("/api/thread?thread=garden&detail=true")["turns"]
    (citation,) = turn["citations"]
    assert (citation["label"], citation["where"]) == ("notes/plan.md", "§ Garden plan > Costs")
    place = client.got(f"/api/documents/{citation['file_id']}/place", start=citation["start"], end=citation["end"])
    assert marked(place) == [citation["quote"]] == ["The greenhouse costs 4,200 euros."]
    page = client.get("/api/thread/export?thread=garden&turn=1&format=html").text
    shown = page.partition("<blockquote ")[2].partition("</blockquote>")[0]
    assert f"<mark>{citation['quote']}</mark> The fence was paid for in 2023." in shown, "in its passage"


def test_rows_are_drawn_as_a_table_beside_the_answer_and_in_a_search(serve, tmp_path, said):
    lines = ["item,price", "Shovel,12.50", *(f"Rake {number},9.90" for number in range(8))]
    (tmp_path / "prices.csv").write_text("\n".join(lines) + "\n")
    said(f"index {tmp_path / 'prices.csv'}")
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
