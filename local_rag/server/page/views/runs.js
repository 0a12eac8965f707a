// The questions that are recorded: a list, one with the way to its answer, two side by side.
import { path } from "/page/api.js";
import { html, useEffect, useState } from "/page/html.js";
import { Blocks } from "/page/parts/blocks.js";
import { CaseDialog } from "/page/parts/case_dialog.js";
import Feedback from "/page/parts/feedback.js";
import { GraphDrawing } from "/page/parts/graph.js";
import { useGraph } from "/page/parts/how.js";
import { Passages, placeOf } from "/page/parts/passages.js";
import { Hint, Problem } from "/page/parts/problem.js";
import { bound, Facts, Reply, Table, useReply, useTwo } from "/page/parts/reply.js";
import { sentence, Verdict } from "/page/parts/verdicts.js";
import { go, to } from "/page/router.js";

const TONES = { grounded: "good", ungrounded: "bad", failed: "bad" };
const ENDINGS = { stopped: "Stopped before there was an answer.", failed: "Failed:", unfinished: "Not finished: it is still running, or its process was ended." };

export default function Runs({ route, api }) {
  const [first] = route.parts, second = route.query.with;
  if (first && second) return html`<${Compared} key=${first + second} api=${api} first=${first} second=${second} />`;
  return first ? html`<${Reply} key=${first} path=${path("runs", first)}>${(value) => html`<${Run} api=${api} value=${value} />`}<//>` : html`<${List} />`;
}

const Status = ({ run }) => html`<span class=${`badge ${TONES[run.status] || "warn"}`}>${run.status}</span>`;
const about = (run) => html`<${Status} run=${run} /> <time datetime=${run.at}>${new Date(run.at).toLocaleString()}</time> · ${run.graph} · ${run.seconds.toFixed(2)} s`;

function List() {
  const [filter, setFilter] = useState(""), [check, compare] = useTwo("runs");
  return html`<div class="page"><h1>Runs</h1>
    <p class="muted">The questions that are recorded on this machine. Choose two to compare them.</p>
    <div class="row"><input class="fill" type="search" aria-label="Filter by question" placeholder="Filter by question" ...${bound(filter, setFilter)} />${compare}</div>
    <${Listed} filter=${filter} check=${check} /></div>`;
}

// The runs from a cursor on, and below them those that follow, once they are wanted.
function Listed({ filter, cursor, check }) {
  const [more, setMore] = useState(false);
  const [{ value, error }, load] = useReply(path("runs", { filter, cursor, limit: 50 }));
  return html`${error && html`<${Problem} error=${error} retry=${load} />`}
    ${value && (value.total ? html`<ul class="list">${value.runs.map((run) => html`<li key=${run.id} class="row">${check(run.id, run.question)}<span class="fill stack-tight"><a href=${to("runs", [run.id])}><bdi>${run.question}</bdi></a>
        <span class="row small muted">${about(run)}${run.id in value.good && ` · judged ${value.good[run.id] ? "good" : "bad"}`}</span></span></li>`)}</ul>` : html`<p class="empty">${filter ? "No such run." : html`No run yet. <a href="#/ask">Ask a question</a>`}</p>`)}
    ${value?.next && (more ? html`<${Listed} filter=${filter} cursor=${value.next} check=${check} />`
      : html`<p><button class="button" onClick=${() => setMore(true)}>Show more</button></p>`)}`;
}

function Run({ value, api }) {
  const [making, setMaking] = useState(false);
  const { run, answer } = value;
  const open = ({ file_id, page, start, end }) => file_id && go("file", [file_id], { page, start, end });
  return html`<p class="small"><a href="#/runs">All runs</a></p>
    <h1 dir="auto">${run.question}</h1>
    ${value.understood && html`<p class="muted" dir="auto">Understood as: ${value.understood}</p>`}
    <p class="muted">${about(run)} · run ${run.id}</p>
    ${value.note && html`<p class="muted"><bdi>${value.note}</bdi></p>`}
    ${answer ? html`<div class="card stack"><div class="answer" lang=${answer.language}><${Blocks} nodes=${answer.blocks} onCite=${(number) => open(answer.citations.find((each) => each.number === number) || {})} /></div>
        <p class="muted small" dir="auto">${answer.status_text}</p><div class="actions"><${Feedback} run=${run.id} /></div></div>`
      : html`<p><bdi>${ENDINGS[run.status]} ${run.reason}</bdi></p>${value.hint && html`<${Hint} text=${value.hint} />`}`}
    <p><button class="button" onClick=${() => setMaking(true)}>Make a case of it</button></p>
    ${making && html`<${CaseDialog} run=${run} onClose=${() => setMaking(false)} />`}
    <h2>The way to it</h2><${Replay} api=${api} value=${value} />
    <h2>Passages</h2><${Passages} passages=${value.passages.map((each) => ({ ...each, text: each.text || `(${each.why})` }))} verdicts=${value.verdicts} onOpen=${open} />
    ${value.drafts.map((draft) => html`<h2>Rejected draft</h2><p class="draft" dir="auto">${draft.text}</p><p class="muted small" dir="auto">${draft.why}</p>`)}
    <${Facts} title="Conditions" facts=${[["engine", value.engine], ...Object.entries(value.set), ...Object.entries(value.prompts).map(([task, digest]) => [`prompt ${task}`, digest])]} />`;
}

// The path on the drawing, node by node, with what happened in each.
function Replay({ value, api }) {
  const graph = useGraph(api, value.run.graph), steps = value.steps.filter((step) => step.node), count = steps.length;
  const [at, setAt] = useState(count), [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing || at >= count) return setPlaying(false);
    const timer = setTimeout(() => setAt(at + 1), 900);
    return () => clearTimeout(timer);
  }, [playing, at]);
  const path = steps.slice(0, at).map((step) => step.node), now = at < count && path.at(-1);
  return html`<div class="row"><button class="button" onClick=${() => (at < count || setAt(1), setPlaying(!playing))}>${playing ? "Pause" : "Replay"}</button>
      <input class="fill" type="range" min="1" max=${count} value=${at} aria-label="Step" aria-valuetext=${sentence(path.at(-1) || "")} onInput=${(event) => (setPlaying(false), setAt(Number(event.target.value)))} />
      <span class="muted small">${at} of ${count}</span></div>
    <div class="split">${graph && html`<div><${GraphDrawing} graph=${graph} path=${path} running=${now || null} ended=${!now && value.answer} /></div>`}
      <ol class="stack">${steps.slice(0, at).map((step) => html`<li class="stack-tight">
        <span class="row"><strong>${sentence(step.node)}</strong><span class="muted small">${step.seconds === null ? "not finished" : `${step.seconds.toFixed(2)} s`}, at ${step.at.toFixed(2)} s</span></span>
        ${step.events.map(({ verdict, text }) => (verdict ? html`<${Verdict} verdict=${verdict} />` : html`<bdi class="small">${text}</bdi>`))}</li>`)}</ol></div>`;
}

function Drawn({ api, run, path }) {
  const graph = useGraph(api, run.graph);
  return graph && html`<${GraphDrawing} graph=${graph} path=${path} ended />`;
}

const Compared = ({ api, first, second }) => html`<${Reply} path=${path("runs", "compare", { first, second })}>${(value) => html`
  <p class="small"><a href="#/runs">All runs</a></p><h1>Two runs</h1>
  <p>${value.changed.length ? `They differ in: ${value.changed.join(", ")}.` : "Path, passages, verdicts and answer are the same."}</p>
  <div class="split">${[[value.first, value.gone], [value.second, value.new]].map(([run, alone], side) => html`<section class="stack-tight">
    <h2 dir="auto"><a href=${to("runs", [run.id])}>${run.question}</a></h2><p class="muted small">${about(run)}</p>
    <${Drawn} api=${api} run=${run} path=${value.paths[side]} />
    <h3>Passages only here</h3><ul>${alone.length ? alone.map((each) => html`<li><bdi>${placeOf(each)}</bdi></li>`) : html`<li class="muted">none</li>`}</ul></section>`)}</div>
  <p>${value.common} passages in both${value.reordered ? ", in another order" : ""}.</p>
  ${["verdicts", "answer", "conditions"].map((part) => value[part].length > 0 && html`<${Table} title=${sentence(part)} head=${["", "first", "second"]} numbers=${3} rows=${value[part].map((each) => [each.name, each.first, each.second])} />`)}
  <${Table} title="Costs" head=${["", "first", "second", "times"]} rows=${value.costs.filter((cost) => cost.first || cost.second).map((cost) =>
    [cost.name, ...[cost.first, cost.second].map((each) => (Number.isInteger(each) ? each : each.toFixed(2))), cost.ratio && cost.ratio.toFixed(2)])} />`}<//>`;
