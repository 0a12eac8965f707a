"""README.txt of a bundle: what to type on the other machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from local_rag.bundle.target import Target
from local_rag.bundle.wheels import Wheel
from local_rag.text.display import plural

_TEXT = """\
local-rag, to be installed without a network
============================================

For {platform} with Python {python}{needs}.

Type here, in this folder:

  {interpreter} install.py
  {program} demo

The first command compares every file with manifest.json, refuses what does not match, and installs into a virtual
environment of your own (--venv PATH puts it elsewhere). Nothing is downloaded, and no settings of pip are read.
The second asks questions about a handbook that comes along. --dry-run shows what the first would do.

Is it the bundle that was made for you? 'local-rag bundle create' printed the SHA-256 of manifest.json and of
install.py. Get them by another route than this disk, and compare:

  {sums}
  {interpreter} install.py --sum THE-SUM-OF-MANIFEST

It holds:

{contents}
{notes}"""

_INDEX = """
The index {name} holds the text of the files that were indexed: protect it as you protect them. Its answers cite the
paths that the files had on the machine where it was made. They are not on this one, so a citation cannot be opened,
and 'local-rag index --index {name}' would not find the files: what was indexed is kept, and nothing new is read.
Ask it:

  {program} ask "…" --index {name}
"""

_PARTIAL = """
Not all of its passages are embedded; the others are found by their words only. To embed them on this machine, which
needs none of the files:

  {program} index --embed-only --index {name}
"""

_OLLAMA = """
The models of Ollama ({models}) are put into its store: OLLAMA_MODELS, else .ollama/models in your home folder. Ollama
itself is not in the bundle; get its installer from https://ollama.com/download and bring it along.
"""


def readme(target: Target, needs: dict[str, str], contents: dict[str, Any], wheels: Sequence[Wheel]) -> str:
    """The text, with the commands of the platform that the bundle is for."""
    windows = target.platform.startswith("windows")
    macos = target.platform.startswith("macos")
    home = "~/Library/Application\\ Support" if macos else "~/.local/share"
    program = r"%LOCALAPPDATA%\local-rag\venv\Scripts\local-rag" if windows else f"{home}/local-rag/venv/bin/local-rag"
    index, models = contents.get("index"), contents.get("ollama")
    embedder = contents["embedder"]
    among = "local-rag and pip" if embedder["folder"] else f"local-rag, pip and the embedding model {embedder['name']}"
    lines = [f"  wheels/    {len(wheels)} Python packages, {among} among them"]
    lines += [f"  embedders/ the embedding model {embedder['name']}"] if embedder["folder"] else []
    lines += [f"  {folder}/" for folder in contents.get("folders", [])]
    lines += ["  models.yaml"]
    if index:
        files, passages = plural(index["files"], "file"), plural(index["passages"], "passage")
        part = f", {index['embedded']:,} of them embedded" if "embedded" in index else ""
        lines += [f"  indexes/   {index['name']}: {files}, {passages}{part}"]
    lines += [f"  ollama/    {', '.join(models)}"] if models else []
    notes = _INDEX.format(name=index["name"], program=program) if index else ""
    notes += _PARTIAL.format(name=index["name"], program=program) if index and "embedded" in index else ""
    notes += _OLLAMA.format(models=", ".join(models)) if models else ""
    oldest = "".join(f", {name} {version} or newer" for name, version in needs.items())
    return _TEXT.format(
        platform=target.platform,
        python=target.python,
        needs=oldest,
        interpreter=f"py -{target.python} -I" if windows else f"python{target.python} -I",
        program=program,
        sums="certutil -hashfile manifest.json SHA256"
        if windows
        else f"{'shasum -a 256' if macos else 'sha256sum'} manifest.json install.py",
        contents="\n".join(lines),
        notes=notes,
    )
