"""The files of the page: nobody else's but what is named, readable, and nothing in them makes markup of strings."""

import hashlib
import re
from pathlib import Path

import pytest

import local_rag

PAGE = Path(local_rag.__file__).parent / "server" / "page"
SERVED = sorted(path for path in PAGE.rglob("*") if path.suffix in (".html", ".js", ".css", ".svg"))
OURS = [path for path in SERVED if "vendor" not in path.parts]
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|DOMParser|createContextualFragment|srcdoc"
    r"|\beval\(|new Function|setTimeout\(\s*[\"'`]|javascript:"
)
ELSEWHERE = re.compile(r"(?:https?:)?//[a-z0-9]", re.IGNORECASE)


def test_the_code_of_others_is_named_with_its_digest_and_licence():
    listed = (PAGE / "vendor" / "README.md").read_text()
    for path in PAGE.joinpath("vendor").glob("*.js"):
        assert f"`{path.name}`" in listed
        assert hashlib.sha256(path.read_bytes()).hexdigest() in listed
    assert {path.name for path in PAGE.joinpath("vendor").glob("*.LICENSE")} == {"htm.LICENSE", "preact.LICENSE"}


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(PAGE).as_posix())
def test_nothing_makes_markup_of_strings_or_fetches_from_elsewhere_and_every_import_is_a_file(path):
    text = path.read_text()
    assert MARKUP.findall(text) == []
    addresses = ELSEWHERE.findall(text.replace("http://www.w3.org/2000/svg", ""))
    assert addresses == []
    assert " style=" not in text and "<style" not in text
    assert all(len(line) <= 120 for line in text.split("\n")) or path.suffix == ".svg"
    for name in re.findall(r"""(?:from|import|lazy)\s*\(?\s*["'](\.{0,2}/[^"'$]+\.js)["']""", text):
        imported = PAGE / name.removeprefix("/page/") if name.startswith("/page/") else path.parent / name
        assert imported.is_file(), name
