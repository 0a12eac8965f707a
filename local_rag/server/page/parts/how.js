// How an answer comes about: the graph with the path taken, every verdict, and every passage with what was said of it.
import { html, useEffect, useState } from "../html.js";
import { GraphDrawing } from "./graph.js";
import { Passages } from "./passages.js";
import { Verdict } from "./verdicts.js";
import { to } from "../router.js";

const graphs = new Map();

// The drawing of a graph, fetched once.
export function useGraph(api, name) {
  const [graph, setGraph] = useState(null);
  useEffect(() => {
    if (!name) return;
    if (!graphs.has(name)) graphs.set(name, api.get(api.path("graphs", name)));
    graphs.get(name).then(setGraph, () => graphs.delete(name));
  }, [name]);
  return graph;
}

export function How({ api, graph, path, running = null, verdicts, retrieved, ended = false, onOpen, seconds, run, engine }) {
  const drawing = useGraph(api, graph);
  const passages = distinct(retrieved);
  const shown = new Set(passages.map((passage) => passage.chunk_id));
  const others = verdicts.filter((verdict) => !shown.has(verdict.chunk_id));
  return html`<div class="how">
    ${(graph || engine) && html`<p class="muted small">${[graph && `Graph ${graph}`, engine && `engine ${engine}`, seconds && `${seconds.toFixed(1)} s`].filter(Boolean).join(" · ")}
      ${run && html` · <a href=${to("runs", [run])}>the whole record</a>`}</p>`}
    ${drawing && html`<${GraphDrawing} graph=${drawing} path=${path} running=${running} ended=${ended} />`}
    ${others.length > 0 && html`<section><h3>Verdicts</h3><ol class="stack-tight">${others.map((verdict, key) => html`<li key=${key}><${Verdict} verdict=${verdict} /></li>`)}</ol></section>`}
    ${passages.length > 0 && html`<section class="stack-tight"><h3>Passages</h3><${Passages} passages=${passages} verdicts=${verdicts} onOpen=${onOpen} /></section>`}
  </div>`;
}

function distinct(retrieved) {
  const byId = new Map(retrieved.flatMap(({ passages }) => passages.map((passage) => [passage.chunk_id, passage])));
  return [...byId.values()];
}
