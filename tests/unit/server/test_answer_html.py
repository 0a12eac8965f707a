"""An answer in a notebook: text, doubts and quotes, and no string of a file or a model is markup."""

import re

import pytest
from support.asking import opened

from local_rag.core.answer import Answer, Citation, Conflict, Position

EVIL = '<script>alert(1)</script><img src=x onerror=alert(2)> &lt;b&gt; " href="#c1" onclick=\'x\' \u202egnp\x1b[2J'
CITED = Citation(1, f"/notes/{EVIL}.md", None, EVIL, EVIL, 0, 0, "", True, title=EVIL, author=EVIL)
SIDES = Conflict((Position(EVIL, "2024-01-01", (CITED,), "document"), Position(EVIL, "", (CITED,))))
TEXT = f"{EVIL} [a]({EVIL}) [b](javascript:alert(3)) ![c](https://example.org/c.png) **bold** [1]"
TAGS = {*"div p bdi h2 ul li strong mark blockquote".split(), 'blockquote dir="auto"'}
TAGS |= {f'{tag} class="{kind}"' for tag, kind in (("p", "soft"), ("span", "soft"), ("a", "cite"))}


@pytest.mark.parametrize(
    "answer",
    [
        Answer(EVIL, TEXT, "partial", EVIL, (CITED,), conflicts=(SIDES,), removed=(EVIL,)),
        Answer(EVIL, "", "abstained", EVIL, nearest=(CITED,), about=(EVIL,)),
    ],
    ids=["answered", "silent"],
)
def test_it_shows_what_was_said_and_no_string_is_markup(answer):
    with opened():  # a program that has an answer has asked a Rag
        html = answer._repr_html_()
    tags = set(re.findall("<(.*?)>", html))
    assert {tag for tag in tags if not tag.startswith("/")} <= TAGS
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html and "/blockquote" in tags
    assert not {"\u202e", "\x1b"} & {*html}
