"""Installs from a bundle, with no network and nothing but the standard library.

The end of every bundle's install.py: only syntax of Python 3.6. Nothing in a bundle is unpickled, imported or run but
this program and, once all sums are right, pip; vectors are read from SQLite and searched by a FAISS index made anew.
"""

import argparse
import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, NamedTuple

from local_rag.bundle.checking import AGAIN, MANIFEST, REQUIREMENTS, Bundle, digest_of, problems, read
from local_rag.bundle.large_files import Progress, sum_of
from local_rag.bundle.machine import Refused, folders, must_fit, ollama_store, quoted, say, show

DATABASE, LOCK = "index.sqlite", "writer.lock"
"""As in local_rag/index/store/folder.py."""

MARK = "local-rag-bundle.json"
"""In a virtual environment that was made here: the sum of the bundle, and whether all of it is installed."""


class InstallRequest(NamedTuple):
    """Which bundle to install, and how; an empty string means the default path or name."""

    folder: Path
    sum: str = ""
    venv: str = ""
    index_as: str = ""
    keep: bool = False
    dry_run: bool = False


class Copy(NamedTuple):
    """A file to be put at `target`: `source`, or `data` where it is written anew.

    `state` is new, same, or other: something else is there, and `hint` is the command that makes way for this one.
    `private` is for nobody but its owner.
    """

    source: Path
    target: Path
    sha256: str
    state: str
    hint: str
    private: bool = False
    data: bytes | None = None


def install(request: InstallRequest) -> int:
    """Check the bundle, then make the environment and put everything in its place; the exit code.

    Raises Refused, before anything was written where the bundle, this machine or a file that is there does not fit.
    What an interrupted run has done is kept by the next one.
    """
    bundle = read(request.folder, request.sum)
    must_fit(bundle.platform, bundle.python, bundle.needs, quoted(request.folder / "install.py"))
    say(f"checking {len(bundle.files):,} files, {bundle.size / 1e6:,.0f} MB…")
    differences = problems(bundle)
    for line in differences:
        say(line)
    if differences:
        raise Refused(f"{request.folder} is not as its manifest says, so nothing was installed", AGAIN)
    _pip_wheel(bundle)
    venv_folder = _environment(request, bundle)
    copies = plan(bundle, request)
    if request.dry_run:
        _show(bundle, venv_folder, copies, request.keep)
        _must_be_free(copies, request.keep, "would be")
        return 0
    _must_be_free(copies, request.keep, "was")
    _make_environment(venv_folder, bundle)
    new = [copy for copy in copies if copy.state == "new"]
    progress = Progress("copied", sum(copy.source.stat().st_size for copy in new))
    for copy in new:
        _put(copy, progress)
    return finish(request, bundle, venv_folder)


# --- what is to be put where ------------------------------------------------------------------------------------------


def plan(bundle: Bundle, request: InstallRequest) -> list[Copy]:
    """Every file that goes into a folder of the person, in the order in which it is put there."""
    config, data = folders()
    store = ollama_store()
    copies = []
    for path, entry in sorted(bundle.files.items()):
        source = bundle.folder / path
        first, _, rest = path.partition("/")
        if first in ("embedders", "evaluators"):
            target = data / path
            copies.append(_copy(source, target, entry.sha256, f"mv {quoted(target)} {quoted(target)}.old"))
        elif first == "indexes":
            copies.append(_index(source, data / "indexes" / index_name(bundle, request), entry.sha256, request))
        elif first == "ollama":  # blobs come before manifests
            copies.append(_ollama(source, store / rest, entry.sha256))
    models = _models(bundle, config / "models.yaml", data)
    _must_be_whole(bundle, copies, store)
    return [*copies, *models]


def index_name(bundle: Bundle, request: InstallRequest) -> str:
    """The name that the index gets here. Raises Refused for one that is no name."""
    name = request.index_as or str(bundle.contents["index"]["name"])
    if not all(ch.isalnum() or ch in "-_." for ch in name) or name.strip(".") == "":
        raise Refused(f"an index is a name of letters, digits, '-', '_' and '.', not {name!r}", "… --index notes")
    return name


def _copy(source: Path, target: Path, sha256: str, hint: str, private: bool = False) -> Copy:
    state = "new"
    if os.path.lexists(target):
        length = source.stat().st_size
        is_same = target.is_file() and target.stat().st_size == length
        is_same = is_same and digest_of(target, Progress("compared", length)) == sha256
        state = "same" if is_same else "other"
    return Copy(source, target, sha256, state, hint, private)


def _index(source: Path, folder: Path, sha256: str, request: InstallRequest) -> Copy:
    """An index needs a folder of its own."""
    with source.open("rb") as stream:
        if stream.read(16) != b"SQLite format 3\0":
            raise Refused(f"{source} is no database of SQLite", "local-rag bundle create DIR --index NAME")
    hint = f"give the new one another name: the same command with --index {folder.name}-2"
    copy = _copy(source, folder / DATABASE, sha256, hint, private=True)
    left_over = {LOCK, f"{DATABASE}.part"}  # by an interrupted run
    is_taken = copy.state == "new" and folder.is_dir() and {entry.name for entry in folder.iterdir()} - left_over
    return copy._replace(state="other", target=folder) if is_taken else copy


def _ollama(source: Path, target: Path, sha256: str) -> Copy:
    if target.parent.name == "blobs":
        return _copy(source, target, sha256, f"that file is damaged: rm {quoted(target)}")
    host, space, model, tag = target.parts[-4:]
    name = f"{space}/{model}:{tag}" if space != "library" else f"{model}:{tag}"
    name = name if host == "registry.ollama.ai" else f"{host}/{name}"
    return _copy(source, target, sha256, f"ollama rm {name}")


def _models(bundle: Bundle, target: Path, data: Path) -> list[Copy]:
    """models.yaml, with the places of its models written out; nothing if it is the one that the program ships with."""
    source = bundle.folder / "models.yaml"
    if "models.yaml" not in bundle.files or bundle.contents.get("models") == "packaged":
        return []
    text = source.read_bytes()
    folders = [(bundle.contents.get("embedder") or {}).get("folder"), *(bundle.contents.get("folders") or [])]
    for folder in filter(None, folders):
        location = json.dumps(str(data / str(folder))).encode()  # a string of JSON is one of YAML
        text = text.replace(f"path: {folder}\n".encode(), b"path: " + location + b"\n")
    state = "new"
    if os.path.lexists(target):
        state = "same" if target.is_file() and target.read_bytes() == text else "other"
    hint = f"mv {quoted(target)} {quoted(target)}.old"
    return [Copy(source, target, hashlib.sha256(text).hexdigest(), state, hint, data=text)]


def _must_be_whole(bundle: Bundle, copies: list[Copy], store: Path) -> None:
    """Raises Refused for an Ollama model whose parts are not all in the bundle, and for a store of somebody else."""
    for copy in copies:
        if "manifests" not in copy.source.relative_to(bundle.folder).parts[:2]:
            continue
        try:
            data = json.loads(copy.source.read_text(encoding="utf-8"))
            parts = [str(part["digest"]) for part in [data["config"], *data["layers"]]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Refused(f"{copy.source} is not a valid Ollama manifest", AGAIN) from error
        for part in parts:
            if f"ollama/blobs/{part.replace(':', '-')}" not in bundle.files:
                raise Refused(f"{copy.source} names {part}, which the bundle does not hold", AGAIN)
    missing = [copy for copy in copies if copy.state == "new" and store in copy.target.parents]
    existing = next((folder for folder in (store, *store.parents) if folder.exists()), store)
    if missing and not os.access(existing, os.W_OK):
        raise Refused(
            f"the models of Ollama lie in {store}, where you may not write",
            f"sudo cp -rn {quoted(bundle.folder / 'ollama')}/. {quoted(store)} && sudo chown -R ollama: {quoted(store)}"
            f"   then the same command",
        )


def _must_be_free(copies: list[Copy], keep: bool, verb: str) -> None:
    """Raises Refused where something else is, unless it is to be kept; `verb` is "was", or of a dry run "would be"."""
    others = [copy for copy in copies if copy.state == "other"]
    for copy in others if verb == "was" else []:
        say(f"{'kept' if keep else 'in the way'}: {copy.target} is there already, and differs from the bundle's")
    if others and not keep:
        raise Refused(
            f"nothing {verb} installed, because something else is there already",
            f"{others[0].hint}   or leave what is there and install the rest: the same command with --keep",
        )


# --- doing it ---------------------------------------------------------------------------------------------------------


def _put(copy: Copy, progress: Progress) -> None:
    """Through a file beside it, checked once more on its way, so that what has its name is whole."""
    say(f"putting {copy.target}")
    mode = 0o700 if copy.private else 0o777
    draft = copy.target.with_name(f"{copy.target.name}.part")
    try:
        for folder in reversed([copy.target.parent, *copy.target.parent.parents]):
            folder.mkdir(mode=mode, exist_ok=True)
        if copy.private:
            copy.target.parent.chmod(0o700)
            copy.target.with_name(LOCK).touch(mode=0o600)
        if copy.data is not None:
            draft.write_bytes(copy.data)
        elif sum_of(copy.source, progress, draft) != copy.sha256:
            raise Refused(f"{copy.source} changed while it was copied", AGAIN)
        if copy.private:
            draft.chmod(0o600)
        draft.replace(copy.target)
    except OSError as error:
        raise _failed(copy.target, error) from error
    finally:
        if draft.exists():
            draft.unlink()


def _failed(target: Path, error: OSError) -> Refused:
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        return Refused(f"no space left for {target}", "free some space, then the same command: it continues")
    return Refused(f"{target} cannot be written: {error.strerror}", "make that folder yours, then the same command")


def _environment(request: InstallRequest, bundle: Bundle) -> Path:
    """The folder of the virtual environment. Raises Refused for one in the bundle, and for one with other things."""
    folder = Path(request.venv).expanduser().absolute() if request.venv else folders()[1] / "venv"
    if bundle.folder.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise Refused(f"{folder} is inside the bundle, which must not change", "… --venv PATH   elsewhere")
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or (folder / MARK).is_file())):
        raise Refused(
            f"{folder} contains something other than an installation from a bundle", "… --venv PATH   elsewhere"
        )
    return folder


def _make_environment(folder: Path, bundle: Bundle) -> None:
    """Make it and let pip fill it; one with all of this bundle is left as it is, half a one is made anew."""
    mark = folder / MARK
    state = _marked(mark)
    if _is_installed(folder, bundle):
        say(f"already installed in {folder}")
        return
    try:
        if state and not state.get("done"):
            shutil.rmtree(folder)
        say(f"making a virtual environment in {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        mark.write_text(json.dumps({"manifest": bundle.sum, "done": False}), encoding="utf-8")
        venv.EnvBuilder(symlinks=os.name != "nt", prompt="local-rag").create(folder)
        install_wheels(folder, bundle)
        mark.write_text(json.dumps({"manifest": bundle.sum, "done": True}), encoding="utf-8")
    except OSError as error:
        raise _failed(folder, error) from error


def _is_installed(folder: Path, bundle: Bundle) -> bool:
    return _marked(folder / MARK) == {"manifest": bundle.sum, "done": True} and program(folder, "local-rag").exists()


def _marked(mark: Path) -> dict[str, object]:
    try:
        state = json.loads(mark.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _pip_wheel(bundle: Bundle) -> str:
    """The path of pip, which runs from its own wheel, because the ensurepip of some systems is a package of its own."""
    for path in bundle.files:
        if path.startswith("wheels/pip-"):
            return path
    raise Refused("the bundle holds no wheel of pip", "local-rag bundle create DIR   makes a whole one")


def install_wheels(folder: Path, bundle: Bundle) -> None:
    """Run the pip of the bundle, deaf to the shell's and the system's settings of pip. Raises Refused."""
    wheels = [path for path in bundle.files if path.startswith("wheels/")]
    say(f"installing {len(wheels):,} packages, which takes a minute or two…")
    options = ["--isolated", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "--quiet"]
    options += ["--no-index", "--find-links", "wheels", "--only-binary", ":all:", "--require-hashes", "--no-compile"]
    pip = [str(program(folder, "python")), "-I", str(Path(_pip_wheel(bundle)) / "pip")]
    command = [*pip, "install", *options, "-r", REQUIREMENTS]
    environment = {name: value for name, value in os.environ.items() if not name.upper().startswith(("PIP_", "PYTHON"))}
    environment.update(PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull)
    done = subprocess.run(
        command, cwd=bundle.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        for line in lines[-15:]:
            say(line)
        full = any("no space left" in line.lower() for line in lines)
        hint = "free some space, then the same command" if full else "what pip said stands above"
        raise Refused("pip could not install the packages", hint)


def program(folder: Path, name: str) -> Path:
    """A program of a virtual environment."""
    return folder / "Scripts" / f"{name}.exe" if os.name == "nt" else folder / "bin" / name


def _show(bundle: Bundle, folder: Path, copies: list[Copy], keep: bool) -> None:
    """What would be done, on stdout."""
    wheels = sum(path.startswith("wheels/") for path in bundle.files)
    lines = [f"everything is as {MANIFEST} says; nothing is written with --dry-run"]
    is_there = _is_installed(folder, bundle)
    lines += [f"already installed in {folder}" if is_there else f"would install {wheels:,} packages in {folder}"]
    words = {"new": "would put", "same": "is there already", "other": "would keep" if keep else "in the way"}
    lines += [f"{words[copy.state]}: {copy.target}" for copy in copies]
    show(*lines)


def finish(request: InstallRequest, bundle: Bundle, folder: Path) -> int:
    """Let the installed program look at the index, and say what to type next; 1 if it does not like what it sees."""
    command, code = program(folder, "local-rag"), 0
    if bundle.contents.get("index"):
        name = index_name(bundle, request)
        command_line = [str(command), "status", "--index", str(folders()[1] / "indexes" / name)]
        done = subprocess.run(command_line, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        code = 1 if done.returncode else 0
        show(*(done.stderr if code else done.stdout).decode(errors="replace").splitlines())
        show(f"the index {name} {'cannot be used' if code else 'can be read'}")
        show(*partial_lines(bundle.contents["index"], f"{quoted(command)} index --embed-only --index {name}"))
        then = f'{quoted(command)} ask "…" --index {name}'
    else:
        then = f"{quoted(command)} index FOLDER"
    show("installed. Now:", f"  {quoted(command)} demo", f"  {then}")
    return code


def partial_lines(index: dict[str, Any], command: str) -> list[str]:
    """What to know of an index of which not all passages are embedded."""
    if "embedded" not in index:
        return []
    count = f"{index['embedded']:,} of its {index['passages']:,} passages are embedded"
    return [f"{count}; the others are found by their words only. To embed them here:", f"  {command}"]


def main(arguments: list[str]) -> int:
    """The program install.py; the exit code."""
    parser = argparse.ArgumentParser(prog="install.py", description="Install local-rag from this bundle, offline.")
    parser.add_argument("--venv", default="", metavar="PATH", help="where to install; default: in your data folder")
    parser.add_argument("--sum", default="", metavar="HEX", help="the SHA-256 that manifest.json must have")
    parser.add_argument("--index", default="", metavar="NAME", help="another name for the index")
    parser.add_argument("--keep", action="store_true", help="leave what is there and differs, and install the rest")
    parser.add_argument("--dry-run", action="store_true", help="check, and show what would be done")
    given = parser.parse_args(arguments)
    folder = Path(__file__).resolve().parent
    try:
        return install(InstallRequest(folder, given.sum, given.venv, given.index, given.keep, given.dry_run))
    except Refused as error:
        say(f"error: {error}")
        if error.hint:
            say(f"hint: {error.hint}")
        return 1
    except KeyboardInterrupt:
        say("stopped")
        say("hint: the same command continues")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
