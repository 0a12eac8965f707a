"""Tiny wheels, a tiny bundle, and a store as Ollama keeps one."""

from __future__ import annotations

import base64
import ensurepip
import hashlib
import json
import shutil
import sys
import zipfile
from pathlib import Path

from local_rag.bundle import large_files
from local_rag.bundle.machine import here
from local_rag.bundle.own_wheel import install_program

PYTHON = "{}.{}".format(*sys.version_info[:2])


def wheel(folder, name, version="1.0", requires=(), tag="py3-none-any", files=None, extras=()):
    """Write a wheel that pip installs."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Provides-Extra: {extra}" for extra in extras] + [f"Requires-Dist: {one}" for one in requires]
    inside = dict(files or {f"{name.replace('-', '_')}.py": ""})
    inside |= {
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    if name == "local-rag":
        inside[f"{info}/entry_points.txt"] = "[console_scripts]\nlocal-rag = local_rag_said:main\n"
    rows = []
    file = folder / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(file, "w") as out:
        for path, text in inside.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(text.encode())}")
            out.writestr(path, text)
        out.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,", ""]))
    return file


def pip_wheel(folder):
    """The pip that comes with this Python."""
    folder.mkdir(parents=True, exist_ok=True)
    bundled = next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
    return Path(shutil.copy(bundled, folder / bundled.name))


def show_every_piece(monkeypatch, size=10):
    """Progress after each piece of so many bytes, as of a file of gigabytes."""
    monkeypatch.setattr(large_files, "BLOCK", size)
    monkeypatch.setattr(large_files, "EVERY", 0.0)


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def seal(folder, **changes):
    """Write the manifest of what lies there; `changes` replace its keys. Gives its sum."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "manifest.json"]
    rows = [
        {"path": file.relative_to(folder).as_posix(), "bytes": file.stat().st_size, "sha256": sha256(file)}
        for file in files
    ]
    data = {
        "what": "local-rag bundle",
        "format": 1,
        "created": "2026-11-21T00:00:00+00:00",
        "local_rag": "0.1.0",
        "platform": here(),
        "python": PYTHON,
        "needs": {},
        "contents": {"embedder": {"name": "minilm", "folder": ""}, "models": "packaged"},
        "files": rows,
    }
    data = {key: value for key, value in (data | changes).items() if value is not None}
    (folder / "manifest.json").write_text(json.dumps(data))
    return sha256(folder / "manifest.json")


SAID = "import sys\ndef main():\n    print('asked:', *sys.argv[1:])\n"


def tiny_bundle(folder):
    """A bundle whose local-rag only repeats what it is asked."""
    wheels = folder / "wheels"
    made = [wheel(wheels, "local-rag", "0.1.0", ["leaf"], files={"local_rag_said.py": SAID}), wheel(wheels, "leaf")]
    made.append(pip_wheel(wheels))
    lines = [f"{one.name.split('-')[0]}=={one.name.split('-')[1]} --hash=sha256:{sha256(one)}\n" for one in made]
    (folder / "requirements.txt").write_text("".join(lines))
    (folder / "install.py").write_bytes(install_program())
    seal(folder)
    return folder


def ollama_model(store, path="registry.ollama.ai/library/llama3.2/3b", layers=(b"GGUF" * 100,)):
    """A model in a store, with small blobs; gives its manifest."""
    (store / "blobs").mkdir(parents=True, exist_ok=True)
    rows = []
    for data in (b"{}", *layers):
        digest = hashlib.sha256(data).hexdigest()
        (store / "blobs" / f"sha256-{digest}").write_bytes(data)
        rows.append({"digest": f"sha256:{digest}", "size": len(data)})
    manifest = store / "manifests" / path
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "config": rows[0], "layers": rows[1:]}))
    return manifest
