"""Test thresholds from scores: their effect, the chosen one, where it is stored, and that it is then in force."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.evaluation_cases import cases_file
from support.screen import shown

from local_rag.cli.app import run
from local_rag.config.calibrated import FILE, calibrated, keep, thresholds_for
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.core.errors import ConfigError
from local_rag.evaluation.calibrate import Calibration
from local_rag.evaluation.thresholds import (
    LabelledScore,
    best_threshold,
    cross_fitted,
    point_at,
    standard_error,
    thresholds,
    trade_off,
)
from local_rag.runtime.rag import Rag
from local_rag.terminal.evaluation import COLUMNS, calibration_parts

pytestmark = pytest.mark.usefixtures("converted")


def of(positives, negatives):
    return [*(LabelledScore(one, True, True) for one in positives), *(LabelledScore(one, False) for one in negatives)]


def test_a_threshold_keeps_and_refuses_these_shares():
    scores = [
        LabelledScore(0.9, True, True),
        LabelledScore(0.4, True, False),
        LabelledScore(0.6, True, False),
        LabelledScore(0.5, False),
    ]
    found = point_at(scores, 0.55)
    assert (found.kept, found.refused, found.precision, found.balanced) == (2 / 3, 1.0, 0.5, (2 / 3 + 1) / 2)
    assert found.right == 1 / 3, "of all with an answer, not of the answered"
    assert point_at(scores, 0.9).kept == 1 / 3, "a score on the threshold is above it"
    refused = LabelledScore(0.9, False, False)
    assert point_at([*scores, refused], 0.55).right == 1 / 3, "what has no answer has no right one"
    nothing = point_at([], 0.5)
    assert (nothing.kept, nothing.refused, nothing.precision, nothing.balanced, nothing.right) == (None,) * 5


@pytest.mark.parametrize(
    ("positives", "negatives", "keep_", "threshold"),
    [
        ([0.8, 0.9], [0.1, 0.2], None, 0.5),
        ([0.5, 0.9], [0.5, 0.1], None, 0.3),  # equally good at 0.3 and 0.7: the lower one answers more
        ([0.2] + [0.9] * 9, [0.3] * 3 + [0.1] * 17, None, 0.15),  # 0.25 is better by less than a standard error
        ([0.1, 0.2], [0.8, 0.9], None, 0.0),
        ([0.2, 0.4, 0.6, 0.8], [0.5, 0.1], 1.0, 0.15),
        ([0.2, 0.4, 0.6, 0.8], [0.5, 0.1], 0.5, 0.55),
        ([0.2, 0.4, 0.6, 0.8], [0.9], 0.75, 0.0),  # what refuses nothing may as well answer everything
    ],
)
def test_the_lowest_good_threshold_is_chosen(positives, negatives, keep_, threshold):
    assert best_threshold(of(positives, negatives), keep_) == threshold


shares = st.lists(st.floats(0, 1).map(lambda one: round(one, 3)), min_size=5, max_size=40)


@given(shares, shares)
def test_the_chosen_one_is_the_lowest_within_a_standard_error_of_the_best(positives, negatives):
    scores = of(positives, negatives)
    points = [point_at(scores, threshold) for threshold in [*thresholds(scores), 1.0]]
    best = max(points, key=lambda one: (one.balanced, -one.threshold))
    least = best.balanced - standard_error(scores, best)
    taken = best_threshold(scores)
    assert point_at(scores, taken).balanced >= least - 1e-12
    assert not [point for point in points if point.threshold < taken and point.balanced > least + 1e-9]


def test_the_expectation_is_computed_on_cases_that_did_not_choose():
    honest = cross_fitted(of([0.9] * 10, [0.1] * 10))
    assert (honest.kept, honest.refused, honest.threshold) == (1.0, 1.0, 0.5)
    draw = [((number * 37) % 100) / 100 for number in range(100)]
    noise = [LabelledScore(value, number % 2 == 0) for number, value in enumerate(draw)]
    assert best_threshold(noise) == 0.0, "scores that tell nothing are no ground for refusing"
    some = [
        LabelledScore(min(1.0, value + 0.3 * (number % 2 == 0)), number % 2 == 0) for number, value in enumerate(draw)
    ]
    assert 0.5 < cross_fitted(some).balanced < point_at(some, best_threshold(some)).balanced
    assert cross_fitted(of([0.9] * 4, [0.1] * 10)) is None


def test_what_the_engine_refuses_by_itself_is_refused_at_every_threshold_and_the_trade_off_holds_the_chosen_one():
    silent = [LabelledScore(None, True, False), LabelledScore(None, False)]
    found = point_at([*of([0.5], [0.6]), *silent], 0.0)
    assert (found.kept, found.refused, found.precision, found.right) == (0.5, 0.5, 0.5, 0.5)
    scores = of([n / 50 for n in range(20, 50)], [n / 50 for n in range(30)])
    rows = [row.threshold for row in trade_off(scores, best_threshold(scores))]
    assert len(rows) <= 10 and best_threshold(scores) in rows and rows == sorted(rows)
    with pytest.raises(ValueError, match="both kinds"):
        best_threshold(of([0.5], []))


def test_the_lines_say_what_the_threshold_does():
    scores = of([0.4, 0.9], [0.4, 0.1])
    answer = replace(point_at(scores, 0.0), kept=0.9)
    calibration = Calibration("e", "f", 4, 2, 0, 0, None, answer, point_at(scores, 0.3), 0.95, None, [answer], {})
    lines = shown(*calibration_parts(calibration))
    assert "> is the threshold that was chosen: an answer that scores less than 0.00 is not given" in lines
    assert "in force until now: 0.30, which answers 100% and refuses 50%" in lines
    assert "note: --keep 0.95 cannot be met: the engine answers 90% at most" in lines
    lines = shown(*calibration_parts(replace(calibration, keep=None)))
    assert any(line.startswith("note: this refuses no question") for line in lines)
    assert set(COLUMNS) <= {line.split()[0] for line in lines if line[:1].isalpha()}


# --- kept, and in force -------------------------------------------------------------------------------------------


def test_thresholds_hold_for_one_fingerprint_and_the_settings_are_stronger():
    settings = Settings.load()
    path = keep(settings, "engine 1", Thresholds(relevance=0.3, answer=0.4), {"cases": 20})
    keep(settings, "engine 2", Thresholds(answer=0.7), {})
    assert path == settings.config_folder / FILE
    assert thresholds_for(settings, "engine 1") == Thresholds(relevance=0.3, answer=0.4)
    assert thresholds_for(settings, "engine 2") == Thresholds(answer=0.7)
    own = Settings.load(thresholds__answer=0.9)
    assert thresholds_for(own, "engine 1") == Thresholds(relevance=0.3, answer=0.9)
    nothing = Settings.load(thresholds__answer=0.0, thresholds__relevance=0.0)
    assert thresholds_for(nothing, "engine 1") == Thresholds(relevance=0.0, answer=0.0), "0 is a threshold, too"
    keep(settings, "engine 1", Thresholds(answer=0.1), {})
    assert thresholds_for(settings, "engine 1") == Thresholds(answer=0.1), "a new calibration replaces the old one"


def test_thresholds_that_are_kept_at_the_same_time_are_all_kept():
    settings, names = Settings.load(), [f"engine {number}" for number in range(8)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: keep(settings, name, Thresholds(answer=0.1), {}), names))
    assert set(calibrated(settings)) == set(names)


@pytest.mark.parametrize(
    "content", ["engine 1: 7", "engine 1: {answer: 2}", "engine 1: {answer: .nan}", "engine 1: {answer: much}", "- 1"]
)
def test_a_file_that_cannot_be_read_is_one_clear_error(content):
    settings = Settings.load()
    settings.config_folder.mkdir(parents=True, exist_ok=True)
    (settings.config_folder / FILE).write_text(content)
    with pytest.raises(ConfigError, match=r"calibration\.yaml"):
        thresholds_for(settings, "engine 1")


LEASE = """# Lease

The rent is 900 euros a month. The deposit is two rents. The lease ends on 31 March 2027.

The notice period is three months. The tenant repairs small damages up to 80 euros. Bicycles are kept in the cellar.
"""
KNOWN = {
    "What is the rent?": "900 euros",
    "How much is the deposit?": "two rents",
    "When does the lease end?": "31 March 2027",
    "What is the notice period?": "three months",
    "Where are bicycles kept?": "cellar",
}
UNKNOWN = [
    "Who discovered penicillin?",
    "What is the capital of Mongolia?",
    "How do bees find their hive?",
    "Which planet has the most moons?",
    "Who painted the ceiling of the chapel?",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory, converted):
    """Return a data folder with an index of one file."""
    base = tmp_path_factory.mktemp("lease")
    (base / "lease.md").write_text(LEASE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LOCAL_RAG_DATA_DIR", str(base / "data"))
        assert run(["index", str(base / "lease.md")]) == 0
    return base / "data"


@pytest.fixture
def cases(data, tmp_path, monkeypatch):
    """Return cases about the index: each question twice, because ten of a kind are required."""
    monkeypatch.setenv("LOCAL_RAG_DATA_DIR", str(data))
    known = [{"question": asked, "answers": [answer], "relevant": ["lease.md"]} for asked, answer in KNOWN.items()]
    unknown = [{"question": asked, "answerable": False} for asked in UNKNOWN]
    return cases_file(tmp_path, [*known, *unknown] * 2)


def test_calibrate_fits_shows_keeps_and_is_in_force(cases, said, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_THRESHOLDS_RELEVANCE", "0.01")
    out, err = said.shown(f"calibrate {cases} --engine extractive")
    assert "20 cases, 10 with an answer and 10 without" in out
    assert "threshold  answered  right  refused" in out
    assert "on new questions expect about:" in out
    assert "calibration error of the scores" in out
    assert "grading passages of 20 cases" in err
    assert "thresholds.relevance is set by LOCAL_RAG_THRESHOLDS_RELEVANCE, which stays stronger" in out
    monkeypatch.delenv("LOCAL_RAG_THRESHOLDS_RELEVANCE")
    settings = Settings.load(engine="extractive")
    kept = yaml.safe_load((settings.config_folder / FILE).read_text())
    ((fingerprint, entry),) = kept.items()
    assert fingerprint.startswith("extractive")
    assert entry["cases"] == 20
    with Rag.open(settings) as rag:
        assert rag.thresholds == Thresholds(relevance=entry["relevance"], answer=entry["answer"])
        assert rag.ask("What is the rent?").status == "grounded"
        assert rag.ask("Who discovered penicillin?").status == "abstained"


@pytest.mark.slow
def test_a_dry_run_keeps_nothing_and_json_is_one_object(cases, said):
    report = said.json(f"calibrate {cases} --engine extractive --dry-run --keep 0.9")
    assert report["answer"]["kept"] >= 0.9
    assert report["answer"]["refused"] == 1.0
    assert "kept_in" not in report
    assert not (Settings.load().config_folder / FILE).exists()
    assert set(report["ece"]) == {"passages", "answers"}
    assert all(0 <= error <= 1 for error in report["ece"].values())


@pytest.mark.parametrize(
    ("flags", "why"), [("--limit 12", "at least 10 cases with an answer"), ("--keep 1.5", "share above 0")]
)
def test_bad_input_is_one_line(said, tmp_path, flags, why):
    cases = cases_file(tmp_path, [{"question": "Who?", "answerable": n < 10} for n in range(20)])
    error, hint = said.error(f"calibrate {cases} --engine extractive {flags}", None)
    assert said.ended and why in error and hint
