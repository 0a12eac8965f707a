"""An answer in a notebook: text, doubts and quotes, and no string of a file or a model is markup."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from local_rag.core.answer import Answer, Citation, Conflict, Position

EVIL = '<script>alert(1)</script><img src=x onerror=alert(2)> &lt;b&gt; " href="#c1" onclick=\'x\' \u202egnp\x1b[2J'
TAGS = {"div", "p", "bdi", "h2", "ul", "li", "a", "blockquote", "mark", "span"}
CITED = Citation(1, f"/notes/{EVIL}.md", None, EVIL, EVIL, 0, 0, "", True, title=EVIL, author=EVIL)


class Read(HTMLParser):
    """The text of a page, and every tag with its attributes."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *attributes))

    def handle_data(self, data):
        self.text += data


def test_it_shows_text_status_and_quotes():
    citation = replace(CITED, quote="It **costs** `100` euros.", source="/notes/plan.md", page=3, title="", author="")
    answer = Answer("What does it cost?", "It **costs** `100` ~~200~~ euros [1].", "partial", "by half", (citation,))
    read = Read(answer._repr_html_())
    for said in ("It costs 100 200 euros[1].", "In doubt: by half", "/notes/plan.md · p. 3", "It costs 100 euros."):
        assert said in read.text.replace(" [1]", "[1]"), read.text
    assert {("strong",), ("code",), ("del",)} <= {*read.tags} and not {*"*`~"} & {*read.text}


def test_no_string_of_a_file_or_a_model_is_markup():
    other = replace(CITED, number=2)
    answer = Answer(
        question=EVIL,
        text=f"{EVIL} [a]({EVIL}) [b](javascript:alert(3)) ![c](https://example.org/c.png) [1]",
        status="partial",
        reason=EVIL,
        citations=(CITED,),
        conflicts=(Conflict((Position(EVIL, "2024-01-01", (CITED,), "document"), Position(EVIL, "", (other,)))),),
        removed=(EVIL,),
    )
    silent = Answer(EVIL, "", "abstained", EVIL, nearest=(CITED,), about=(EVIL,))
    for shown in (answer, silent):
        read = Read(shown._repr_html_())
        attributes = {attribute for _, *attributes in read.tags for attribute in attributes}
        assert {tag for tag, *_ in read.tags} <= TAGS
        assert attributes <= {("class", "soft"), ("class", "cite"), ("dir", "auto")}
        assert "<script>alert(1)</script>" in read.text
        assert not {"\u202e", "\x1b"} & {*read.text}
