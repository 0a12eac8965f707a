"""Implement `local-rag eval`: run cases, compare two runs, and make cases from your own index."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from local_rag.cli.options import (
    EngineOptions,
    FormatOption,
    IndexesOption,
    JsonOption,
    KOption,
    SecondsOption,
    WebFromOption,
    argument,
    option,
    settings_of,
    stderr_display,
    with_options,
    write_result,
)
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.evaluation.runner import Plan
    from local_rag.evaluation.sets import CaseSet


class _Cases(TyperGroup):
    """Read `local-rag eval CASES` as `local-rag eval run CASES`: a first word that is no command is a file of cases."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "--debug"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


eval_app = typer.Typer(
    cls=_Cases,
    no_args_is_help=True,
    rich_markup_mode=None,
    subcommand_metavar="CASES | COMMAND [ARGS]...",
    help="Measure answers on your own files. Type local-rag eval CASES.jsonl or --demo; see eval run --help.",
)


@dataclass(frozen=True, kw_only=True)
class RunOptions(EngineOptions):
    """Choose the indexes to search together, and the engine that grades and answers."""

    index: IndexesOption = None

    def settings(self, **flags: Any) -> Settings:
        return super().settings(several=True, **flags)


CasesArgument = Annotated[list[Path] | None, argument("CASES", "JSON lines, SQuAD, BEIR folder, ClapNQ or HotpotQA.")]
GraphsOption = Annotated[
    list[str] | None,
    option("--graph", "A graph to measure; repeatable. All four if left out.", "NAME"),
]
ModesOption = Annotated[
    list[str] | None,
    option("--mode", "How to retrieve; repeatable.", "hybrid|dense|words"),
]
DemoOption = Annotated[bool, option("--demo", "Use the cases and documents that ship with local-rag.")]
CorpusOption = Annotated[bool, option("--corpus", "Index and search the set's own documents.")]
LimitOption = Annotated[int | None, option("--limit", "Ask only N cases, drawn by --seed.", "N", min=1)]
SeedOption = Annotated[int, option("--seed", "Seed for drawing the cases of --limit.", "N")]
OnlyOption = Annotated[bool, option("--retrieval-only", "Rank passages, answer nothing.")]
JudgeOption = Annotated[
    str | None, option("--judge", "An Ollama model that judges whether answers are right.", "MODEL")
]
OutOption = Annotated[Path | None, option("--out", "The folder for the run and its reports.", "DIR")]


@eval_app.command("run")
@with_options
def run_(
    cases: CasesArgument = None,
    graph: GraphsOption = None,
    demo: DemoOption = False,
    corpus: CorpusOption = False,
    *,
    options: RunOptions,
    k: KOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    retrieval_only: OnlyOption = False,
    mode: ModesOption = None,
    format: FormatOption = None,
    judge: JudgeOption = None,
    seconds: SecondsOption = None,
    web_from: WebFromOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> int:
    """Ask every case and report the figures.

    Each graph answers every case. The same command continues a stopped run. Without --out, the run is stored in the
    data folder. The web is off; --web-from measures crag and adaptive with saved pages in place of the web.
    """
    from local_rag.config.values import GraphName
    from local_rag.diagnostics.demo import INDEX, SAVED_PAGES
    from local_rag.evaluation.runner import Plan
    from local_rag.evaluation.sets import open_cases
    from local_rag.index.search import Mode

    _check_cases(cases, options.index, demo=demo, corpus=corpus)
    _check_ranking(retrieval_only, graph=graph, judge=judge, web_from=web_from)
    graphs = _chosen("--graph", graph, get_args(GraphName)) if not retrieval_only else ()
    modes = _chosen("--mode", mode or (None if retrieval_only else ["hybrid"]), get_args(Mode))
    settings = options.settings(
        k=k,
        limits__seconds=seconds,
        web__enabled="off",
        index=[INDEX] if demo else options.index,
        engine=options.engine or ("extractive" if retrieval_only else None),
        web__source=web_from if web_from is not None or not demo else str(SAVED_PAGES),
    )
    opened = _demo_cases(settings) if demo else open_cases(cases or (), format)
    command = ("local-rag", *sys.argv[1:])
    plan = Plan(graphs, modes, limit, seed, judge, corpus, out, command)
    return _evaluate(settings, opened, plan, as_json=json)


def _chosen(option: str, names: list[str] | None, known: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the given names, each once, or all known ones; raise UsageError for an unknown name."""
    if unknown := set(names or ()) - set(known):
        raise UsageError(f"{option} is one of {', '.join(known)}, not {unknown.pop()!r}", hint=f"{option} {known[0]}")
    return tuple(dict.fromkeys(names or known))


def _evaluate(settings: Settings, cases: CaseSet, plan: Plan, *, as_json: bool) -> int:
    """Run the cases, show the figures, and return 1 if every question failed, else 0.

    Raise the error that ended the run early, if any.
    """
    from local_rag.evaluation.evaluate import evaluate
    from local_rag.evaluation.folder import REPORT
    from local_rag.terminal.evaluation import evaluation_parts
    from local_rag.text.display import short_path

    evaluation = evaluate(settings, cases, plan, stderr_display())
    folder, summary = evaluation.folder, evaluation.summary
    plain = {"folder": folder.path, "run": folder.manifest, "summary": summary}
    report = f"everything, case by case: {short_path(folder.path / REPORT)}"
    parts = (*evaluation_parts(folder.manifest, summary, folder.cases), report)
    write_result(plain, parts, as_json=as_json)
    if evaluation.error:
        raise evaluation.error
    return 1 if evaluation.failed else 0


def _demo_cases(settings: Settings) -> CaseSet:
    """Index the documents of the shipped cases, and return the cases."""
    from local_rag.diagnostics.demo import CASES, index_demo
    from local_rag.evaluation.sets import open_cases

    index_demo(settings, stderr_display())
    return replace(open_cases([CASES], "jsonl"), name="demo")


def _check_cases(cases: list[Path] | None, index: list[str] | None, *, demo: bool, corpus: bool) -> None:
    """Raise UsageError if the options name no cases, or two sources of cases or documents."""
    if cases and demo:
        raise UsageError("--demo has cases of its own, so no others can be named", hint="leave one of them out")
    if not cases and not demo:
        raise UsageError("name the cases, or --demo", hint="local-rag eval CASES.jsonl   or   local-rag eval --demo")
    if demo and (corpus or index):
        raise UsageError("the demo has documents and an index of its own", hint="local-rag eval --demo")
    if corpus and index:
        raise UsageError("--corpus makes an index, so --index cannot name another", hint="leave one of them out")


def _check_ranking(retrieval_only: bool, **given: object) -> None:
    """Raise UsageError for options of answers when only passages are ranked."""
    for name, value in given.items():
        if retrieval_only and value:
            option = name.replace("_", "-")
            raise UsageError(
                f"--{option} has no effect with --retrieval-only, which answers nothing", hint="leave one of them out"
            )


@eval_app.command()
def compare(
    a: Annotated[Path, argument("A", "The folder of a run, or its name in the data folder.")],
    b: Annotated[Path, argument("B", "The folder of the run to compare with it.")],
    graph_a: Annotated[str | None, option("--graph-a", "The graph, or mode of retrieval, of A.", "NAME")] = None,
    graph_b: Annotated[
        str | None, option("--graph-b", "The graph, or mode of retrieval, of B; B may be A.", "NAME")
    ] = None,
    seed: Annotated[int, option("--seed", "Seed for the samples of intervals and tests.", "N")] = 0,
    json: JsonOption = False,
) -> int:
    """Compare two runs case by case.

    The output has the differences, their intervals, and whether they may be chance.
    """
    from local_rag.evaluation.compare import compare as compare_runs
    from local_rag.terminal.evaluation import comparison_parts

    comparison = compare_runs(_run_folder(a), _run_folder(b), graph_a=graph_a, graph_b=graph_b, seed=seed)
    write_result(comparison, comparison_parts(comparison), as_json=json)
    return 0


def _run_folder(path: Path) -> Path:
    """Return the folder itself, or the run of that name in the data folder."""
    from local_rag.evaluation.folder import FOLDER

    kept = settings_of().data_folder / FOLDER / path
    return kept if not path.exists() and len(path.parts) == 1 and kept.exists() else path


@eval_app.command()
@with_options
def make(
    cases: Annotated[Path, argument("CASES.jsonl", "The file for the cases; new ones are appended.")],
    *,
    options: EngineOptions,
    count: Annotated[int, option("--count", "Questions with an answer to propose.", "N")] = 20,
    unanswerable: Annotated[int, option("--unanswerable", "Questions without an answer to propose.", "N")] = 5,
    seed: Annotated[int, option("--seed", "Seed for the choice of passages.", "N")] = 0,
    yes: Annotated[bool, option("--yes", "Keep every proposal unread.")] = False,
    from_feedback: Annotated[
        bool, option("--from-feedback", "Take the answers that you judged on the page instead.")
    ] = False,
) -> int:
    """Propose cases from your own index.

    A language model writes the questions; without one, they come from headings. They are written with "keep": false,
    and eval leaves them out: read and correct them in an editor, and set true. The same command proposes more. With
    --from-feedback, each answer of this index that you judged becomes a case.
    """
    from local_rag.evaluation.labels import keep_feedback
    from local_rag.evaluation.make import make_cases
    from local_rag.terminal.console import write
    from local_rag.terminal.evaluation import feedback_parts, made_parts

    settings = options.settings()
    if from_feedback:
        write(*feedback_parts(keep_feedback(settings, cases), settings.values.index))
        return 0
    if count < 0 or unanswerable < 0 or not count + unanswerable:
        raise UsageError("--count and --unanswerable are both 0", hint="local-rag eval make CASES.jsonl --count 20")
    made = make_cases(settings, cases, stderr_display(), count=count, unanswerable=unanswerable, seed=seed, keep=yes)
    write(*made_parts(made, settings.values.index, count + unanswerable, keep=yes))
    return 0
