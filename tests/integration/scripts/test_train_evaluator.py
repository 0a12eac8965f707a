"""A tiny evaluator is trained from a few texts, and the package reads with it."""

from __future__ import annotations

import json
import random
import sys

import numpy as np
import pytest
from support import CHECKOUT

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core.readings import probability
from local_rag.engines.evaluator.evaluator import find
from local_rag.engines.evaluator.inputs import Inputs
from local_rag.runtime.opening import open_evaluator

sys.path.append(str(CHECKOUT / "scripts"))

from evaluator.calibration import logistic
from evaluator.examples import OTHER, PRESENT, UNSURE, Example, Pair, encoded, pairs, questions, round_of

TEXT = "The lamp was lit in 1871 by Ada Moren. It burned whale oil."
START = TEXT.index("Ada Moren")
OIL = "Whale oil was sold in barrels at the harbour. Nobody liked its smell."
BREAD = "Bread dough must rest for two hours."


def squad(file):
    answer = {"text": "Ada Moren", "answer_start": START}
    entries = [
        {"question": "Who lit the lamp?", "answers": [answer], "is_impossible": False},
        {"question": "Who broke the lamp?", "answers": [], "is_impossible": True},
        {"question": "Where?", "answers": [{"text": "Ada", "answer_start": 0}], "is_impossible": False},
    ]
    hours = {"question": "How long does dough rest?", "answers": [{"text": "two hours", "answer_start": 26}]}
    texts = [(TEXT, entries), (OIL, [{"question": "Who liked it?", "answers": []}]), (BREAD, [hours])]
    articles = [
        {"title": title, "paragraphs": [{"context": text, "qas": qas} for text, qas in paragraphs]}
        for title, paragraphs in (("Skerry_Light", texts[:2]), ("Bread", texts[2:]))
    ]
    file.write_text(json.dumps({"data": articles}), encoding="utf-8")
    return file


def test_questions_and_pairs_of_public_formats(tmp_path):
    read = list(questions(squad(tmp_path / "dev.json")))
    assert read[0] == Example("Who lit the lamp?", TEXT, "Skerry Light", START, START + 9, PRESENT)
    assert [example.start >= 0 for example in read] == [True, False, False, True], "a wrong offset is left out"
    lines = tmp_path / "more.jsonl"
    row = {"question": "Who?", "context": TEXT, "answers": [{"text": "Ada Moren", "answer_start": START}]}
    lines.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert [(example.question, example.start) for example in questions(lines)] == [("Who?", START)]
    rows = [
        {"premise": TEXT, "hypothesis": "Ada lit the lamp.", "label": "entailment"},
        {"sentence1": TEXT, "sentence2": "Bo lit the lamp.", "gold_label": "contradiction"},
    ]
    lines.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert list(pairs(lines)) == [Pair("Ada lit the lamp.", TEXT, True), Pair("Bo lit the lamp.", TEXT, False)]


def test_a_round_has_passages_that_do_not_answer(tmp_path):
    known = list(questions(squad(tmp_path / "dev.json")))
    made = [each for seed in range(40) for each in round_of(known, [Pair("a", "b", True)], random.Random(seed))]
    lamp = [each for each in made if isinstance(each, Example) and each.question == "Who lit the lamp?"]
    assert {each.text for each in lamp} >= {TEXT, "It burned whale oil.", OIL, BREAD}
    assert all((each.relevance == PRESENT) is ("Ada Moren" in each.text) for each in lamp)
    assert {each.relevance for each in lamp if each.text == OIL} == {UNSURE}
    assert {each.relevance for each in lamp if each.text == BREAD} == {OTHER}
    assert {each.title for each in lamp if each.start >= 0} == {"", "Skerry Light"}


def test_no_weight_of_a_calibration_is_below_zero():
    draw = np.random.default_rng(7)
    labels = (np.arange(400) % 2).astype(float)
    useful, misleading = labels + draw.normal(0, 0.8, 400), -labels + draw.normal(0, 0.8, 400)
    weights, bias = logistic(np.column_stack([useful, misleading]), labels)
    assert weights[0] > 0 and weights[1] == 0
    alone, alone_bias = logistic(useful[:, None], labels)
    assert [weights[0], bias] == pytest.approx([alone[0], alone_bias], abs=1e-3), "as if fitted alone"
    weights, bias = logistic(misleading[:, None], labels)
    assert weights == [0.0] and probability(bias) == pytest.approx(0.5, abs=0.01)


@pytest.fixture
def base(tmp_path):
    """A BERT of random weights with words of its own."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertModel

    torch.manual_seed(7)
    folder = tmp_path / "base"
    folder.mkdir()
    text = f"{TEXT} {OIL} {BREAD} who lit broke the lamp liked it how long does dough rest ?"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *dict.fromkeys(text.lower().replace(".", " . ").split())]
    tokenizer = Tokenizer(models.WordPiece({token: n for n, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(vocab_size=len(tokens), max_position_embeddings=128, **sizes)
    config.to_json_file(str(folder / "config.json"))
    tensors = BertModel(config, add_pooling_layer=False).state_dict()
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, str(folder / "model.safetensors"))
    return folder


def test_the_window_that_is_learned_holds_the_answer(base):
    from tokenizers import Tokenizer

    inputs = Inputs(Tokenizer.from_file(str(base / "tokenizer.json")), 64)
    text = "It burned whale oil . " * 30 + TEXT
    late = Example("Who lit the lamp?", text, "", text.index("Ada Moren"), text.index("Ada Moren") + 9, PRESENT)
    (read,) = encoded([late], inputs)
    first, last = (read.window.offsets[place - read.window.first] for place in (read.start, read.end))
    assert text[first[0] : last[1]] == "Ada Moren" and len(read.window.ids) <= 64


@pytest.mark.slow
def test_a_tiny_evaluator_is_trained_and_the_package_reads_with_it(tmp_path, base, home):
    pytest.importorskip("onnxscript", reason="the extra train is not installed")
    import train_evaluator
    from support.shipped_evaluator import document

    file, folder = squad(tmp_path / "dev.json"), tmp_path / "mine"
    train_evaluator.main(
        [str(folder), "--questions", str(file), "--dev", str(file), "--base", str(base), "--freeze", "0", "--window",
         "64", "--examples", "1200", "--batch", "8", "--rate", "2e-2"]
    )  # fmt: skip
    settings = Settings.load()
    settings.config_folder.mkdir(parents=True)
    (settings.config_folder / "models.yaml").write_text(json.dumps({"evaluators": {"mine": {"path": str(folder)}}}))
    settings = Settings.load(evaluator="mine")
    assert find("mine", load_models(settings), None).config.window == 64
    evaluator, why = open_evaluator(settings)
    assert why is None
    lamp, bread = evaluator.read("Who lit the lamp?", [document(TEXT), document(BREAD)])
    assert lamp.spans[0].text == "Ada Moren"
    assert lamp.present > 0.5 and 0 <= bread.answerable <= 1
