"""llama.cpp's own server by its Python package, on loopback, with a model of random weights that is made here."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

WINDOW = 4096
LONG = 120.0
"""Seconds within which the server must be up, on the slowest machine."""


def make_model(path):
    """A llama of one layer and a vocabulary of bytes. What it writes means nothing; a grammar makes it JSON."""
    import gguf
    import numpy as np

    random = np.random.default_rng(0)
    letters = [*(bytes([code]) for code in range(33, 127)), "▁".encode()]
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256)), *letters]
    kinds = [2, 3, 3, *[6] * 256, *[1] * len(letters)]
    count, width, inner, heads = len(tokens), 32, 64, 2
    file = gguf.GGUFWriter(str(path), "llama")
    file.add_context_length(WINDOW)
    file.add_embedding_length(width)
    file.add_block_count(1)
    file.add_feed_forward_length(inner)
    file.add_head_count(heads)
    file.add_head_count_kv(heads)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(width // heads)
    file.add_vocab_size(count)
    file.add_tokenizer_model("llama")
    file.add_token_list(tokens)
    file.add_token_scores([-float(number) for number in range(count)])
    file.add_token_types(kinds)
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)
    file.add_unk_token_id(0)
    shapes = {"token_embd": (count, width), "output": (count, width), "blk.0.ffn_down": (width, inner)}
    shapes |= {f"blk.0.{name}": (inner, width) for name in ("ffn_gate", "ffn_up")}
    shapes |= {f"blk.0.{name}": (width, width) for name in ("attn_q", "attn_k", "attn_v", "attn_output")}
    for name, shape in shapes.items():
        weights = (random.standard_normal(shape) * 0.2).astype(np.float32)
        if name == "token_embd":
            weights[:, 0] = 5.0
        if name == "output":  # letters before bytes, and no end before the grammar or the most tokens say so
            weights[:, 0] = [-9.0] * (count - len(letters)) + [0.0] * len(letters)
        file.add_tensor(f"{name}.weight", weights)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        file.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


@contextmanager
def llama_server(folder):
    """The URL of a server that runs the model, while the block runs."""
    model = folder / "random.gguf"
    make_model(model)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--model", str(model), "--host", "127.0.0.1", "--port", str(port), "--n_ctx", str(WINDOW)]
    options += ["--chat_format", "chatml", "--seed", "1", "--n_threads", "2"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", *options], stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait(server, f"{url}/models", folder / "server.log")
            yield url
        finally:
            server.terminate()
            server.wait(30)


def _wait(server, url, log):
    until = time.monotonic() + LONG
    while time.monotonic() < until:
        assert server.poll() is None, log.read_text(errors="replace")
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace"))
