// How an answer comes about: the path through the graph, verdicts, passages.
import { html } from "../html.js";
import { to } from "../router.js";
import { Graph } from "./graph.js";
import { Passages } from "./passages.js";
import { GRAPHS } from "./settings.js";
import { duration, joined } from "./texts.js";
import { Verdict } from "./verdicts.js";

export function How({ graph, path, running, verdicts, retrieved, ended, onOpen, seconds, run, engine }) {
  const byId = new Map(retrieved.flatMap(({ passages }) => passages).map((passage) => [passage.chunk_id, passage]));
  const passages = [...byId.values()];
  const others = verdicts.filter((verdict) => !byId.has(verdict.chunk_id));
  const way = graph && `Thoroughness: ${GRAPHS[graph] || graph}`;
  const made = joined([way, engine && `written by ${engine}`, seconds && duration(seconds)]);
  return html`<div class="how">
    ${(graph || engine) && html`<p class="small">${made}
      ${run && html` · <a href=${to("runs", [run])}>the whole record</a>`}</p>`}
    ${graph && html`<${Graph} name=${graph} path=${path} running=${running} ended=${ended} />`}
    ${others.length > 0 && html`<section class="stack-tight"><h3>Verdicts</h3>
      <p class="small">What was checked and decided. A number is the probability of a yes, from 0 to 1.</p>
      <ol class="stack-tight">${others.map((verdict) => html`<li><${Verdict} verdict=${verdict} /></li>`)}</ol>
    </section>`}
    ${passages.length > 0 && html`<section class="stack-tight"><h3>Passages</h3>
      <${Passages} passages=${passages} verdicts=${verdicts} onOpen=${onOpen} /></section>`}
  </div>`;
}
