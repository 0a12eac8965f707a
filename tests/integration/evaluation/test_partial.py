"""An index of which not all passages are embedded is measured and carried away only with --partial, which is said."""

from __future__ import annotations

import json

import pytest
import yaml
from support.fakes_index import remembering_minilm

from local_rag.bundle.create import order
from local_rag.bundle.installer import partial_lines as installed
from local_rag.bundle.readme_text import readme
from local_rag.bundle.target import Target
from local_rag.cli.app import run
from local_rag.config.calibrated import FILE
from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.evaluation.comparison import compare
from local_rag.index.index import Index
from local_rag.terminal.evaluation import comparison_parts

pytestmark = pytest.mark.usefixtures("converted")

PRICES = {"bread": "three euros", "milk": "one euro", "tea": "four euros", "rice": "two euros", "salt": "ninety cents"}
FINISH = "local-rag index --embed-only"


@pytest.fixture
def cases(tmp_path):
    """An index of two files of which one is embedded, and cases about both."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "bakery.txt").write_text("The bakery opens at seven.", "utf-8")
    with Index.open(Settings.load().index_path, remembering_minilm(), create=True) as index:
        index.sync([notes])
        text = "\n\n".join(f"{what} costs {price}." for what, price in PRICES.items())
        (notes / "shop.txt").write_text(text, "utf-8")
        index.sync(embed=False)
        assert index.embedded_count() == (1, 2)
    shop = {"relevant": [{"file": "shop.txt"}]}
    lines = [
        {"id": f"{what}{n}", "question": f"What does {what} cost?", "answers": [price]} | shop
        for what, price in PRICES.items()
        for n in range(2)
    ]
    kings = (f"Who was the king of France in {1500 + n}?" for n in range(10))
    lines += [{"id": f"u{n}", "question": question, "answerable": False} for n, question in enumerate(kings)]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.mark.slow
def test_eval_refuses_or_says_so_in_every_record(cases, tmp_path, capsys):
    command = ["eval", str(cases), "--retrieval-only", "--mode", "dense", "--out"]
    assert run([*command, str(tmp_path / "refused")]) == 2
    shown = capsys.readouterr().err
    assert "has only 1 of 2 passages embedded, so the figures would not be those of the whole index" in shown
    assert FINISH in shown and "--partial" in shown and not (tmp_path / "refused").exists()
    assert run([*command, str(tmp_path / "part"), "--partial"]) == 0
    said = "Only 1 of 2 passages of the index were embedded"
    assert said in capsys.readouterr().out
    assert json.loads((tmp_path / "part" / "run.json").read_text(encoding="utf-8"))["index"]["embedded"] == 1
    for report in ("report.md", "report.html"):
        assert said in (tmp_path / "part" / report).read_text(encoding="utf-8")
    assert run(["index", "--embed-only"]) == 0
    assert run([*command, str(tmp_path / "part"), "--partial"]) == 2, "another index by now"
    assert "index.embedded (1, now none)" in capsys.readouterr().err
    assert run([*command, str(tmp_path / "whole")]) == 0
    assert "embedded" not in json.loads((tmp_path / "whole" / "run.json").read_text(encoding="utf-8"))["index"]
    comparison = compare(tmp_path / "part", tmp_path / "whole")
    assert len(comparison.partial) == 1 and comparison.partial[0].startswith(f"A: {said}")
    assert comparison.partial[0] in [str(part) for part in comparison_parts(comparison)]
    assert compare(tmp_path / "whole", tmp_path / "part").partial[0].startswith("B: Only 1")


def test_ranking_by_words_alone_needs_no_vectors(cases, tmp_path):
    assert run(["eval", str(cases), "--retrieval-only", "--mode", "words", "--out", str(tmp_path / "words")]) == 0


@pytest.mark.slow
def test_calibrate_refuses_or_keeps_with_the_thresholds_how_much_was_embedded(cases, capsys):
    assert run(["calibrate", str(cases), "--engine", "extractive"]) == 2
    shown = capsys.readouterr().err
    assert "so the thresholds would not hold for the whole index" in shown and FINISH in shown
    assert run(["calibrate", str(cases), "--engine", "extractive", "--partial"]) == 0
    assert "note: fitted with 1 of 2 passages embedded (--partial)" in capsys.readouterr().out
    (entry,) = yaml.safe_load((Settings.load().config_folder / FILE).read_text(encoding="utf-8")).values()
    assert entry["embedded"] == "1 of 2 passages embedded" and entry["files"] == [str(cases)]


def test_a_fallback_corpus_that_is_half_embedded_is_refused_too(cases, tmp_path, capsys):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "page.txt").write_text("The lighthouse is 48 metres tall.", "utf-8")
    assert run(["index", str(tmp_path / "saved"), "--index", "pages", "--no-embed"]) == 0
    assert run(["index", "--embed-only"]) == 0
    command = ["eval", str(cases), "--graph", "crag", "--engine", "extractive", "--limit", "2"]
    assert run([*command, "--web-from", "pages", "--out", str(tmp_path / "a")]) == 2
    assert "local-rag index --embed-only --index pages" in capsys.readouterr().err
    assert run([*command, "--web-from", str(tmp_path / "saved"), "--out", str(tmp_path / "b")]) == 0, (
        "a folder is embedded as a whole when it is opened"
    )


def test_a_bundle_refuses_or_says_so_where_it_is_unpacked(cases):
    target = Target.of(None, None)
    with pytest.raises(UsageError, match="only 1 of 2 passages embedded") as refused:
        order(Settings.load(), target, index=True)
    assert refused.value.hint == f"{FINISH}   or the same command with --partial"
    assert order(Settings.load(), target, index=True, partial=True).index.embedded == 1
    index = {"name": "default", "files": 2, "passages": 2, "embedded": 1}
    contents = {"embedder": {"name": "minilm", "folder": ""}, "index": index}
    text = readme(target, {}, contents, [])
    assert "2 passages, 1 of them embedded" in text and f"{FINISH} --index default" in text
    assert installed(index, "local-rag index --embed-only") == [
        "1 of its 2 passages are embedded; the others are found by their words only. To embed them here:",
        "  local-rag index --embed-only",
    ]
    assert installed({"name": "default", "files": 2, "passages": 2}, "") == []
