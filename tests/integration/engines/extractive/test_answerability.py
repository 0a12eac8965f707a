"""Reading a sentence for what it lacks or turns round, and the models that weigh it."""

from __future__ import annotations

import json

import pytest
from support.fakes import passage
from support.fakes_index import remembering_minilm

from local_rag.core.generation import NOT_IN_PASSAGES, Attempt
from local_rag.engines.extractive.analysis import Analyses
from local_rag.engines.extractive.answerability import FILE, Evidence, Logistic, evidence, read, shipped
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.engines.extractive.selection import choose
from local_rag.text import negation
from local_rag.text.lexicon import FAILURES
from local_rag.text.words import stem, words

pytestmark = pytest.mark.usefixtures("converted")

PUMP = passage(
    1,
    "The first Osprey pump was sold in 1983 in Turin. It was allowed in all mines of the north. Tom Marsh, who "
    "complained of the noise, did not like it.",
    heading="Osprey pump",
)
NOTHING = Evidence(*[0.0] * len(Evidence._fields))


@pytest.fixture(scope="module")
def embedder():
    return remembering_minilm()


@pytest.fixture(scope="module")
def analyses(embedder):
    return Analyses(embedder)


def found(analyses, question, place=0):
    return evidence(analyses.of(question, [PUMP]), place)


@pytest.mark.parametrize(
    ("question", "place", "field", "value"),
    [
        ("When was the first Osprey pump sold?", 0, "number_missing", 0),
        ("Who sold the first Osprey pump in 1983?", 0, "numbered", 1),
        ("Who sold the first Osprey pump in 1983?", 0, "number_missing", 0),
        ("Who sold the first Osprey pump in 1985?", 0, "number_missing", 1),
        ("Where was the first Osprey pump not sold?", 0, "denied", 1),
        ("Where was the first Osprey pump not sold?", 0, "denied_alone", 1),
        ("Who did not like the pump?", 2, "denied_alone", 0),
        ("Who liked the pump?", 2, "denied", 0),
        ("Who sold the last Osprey pump?", 0, "opposite", 1),
        ("Who sold the first Osprey pump?", 0, "opposite", 0),
        ("In which mines was it disallowed?", 1, "negated", 1),
        ("In which mines was it allowed?", 1, "negated", 0),
        ("In which mines was it prohibited?", 1, "opposite", 1),
        ("What was the largest pump?", 0, "narrower", 1),
        ("What was the first pump?", 0, "narrower", 0),
        ("How many pumps were sold in 1983?", 0, "lacks_kind", 1),
        ("When was the first pump sold?", 0, "lacks_kind", 0),
        ("When was the first Osprey pump sold in Turin?", 0, "rarest_missing", 0),
        ("When was the first Osprey pump stolen in Turin?", 0, "rarest_missing", 1),
    ],
)
def test_evidence(analyses, question, place, field, value):
    assert getattr(found(analyses, question, place), field) == value


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("who opposed it", "they supported it", True),
        ("who supported it", "they supported it", False),
        ("the northern coast", "the southern coast", True),
        ("the northern coast", "the northern and the southern coast", False),
        ("the fewest members", "the most members", True),
        ("the green door", "the red door", False),
    ],
)
def test_opposite_words(question, sentence, expected):
    asked, said = (set(map(stem, words(one))) for one in (question, sentence))
    assert negation.has_antonym(asked, said) is expected


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("an unstable bridge", "a stable bridge", True),
        ("a stable bridge", "an unstable bridge", True),
        ("an unstable bridge", "an unstable bridge", False),
        ("an image of the bridge", "the age of the bridge", False),
    ],
)
def test_negative_prefixes(question, sentence, expected):
    assert negation.prefix_differs(words(question), words(sentence)) is expected


@pytest.mark.parametrize(
    ("said", "denied"),
    [("It isn't there.", True), ("It never was.", True), ("They lack water.", True), ("It is there.", False)],
)
def test_denial(said, denied):
    assert negation.denies(words(said), FAILURES) is denied


def test_words_that_admit_one_case_only():
    assert negation.narrowing("Which was the only and largest forest of the West?") == {"only", "largest"}


def test_the_coefficients_are_well_formed():
    data = json.loads(FILE.read_text(encoding="utf-8"))
    assert data["about"]
    models = read(data)
    assert set(models.score.weights) == {"present", "answers"}
    for model in (models.present, models.answers):
        assert set(model.weights) <= set(Evidence._fields)
        assert all(abs(weight) < 50 for weight in model.weights.values())


@pytest.mark.parametrize(
    ("field", "change"), [("denied_alone", -1), ("opposite", -1), ("negated", -1), ("cosine", 1), ("best_cosine", 1)]
)
def test_what_speaks_for_and_against_a_quote(field, change):
    """The signs that meaning demands: a fit that turns them round has learnt something else."""
    more = shipped().of(NOTHING._replace(**{field: 1.0})).score - shipped().of(NOTHING).score
    assert more * change >= 0


def test_a_logistic_model():
    model = Logistic(-1.0, {"cosine": 2.0, "new": -0.5})
    assert model.logit(NOTHING._replace(cosine=1.0, new=4.0)._asdict()) == -1.0


def test_small_talk_is_in_no_file():
    assert shipped().of(NOTHING._replace(cosine=1.0, coverage=1.0), refused=-40.0).present == 0


def models(present, score):
    blank = {"weights": {}}
    return read(
        {"present": blank | {"bias": present}, "answers": blank | {"bias": 0}, "score": blank | {"bias": score}}
    )


@pytest.mark.parametrize(
    ("present", "score", "answers", "quoted"),
    [(9, 9, 0.5, True), (-9, 9, 0.5, False), (9, -9, 0.5, False), (9, -9, 0.0, True), (9, 0, 0.5, True)],
)
def test_both_models_must_agree_before_anything_is_quoted(analyses, present, score, answers, quoted):
    analysis = analyses.of("When was the first Osprey pump sold?", [PUMP])
    assert bool(choose(analysis, "", models(present, score), answers)) is quoted


def test_the_thresholds_are_the_engines_own(embedder):
    question = "When was the first Osprey pump sold?"
    for engine, label, refused in (
        (ExtractiveEngine(embedder, relevant=0.0, answers=0.0), "relevant", False),
        (ExtractiveEngine(embedder, relevant=1.01, answers=1.01), "irrelevant", True),
    ):
        assert engine.relevance(question, [PUMP])[0].label == label
        written = "".join(piece.text for piece in engine.answer(question, [PUMP], Attempt()))
        assert (written == NOT_IN_PASSAGES) is refused


def test_the_score_of_a_grade_is_the_chance_that_the_quote_answers(embedder):
    engine = ExtractiveEngine(embedder)
    quoted = "The first Osprey pump was sold in 1983 in Turin. [1]"
    asked = engine.grade("When was the first Osprey pump sold?", [PUMP], quoted).score
    turned = engine.grade("When was the last Osprey pump not sold?", [PUMP], quoted).score
    other = engine.grade("Who won the cup of Ulm?", [PUMP], quoted).score
    assert asked > turned > other


def test_text_that_is_no_quote_is_scored_too(embedder):
    grade = ExtractiveEngine(embedder).grade(
        "When was the first Osprey pump sold?", [PUMP], "In 1983 somebody in Turin sold the first Osprey pump. [1]"
    )
    assert 0 <= grade.score <= 1
