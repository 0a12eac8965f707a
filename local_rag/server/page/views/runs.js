// The questions that are recorded: a list, and one with the way to its answer.
import { path } from "../api.js";
import { html, useLater, useState } from "../html.js";
import { Blocks } from "../parts/blocks.js";
import { CaseDialog } from "../parts/case_dialog.js";
import Feedback from "../parts/feedback.js";
import { Graph } from "../parts/graph.js";
import { Passages } from "../parts/passages.js";
import { Hint } from "../parts/problem.js";
import { beginning, Question } from "../parts/question.js";
import { Facts, Paged, Reply, useFilter } from "../parts/reply.js";
import { duration, Time } from "../parts/texts.js";
import { sentence, Verdict } from "../parts/verdicts.js";
import { go, to } from "../router.js";

const TONES = { grounded: "good", ungrounded: "bad", failed: "bad" };
const NAMES = { partial: "with reservations", ungrounded: "not grounded", abstained: "your files do not say" };
const ENDINGS = { stopped: "Stopped before there was an answer.", failed: "Failed:", refused: "Refused:", running: "Not finished: it is still running, or its process was ended." };

export default function Runs({ route }) {
  const [id] = route.parts;
  if (!id) return html`<${List} />`;
  return html`<${Reply} key=${id} path=${path("runs", id)}>${(value) => html`<${Run} value=${value} />`}<//>`;
}

const Status = ({ run }) => html`<span class=${`badge ${TONES[run.status] || "warn"}`}>${NAMES[run.status] || run.status}</span>`;
const about = (run) => html`<${Status} run=${run} /> <${Time} at=${run.at} /> · ${run.graph} · ${duration(run.seconds)}`;

function List() {
  const [filter, field] = useFilter("Filter by question");
  return html`<div class="page"><h1>Runs</h1>
    <p class="muted">A run is a question that is recorded on this machine, with the way to its answer.</p>
    <div class="row">${field}</div>
    <${Paged} at="runs" query=${{ filter, limit: 50 }}>${({ runs, total, good }) => (total ? html`<ul class="list">${runs.map((run) => html`<li key=${run.id} class="row">
      <span class="fill stack-tight"><a href=${to("runs", [run.id])}><bdi>${beginning(run.question)}</bdi></a>
        <span class="small">${about(run)}${run.id in good && ` · judged ${good[run.id] ? "good" : "bad"}`}</span></span></li>`)}</ul>`
      : html`<p class="empty">${filter ? "No question has these words." : html`Nothing was asked yet. <a href="#/ask">Ask a question</a>`}</p>`)}<//></div>`;
}

function Run({ value }) {
  const [making, setMaking] = useState(false);
  const { run, answer } = value;
  const open = ({ file_id, page, start, end, chunk_id }) => file_id && go("file", [file_id], { page, start, end, chunk_id });
  return html`<p class="small"><a href="#/runs">All runs</a></p>
    <${Question} level="h1" text=${run.question} />
    ${value.understood && html`<p class="muted">Understood as: ${value.understood}</p>`}
    <p class="muted">${about(run)} · run ${run.id}</p>
    ${value.note && html`<p class="muted"><bdi>${value.note}</bdi></p>`}
    ${answer ? html`<div class="card stack"><div class="answer" lang=${answer.language}><${Blocks} nodes=${answer.blocks} onCite=${(number) => open(answer.citations.find((each) => each.number === number) || {})} /></div>
        <p class="small">${answer.status_text}</p><div class="actions"><${Feedback} run=${run.id} /></div></div>`
      : html`<p><bdi>${ENDINGS[run.status]} ${run.reason}</bdi></p>${value.hint && html`<${Hint} text=${value.hint} />`}`}
    <p><button onClick=${() => setMaking(true)}>Make a case of it</button></p>
    ${making && html`<${CaseDialog} run=${run} onClose=${() => setMaking(false)} />`}
    <h2>The way to it</h2><${Replay} value=${value} />
    <h2>Passages</h2><${Passages} passages=${value.passages.map(({ score, ...each }) => ({ ...each, dense: score, text: each.text || `(${each.why})` }))} verdicts=${value.verdicts} onOpen=${open} />
    ${value.drafts.map((draft) => html`<h2>Rejected draft</h2><p class="draft">${draft.text}</p><p class="small">${draft.why}</p>`)}
    <${Facts} title="Conditions" facts=${[["engine", value.engine], ...Object.entries(value.set), ...Object.entries(value.prompts).map(([task, digest]) => [`prompt ${task}`, digest])]} />`;
}

// The path on the drawing, node by node, with what happened in each.
function Replay({ value }) {
  const steps = value.steps.filter((step) => step.node), count = steps.length;
  const [at, setAt] = useState(count), [playing, setPlaying] = useState(false);
  useLater(900, playing && (() => (at < count ? setAt(at + 1) : setPlaying(false))), [playing, at]);
  const path = steps.slice(0, at).map((step) => step.node), now = at < count && path.at(-1);
  return html`<div class="row"><button onClick=${() => (at < count || setAt(1), setPlaying(!playing))}>${playing ? "Pause" : "Replay"}</button>
      <input class="fill" type="range" min="1" max=${count} value=${at} aria-label="Step" aria-valuetext=${sentence(path.at(-1) || "")} onInput=${(event) => (setPlaying(false), setAt(Number(event.target.value)))} />
      <span class="small">${at} of ${count}</span></div>
    <div class="split"><div><${Graph} name=${value.run.graph} path=${path} running=${now} ended=${!now && value.answer} /></div>
      <ol class="stack">${steps.slice(0, at).map((step) => html`<li class="stack-tight">
        <span class="row"><strong>${sentence(step.node)}</strong><span class="small">${step.seconds !== null && `${duration(step.seconds)}, `}began at ${duration(step.at)}</span></span>
        ${step.events.map(({ verdict, text }) => (verdict ? html`<${Verdict} verdict=${verdict} />` : html`<bdi class="small">${text}</bdi>`))}</li>`)}</ol></div>`;
}
