// The questions that are recorded: a list, and one with the way to its answer.
import { path } from "../api.js";
import { html, useLater, useState } from "../html.js";
import { Blocks, Written } from "../parts/blocks.js";
import { CaseDialog } from "../parts/case_dialog.js";
import Feedback from "../parts/feedback.js";
import { Graph } from "../parts/graph.js";
import { Passages } from "../parts/passages.js";
import { beginning, Question } from "../parts/question.js";
import { Facts, Paged, Reply, useFilter } from "../parts/reply.js";
import { GRAPHS } from "../parts/settings.js";
import { duration, many, Time } from "../parts/texts.js";
import { Verdict } from "../parts/verdicts.js";
import { go, to } from "../router.js";

const TONES = { sure: "", "in doubt": "bad", failed: "bad" };
const NAMES = { sure: "from your files", abstained: "your files do not say" };
const ENDINGS = {
  stopped: "Stopped before there was an answer.",
  failed: "Failed:",
  refused: "Refused:",
  running: "Not finished: it is still running, or its process was ended.",
};
const LONGEST = 300;

export default function Runs({ route }) {
  const [id] = route.parts;
  if (!id) return html`<${List} />`;
  return html`<${Reply} key=${id} path=${path("runs", id)}>${(value) => html`<${Run} value=${value} />`}<//>`;
}

function about(run) {
  const ending = run.certainty || run.status;
  return html`<span class=${`badge ${TONES[ending] ?? "warn"}`}>${NAMES[ending] || ending}</span>${" "}
    <${Time} at=${run.at} /> · ${GRAPHS[run.graph] || run.graph} · ${duration(run.seconds)}`;
}

function List() {
  const [filter, field] = useFilter("Filter by question");
  return html`<div class="page"><h1>History</h1>
    <p class="muted">Every question that is recorded on this machine, with the way to its answer.</p>
    <div class="row">${field}</div>
    <${Paged} at="runs" query=${{ filter, limit: 50 }}>${({ runs, total, good }) =>
      (total ? html`<ul class="list">${runs.map((run) => html`
          <${Row} key=${run.id} run=${run} good=${good[run.id]} />`)}</ul>`
        : html`<${Nothing} filter=${filter} />`)}<//></div>`;
}

function Row({ run, good }) {
  return html`<li class="row"><span class="fill stack-tight">
    <a href=${to("runs", [run.id])}><bdi>${beginning(run.question)}</bdi></a>
    <span class="small">${about(run)}${good !== undefined && ` · judged ${good ? "good" : "bad"}`}</span></span></li>`;
}

function Nothing({ filter }) {
  if (filter) return html`<p class="empty">No question has these words.</p>`;
  return html`<p class="empty">Nothing was asked yet. <a href="#/ask">Ask a question</a></p>`;
}

function Run({ value }) {
  const [making, setMaking] = useState(false);
  const { run, answer } = value;
  const open = ({ file_id, page, start, end, chunk_id }) =>
    file_id && go("file", [file_id], { page, start, end, chunk_id });
  const passages = value.passages.map((each) => ({ ...each, read: each.read || `(${each.why})` }));
  return html`<p class="small"><a href="#/runs">The whole history</a></p>
    <${Question} level="h1" text=${run.question} />
    ${value.understood && html`<p class="muted">Understood as: ${value.understood}</p>`}
    <p class="muted">${about(run)} · record ${run.id}</p>
    ${value.note && html`<p class="muted"><bdi>${value.note}</bdi></p>`}
    ${answer ? html`<${Answer} answer=${answer} run=${run} open=${open} />` : html`
      <p><bdi>${ENDINGS[run.status]} ${run.reason}</bdi></p>`}
    <p><button onClick=${() => setMaking(true)}>Make a case of it</button></p>
    ${making && html`<${CaseDialog} run=${run} onClose=${() => setMaking(false)} />`}
    <h2>The way to it</h2><${Replay} value=${value} />
    <h2>Passages</h2><${Passages} passages=${passages} verdicts=${value.verdicts} onOpen=${open} />
    ${value.drafts.map((draft) => html`<h2>Rejected draft</h2><div class="draft"><${Written} text=${draft.text} /></div>
      <p class="small">${draft.why}</p>`)}
    <${Facts} title="Conditions" facts=${conditions(value)} />`;
}

function Answer({ answer, run, open }) {
  const cite = ({ n, quote }) =>
    open(answer.citations[quote] || answer.citations.find(({ number }) => number === n) || {});
  return html`<div class="card stack">
    <div class="answer" lang=${answer.language}>
      <${Blocks} nodes=${answer.blocks.flatMap(({ nodes = [] }) => nodes)} onCite=${cite} /></div>
    <p class="small">${answer.status_text}</p>
    <div class="actions"><${Feedback} run=${run.id} /></div></div>`;
}

function conditions({ engine, set, prompts }) {
  const settings = Object.entries(set).map(([name, value]) => [name, valueText(value)]);
  const digests = Object.entries(prompts).map(([task, digest]) => [`prompt ${task}`, digest]);
  return [["engine", engine], ...settings, ...digests];
}

// A setting for people.
function valueText(value) {
  const text = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text || "none";
}

// The path on the drawing, node by node, with what happened in each.
function Replay({ value }) {
  const steps = value.steps.filter((step) => step.node);
  const count = steps.length;
  const [at, setAt] = useState(count);
  const [playing, setPlaying] = useState(false);
  const goOn = () => (at < count ? setAt(at + 1) : setPlaying(false));
  useLater(900, playing && goOn, [playing, at]);
  const path = steps.slice(0, at).map((step) => step.node);
  const now = at < count && path.at(-1);
  const play = () => {
    if (at >= count) setAt(1);
    setPlaying(!playing);
  };
  const choose = (event) => {
    setPlaying(false);
    setAt(Number(event.target.value));
  };
  return html`<div class="row"><button onClick=${play}>${playing ? "Pause" : "Replay"}</button>
      <input class="fill" type="range" min="1" max=${count} value=${at} aria-label="Step"
        aria-valuetext=${steps[at - 1]?.name} onInput=${choose} />
      <span class="small">${at} of ${count}</span></div>
    <div class="split">
      <div><${Graph} name=${value.run.graph} path=${path} running=${now} ended=${!now && value.answer} /></div>
      <ol class="stack">${steps.slice(0, at).map((step) => html`<${Step} step=${step} />`)}</ol></div>`;
}

function Step({ step: { name, at, seconds, events } }) {
  const time = `${seconds === null ? "" : `${duration(seconds)}, `}began at ${duration(at)}`;
  return html`<li class="stack-tight">
    <span class="row"><strong>${name}</strong><span class="small">${time}</span></span>
    ${events.map((event) => (event.event === "graded"
      ? html`<${Verdict} verdict=${event} />`
      : html`<bdi class="small">${happened(event)}</bdi>`))}</li>`;
}

// An event of a record in a line.
function happened({ event, query, documents, engine, text, call }) {
  if (event === "retrieved") return `${many(documents.length, "passage")} for "${query}"`;
  if (event === "web_query") return `asked ${engine}: ${query}`;
  if (event === "note") return text;
  const { role, model, prompt_tokens, output_tokens, seconds, retry } = call;
  const tokens = `${prompt_tokens.toLocaleString()} + ${output_tokens.toLocaleString()} tokens`;
  return `${role} ${model}: ${tokens}, ${seconds.toFixed(2)} s${retry ? ", asked again" : ""}`;
}
