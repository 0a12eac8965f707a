"""Train a tiny evaluator from a few texts, and test that the package reads with it."""

import json
import random
import sys

import numpy as np
import pytest
from support import CHECKOUT

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.engines.evaluator.evaluator import find
from local_rag.engines.evaluator.inputs import Inputs
from local_rag.runtime.opening import open_evaluator

sys.path.append(str(CHECKOUT / "scripts"))

from evaluator.calibration import logistic
from evaluator.examples import OTHER, PRESENT, UNSURE, Example, Pair, encoded, pairs, questions, round_of

TEXT = "The lamp was lit in 1871 by Ada Moren. It burned whale oil."
OIL = "Whale oil was sold in barrels at the harbour. Nobody liked its smell."
BREAD = "Bread dough must rest for two hours."
LIT = "Who lit the lamp?"
ADA = '{"text": "Ada Moren", "answer_start": 28}'
SQUAD = f"""{{"data": [
  {{"title": "Skerry_Light", "paragraphs": [
    {{"context": "{TEXT}", "qas": [
      {{"question": "{LIT}", "answers": [{ADA}]}},
      {{"question": "Who broke the lamp?", "answers": [], "is_impossible": true}},
      {{"question": "Where?", "answers": [{{"text": "Ada", "answer_start": 0}}]}}
    ]}},
    {{"context": "{OIL}", "qas": [{{"question": "Who liked it?", "answers": []}}]}}
  ]}},
  {{"title": "Bread", "paragraphs": [
    {{"context": "{BREAD}", "qas": [
      {{"question": "How long does dough rest?", "answers": [{{"text": "two hours", "answer_start": 26}}]}}
    ]}}
  ]}}
]}}"""


@pytest.fixture
def squad(tmp_path):
    """Return questions in the format of SQuAD 2.0; the offset of the third is wrong."""
    file = tmp_path / "dev.json"
    file.write_text(SQUAD)
    return file


def test_questions_and_pairs_of_public_formats(squad, tmp_path):
    read = list(questions(squad))
    assert read[0] == Example(LIT, TEXT, "Skerry Light", 28, 37, PRESENT)
    assert [example.start >= 0 for example in read] == [True, False, False, True]
    lines = tmp_path / "more.jsonl"
    lines.write_text(f'{{"question": "{LIT}", "context": "{TEXT}", "answers": [{ADA}]}}')
    assert list(questions(lines)) == [Example(LIT, TEXT, "", 28, 37, PRESENT)]
    lines.write_text(f"""\
{{"premise": "{TEXT}", "hypothesis": "Ada lit it.", "label": "entailment"}}
{{"sentence1": "{TEXT}", "sentence2": "Bo lit it.", "gold_label": "contradiction"}}
""")
    assert list(pairs(lines)) == [Pair("Ada lit it.", TEXT, True), Pair("Bo lit it.", TEXT, False)]


def test_a_round_has_passages_that_do_not_answer(squad):
    known = list(questions(squad))
    made = [each for seed in range(40) for each in round_of(known, [Pair("a", "b", True)], random.Random(seed))]
    lamp = [each for each in made if isinstance(each, Example) and each.question == LIT]
    assert {each.text for each in lamp} >= {TEXT, "It burned whale oil.", OIL, BREAD}
    assert all((each.relevance == PRESENT) is ("Ada Moren" in each.text) for each in lamp)
    assert {each.relevance for each in lamp if each.text == OIL} == {UNSURE}
    assert {each.relevance for each in lamp if each.text == BREAD} == {OTHER}
    assert {each.title for each in lamp if each.start >= 0} == {"", "Skerry Light"}


def test_no_weight_of_a_calibration_is_below_zero():
    draw = np.random.default_rng(7)
    labels = (np.arange(400) % 2).astype(float)
    useful, misleading = labels + draw.normal(0, 0.8, 400), -labels + draw.normal(0, 0.8, 400)
    (weight, none), bias = logistic(np.column_stack([useful, misleading]), labels)
    (alone,), alone_bias = logistic(useful[:, None], labels)
    assert weight > 0 and none == 0 and [weight, bias] == pytest.approx([alone, alone_bias], abs=1e-3)


@pytest.fixture
def base(tmp_path):
    """Return a BERT of random weights with words of its own."""
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


@pytest.mark.slow
def test_a_tiny_evaluator_is_trained_and_the_package_reads_with_it(tmp_path, squad, base, home):
    pytest.importorskip("onnxscript", reason="the extra train is not installed")
    import train_evaluator
    from support.shipped_evaluator import document
    from tokenizers import Tokenizer

    inputs, before = Inputs(Tokenizer.from_file(str(base / "tokenizer.json")), 64), "It burned whale oil . " * 30
    late = Example(LIT, before + TEXT, "", len(before) + 28, len(before) + 37, PRESENT)
    (read,) = encoded([late], inputs)
    first, last = (read.window.offsets[place - read.window.first] for place in (read.start, read.end))
    assert late.text[first[0] : last[1]] == "Ada Moren" and len(read.window.ids) <= 64

    folder, settings = tmp_path / "mine", Settings.load()
    train_evaluator.main(
        [str(folder), "--questions", str(squad), "--dev", str(squad), "--base", str(base), "--freeze", "0",
         "--window", "64", "--examples", "800", "--batch", "8", "--rate", "2e-2"]
    )  # fmt: skip
    settings.config_folder.mkdir(parents=True)
    (settings.config_folder / "models.yaml").write_text(json.dumps({"evaluators": {"mine": {"path": str(folder)}}}))
    settings = Settings.load(evaluator="mine")
    assert find("mine", load_models(settings), None).config.window == 64
    evaluator, why = open_evaluator(settings)
    assert why is None
    lamp, bread = evaluator.read(LIT, [document(TEXT), document(BREAD)])
    assert lamp.spans[0].text == "Ada Moren"
    assert lamp.present > 0.5 and 0 <= bread.answerable <= 1
