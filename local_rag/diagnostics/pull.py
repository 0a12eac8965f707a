"""Letting Ollama download a model, with its progress shown. local-rag itself downloads nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from local_rag.config.machine import total_memory
from local_rag.config.models import OllamaModelSpec
from local_rag.config.settings import Settings
from local_rag.core.errors import EngineError, ModelMissing, ServerDown
from local_rag.diagnostics.model_list import needed, room
from local_rag.engines.ollama.address import DOWNLOAD
from local_rag.engines.ollama.server import Installed, Server, check_name, check_remote, same_model
from local_rag.runtime.engine_choice import open_server, roles
from local_rag.runtime.rag import open_embedder
from local_rag.terminal.progress import TerminalDisplay
from local_rag.terminal.show import write
from local_rag.text.display import format_bytes, printable

if TYPE_CHECKING:
    from rich.console import Console

LIBRARY = "https://ollama.com/library"
REGISTRY = "registry.ollama.ai"

Step = Callable[[str, int, int], None]
"""What is done now, bytes done and bytes in all; no bytes where it is nothing that is downloaded."""


def pull_models(settings: Settings, console: Console) -> int:
    """Every model of the profile in force, or the one that was named; the exit code.

    Raises NotLocal for a cloud model before anything is sent, ServerDown, ModelMissing, EngineError.
    """
    _, by_role = roles(settings)
    specs = list({spec.name: spec for spec in by_role.values()}.values())
    for spec in specs:
        check_name(spec.name, settings.values.ollama.allow_cloud)
    with closing(open_server(settings)) as server:
        for spec in specs:
            _announce(server, spec, console)
            _pull(server, spec.name, console)
            there = _installed(server, spec.name)
            if there is None:
                raise EngineError(f"Ollama says that it has {spec.name}, but does not list it", hint="ollama list")
            check_remote(spec.name, there.remote_host, settings.values.ollama.allow_cloud)
            write(
                printable(
                    f"{spec.name} is installed ({format_bytes(there.size)}); try it: local-rag models try {spec.name}"
                )
            )
    _convert(settings, console)
    return 0


def _convert(settings: Settings, console: Console) -> None:
    """Make the embedder ready for quick questions too, while somebody waits for models anyway."""
    embedder = open_embedder(settings, TerminalDisplay(console))
    with suppress(ModelMissing):
        if not embedder.ready:
            embedder.load()


def _installed(server: Server, name: str) -> Installed | None:
    return next((one for one in server.installed() if same_model(one.name, name)), None)


def _announce(server: Server, spec: OllamaModelSpec, console: Console) -> None:
    """Who downloads what, from where, and whether it will fit."""
    if _installed(server, spec.name):
        _say(console, f"Ollama has {spec.name}; it looks for a newer one at {registry(spec.name)}")
    else:
        about = f" (about {spec.download:g} GB)" if spec.download else ""
        _say(console, f"Ollama, not local-rag, downloads {spec.name}{about} from {registry(spec.name)}")
    need, memory = needed(spec), total_memory()
    if memory and room(need, memory) == "no":
        _say(
            console, f"note: it needs about {format_bytes(need)} of memory, and this machine has {format_bytes(memory)}"
        )


def registry(name: str) -> str:
    """Where Ollama looks for a model: a name of three parts begins with the host."""
    parts = name.split("/")
    return parts[0] if len(parts) > 2 else REGISTRY


def _pull(server: Server, name: str, console: Console) -> None:
    last = ""
    try:
        with _showing(console) as show:
            for last, done, total in server.pull(name):
                show(last, done, total)
    except ServerDown:
        raise
    except EngineError as error:
        raise _clearer(error, name) from error
    if last != "success":
        raise EngineError(
            f"the download of {name} ended after '{last}', without success", hint=f"{_again(name)} goes on"
        )


def _again(name: str) -> str:
    return f"local-rag models pull {name}"


_CAUSES: Sequence[tuple[str, str, str]] = (
    ("newer version", "needs a newer Ollama", f"install it from {DOWNLOAD}"),
    ("no space left", "does not fit on the disk of Ollama", "free some space (ollama rm NAME); {again} goes on"),
    ("dial tcp", "could not be downloaded: Ollama did not reach the network", "when it is online: {again}"),
    ("max retries", "could not be downloaded: the network broke off too often", "{again} goes on where it stopped"),
)
"""Words of Ollama's message, what they mean for the model, and what to do."""


def _clearer(error: EngineError, name: str) -> EngineError | ModelMissing:
    """What Ollama says of a pull, in words that lead on."""
    said = str(error)
    if "file does not exist" in said:
        return ModelMissing(
            f"{registry(name)} has no model {name}",
            hint=f"local-rag models lists names that fit this machine, {LIBRARY} all of them",
        )
    for words, meaning, hint in _CAUSES:
        if words in said:
            return EngineError(f"{name} {meaning} ({said})", hint=hint.format(again=_again(name)))
    return EngineError(f"{name} was not downloaded to its end: {said}", hint=f"{_again(name)} goes on where it stopped")


# --- progress -------------------------------------------------------------------------------------------------------


class Totals:
    """Bytes done and in all, over all layers; Ollama names each layer by its digest, in the order of the download."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}

    def add(self, step: str, done: int, total: int) -> tuple[int, int]:
        if total:
            self._layers[step] = (max(done, self._layers.get(step, (0, 0))[0]), total)
        return sum(done for done, _ in self._layers.values()), sum(total for _, total in self._layers.values())


@contextmanager
def _showing(console: Console) -> Iterator[Step]:
    """A bar with bytes, speed and time left in a terminal; a line per stage elsewhere."""
    if not console.is_terminal:
        yield _lines(console)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
    )
    totals = Totals()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("asking…", total=None)
        sized = False

        def show(step: str, done: int, total: int) -> None:
            nonlocal task, sized
            done, total = totals.add(step, done, total)
            if total and not sized:  # what is there already has no speed, so it is the beginning of a new task
                sized = True
                bar.remove_task(task)
                task = bar.add_task("", total=total, completed=done)
            elif total:
                bar.update(task, completed=done, total=total)
            bar.update(task, description=_stage(step))

        yield show


def _stage(step: str) -> str:
    """The digest of a layer says nothing to a person."""
    word, _, rest = printable(step).partition(" ")
    return "downloading" if word == "pulling" and rest != "manifest" else printable(step)


def _lines(console: Console) -> Step:
    seen: set[str] = set()

    def show(step: str, done: int, total: int) -> None:
        if step in seen:
            return
        seen.add(step)
        _say(console, f"{printable(step)} ({format_bytes(total)})" if total else printable(step))

    return show


def _say(console: Console, line: str) -> None:
    console.print(printable(line), markup=False, highlight=False, soft_wrap=not console.is_terminal)
