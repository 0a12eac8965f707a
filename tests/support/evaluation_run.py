"""Make a believable run of an evaluation in memory: records as they are stored, and their figures."""

import random

from local_rag.core.answer import Answer, Citation
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.core.serialization import to_plain
from local_rag.core.verdicts import Call, Graded, Usage
from local_rag.evaluation.cases import Case, Target

GRAPHS = ("plain", "self-rag", "crag", "adaptive")
MODES = ("hybrid", "dense", "words")
FOLDER = "/home/reader/handbook"

MANIFEST = {
    "format": 2,
    "started": "2026-11-20T21:14:03+00:00",
    "finished": "2026-11-20T21:19:48+00:00",
    "command": ["local-rag", "eval", "my cases.jsonl", "--graph", "plain", "--graph", "crag"],
    "name": "handbook",
    "cases": {"path": "my cases.jsonl", "sha256": "ab" * 32, "format": "jsonl", "total": 30, "used": 24},
    "limit": 24,
    "seed": 7,
    "graphs": list(GRAPHS),
    "modes": list(MODES),
    "k": 6,
    "engine": {
        "name": "ollama",
        "describe": "ollama, qwen3:4b",
        "why": "the server answers",
        "models": {},
        "prompts": {},
        "fingerprint": "ollama 1",
        "thresholds": {"relevance": None, "answer": None},
    },
    "evaluator": None,
    "judge": "qwen3:8b",
    "index": {
        "path": "/home/reader/.local/share/local-rag/handbook",
        "documents": 41,
        "chunks": 1320,
        "embedder": "minilm",
        "fingerprint": "f00dcafe",
        "chunk_size": 247,
        "chunk_overlap": 40,
        "content": "c0ffee",
    },
    "fallback_corpus": None,
    "settings": {"limits.seconds": 300, "ollama.host": "127.0.0.1:11434"},
    "models_yaml": {"sha256": "cd" * 32, "text": "embedders:\n  minilm: {dimension: 384}\n"},
    "versions": {"local-rag": "0.1.0", "python": "3.11.2", "platform": "Linux"},
}


def cases_of(count=24):
    """Return cases: every third one is not answerable, and every seventh has no label at all."""
    made = []
    for number in range(1, count + 1):
        if number % 7 == 0:
            made.append(Case(f"q{number}", f"What does nobody know of valve {number}?"))
        elif number % 3 == 0:
            made.append(Case(f"q{number}", f"What colour is the moon over valve {number}?", answerable=False))
        else:
            target = Target(f"valves/{number}.pdf", 2, f"Valve {number} holds {number} bar")
            answers = (f"{number} bar", f"{number}.0 bar")
            question = f"How much pressure does valve {number} hold?"
            made.append(Case(f"q{number}", question, answers, True, (target,), "vectorstore", 1 + number % 2))
    return made


def passage_of(case, place, text="", **about):
    number = case.id[1:]
    text = text or f"Valve {number} holds {number} bar. It was tested in section {place} of the yard."
    return {
        "chunk_id": f"{case.id}-{place}",
        "source": f"{FOLDER}/valves/{number}.pdf",
        "title": f"Valve {number}",
        "page": 2 + place,
        "heading": "Pressure",
        "start": 100,
        "end": 100 + len(text),
        "score": round(0.71 - place / 10, 6),
        "rank_score": 0.031,
        "origin": "files",
        "url": "",
        "text": text,
        "query": case.question,
        "holds": [0] if place == 0 and case.relevant else [],
    } | about


def answer_record(case, graph, text="", status="grounded", passages=None, **about):
    """Return a record of kind "answer", with an answer made by the dataclass itself."""
    passages = [passage_of(case, place) for place in range(4)] if passages is None else passages
    number = case.id[1:]
    text = text or f"Valve {number} holds {number} bar. [1]"
    first = passages[0] if passages else passage_of(case, 0)
    quote = Citation(
        1, first["source"], first["page"], "Pressure", first["text"][:40], 101, 120, "", True, "Valve holds."
    )
    said = status != "abstained"
    calls = 0 if graph == "plain" else 4
    answer = Answer(
        case.question,
        text if said else NOT_IN_PASSAGES,
        status,
        reason="" if said else "none of the 4 passages found answers the question",
        citations=(quote,) if said else (),
        nearest=() if said else (quote,),
        graph=graph,
        certainty={"grounded": "sure", "partial": "probably"}.get(status, "in doubt") if said else "",
        engine="ollama",
        path=("retrieve", "generate"),
        decisions=(
            Graded("relevance", "relevant", "names the valve", first["chunk_id"], 0.81, first["source"]),
            Graded("support", "fully", "every word stands there"),
            Graded("graded", "useful"),
        ),
        tries={"rewrites": 0},
        usage=Usage(calls, 900 * calls, 60 * calls, 1.5, 1, 1, 0, (Call("grader", "qwen3:4b"),) * calls, ("a note",)),
        seconds=1.5,
    )
    record = _record(case, graph, answer, [(True, first["holds"])] * said, (int(said),) * 2)
    record["answer"] |= about
    return record | {
        "passages": passages,
        "grades": [] if graph == "plain" else [_grade(case, passage) for passage in passages],
        "steps": [{"node": "retrieve", "seconds": 0.021}, {"node": "generate", "seconds": 1.4}],
        "events": ["retrieve: 0.02 s"],
    }


def _record(case, graph, answer, cited, said):
    return {
        "kind": "answer",
        "case": case.id,
        "graph": graph,
        "answer": to_plain(answer),
        "passages": [],
        "cited": [{"number": 1, "verified": verified, "holds": holds} for verified, holds in cited],
        "sentences": {"total": said[0], "verified": said[1]},
        "grades": [],
    }


def _grade(case, passage):
    gold = bool(passage["holds"]) if case.relevant or case.answerable is False else None
    verdict = "irrelevant" if passage["score"] and passage["score"] < 0.5 else "relevant"
    return {"chunk_id": passage["chunk_id"], "verdict": verdict, "score": passage["score"], "gold": gold}


def records_of(cases, seed=5):
    """Return answers of four graphs, right, wrong, refused and failed ones, and searches, routes and judgements."""
    luck = random.Random(seed)
    records = []
    for case in cases:
        for mode in MODES:
            gains = {"relevant 1": 1.0} if case.relevant else {}
            units, shown = [f"c0ffee{case.id}"], ["handbook/other.pdf, p. 4"]
            if luck.random() < 0.8:
                units, shown = ["relevant 1", *units], [f"valves/{case.id[1:]}.pdf, p. 2 (relevant 1)", *shown]
            records.append(searched(case, units, mode, 0.012, gains) | {"shown": shown})
        if case.route:
            records.append({"kind": "route", "case": case.id, "expected": case.route, "source": "vectorstore"})
            records[-1] |= {"why": "it is about valves", "seconds": 0.2}
        for graph in GRAPHS:
            throw = luck.random()
            if throw < 0.04:
                error = "ServerDown: no Ollama server answers at 127.0.0.1:11434"
                records.append(failed("answer", case, graph=graph) | {"error": error})
                continue
            status = "abstained" if throw < (0.2 if case.answerable else 0.7) else "grounded"
            wrong = "It is about as blue as a kettle. [1]" if throw > 0.85 else ""
            records.append(answer_record(case, graph, wrong, status))
            if status == "abstained":
                continue
            cost = {"why": "says the same", "seconds": 1.0, "calls": 1, "prompt_tokens": 300, "output_tokens": 20}
            records.append(judged(case, "wrong" if wrong else "right", graph) | cost)
    return records


def searched(case, units, mode="hybrid", seconds=1.0, gains=None):
    """Return a record of kind "retrieval": the ranked units, of which those in `gains` are relevant."""
    gains = {"relevant 1": 1.0} if gains is None else gains
    return {"kind": "retrieval", "case": case.id, "mode": mode, "units": units, "gains": gains, "seconds": seconds}


def answered(
    case, text="It is red.", certainty="sure", graph="plain", usage=None, cited=(), said=(0, 0), short="", **more
):
    """Return the least record of kind "answer", a refusal without a text: `cited` are pairs of verified and holds."""
    status = "grounded" if text else "abstained"
    about = {"certainty": certainty if text else "", "usage": usage or Usage(), "short": short}
    answer = Answer(case.question, text or "The passages do not contain the answer.", status, seconds=2.0, **about)
    return _record(case, graph, answer, cited, said) | more


def failed(kind, case, **where):
    return {"kind": kind, "case": case.id, **where, "error": "EngineError: no answer"}


def judged(case, verdict, graph="plain"):
    return {"kind": "judgement", "case": case.id, "graph": graph, "verdict": verdict}
