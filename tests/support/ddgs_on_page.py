"""Run the process that searches with a page on loopback for every engine: `python -m support.ddgs_on_page URL [PROXY]`.

The process finds the proxy by itself, as in the system's settings.
"""

import os
import sys

from ddgs.engines import ENGINES

from local_rag.web import ddgs_child

for name in set(ENGINES["text"]) - {"duckduckgo", "mojeek", "brave"}:  # the others make addresses of their own
    del ENGINES["text"][name]
for engine in ENGINES["text"].values():
    engine.search_url = sys.argv[1]
if sys.argv[2:]:
    os.environ["ALL_PROXY"] = os.environ["HTTP_PROXY"] = sys.argv[2]
ddgs_child.main()
