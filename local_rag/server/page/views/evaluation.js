// Evaluations: started on a case file, watched, looked at, compared; and the answers that a person has judged.
import { get, path, post, stream } from "/page/api.js";
import { html, useEffect, useRef, useState } from "/page/html.js";
import { CaseFile } from "/page/parts/case_dialog.js";
import { Icon } from "/page/parts/icon.js";
import { Problem } from "/page/parts/problem.js";
import { bound, Facts, Reply, Table, useReply, useTwo } from "/page/parts/reply.js";
import { say } from "/page/parts/say.js";
import { to } from "/page/router.js";

const GRAPHS = ["plain", "self-rag", "crag", "adaptive"];

export default function Evaluation({ route }) {
  const [id] = route.parts, other = route.query.with;
  if (id && other) return html`<${Compared} key=${id + other} first=${id} second=${other} />`;
  return id ? html`<${One} key=${id} id=${id} />` : html`<${All} />`;
}

const about = (each) => html`<span class="small muted"><time datetime=${each.started}>${new Date(each.started).toLocaleString()}</time> · <bdi>${each.engine.split(":")[0]}</bdi></span>`;
const report = ({ id, report }) => report && html`<a class="button small" href=${`/api/${path("evaluations", id, "report")}`} target="_blank" rel="noopener">Report</a>`;
const notes = (lines) => lines.map((line) => html`<p class="muted"><bdi>${line}</bdi></p>`);

function All() {
  const [{ value, error }, load] = useReply("evaluations"), [check, compare] = useTwo("evaluation");
  return html`<div class="page"><h1>Evaluation</h1>
    <p class="muted">How good the answers are on your own questions. Nothing leaves this machine, and the web stays off.</p>
    ${error && html`<${Problem} error=${error} retry=${load} />`}
    ${value && html`<${Starting} running=${value.running} onEnd=${load} />
      <div class="row"><h2 class="fill">Evaluations</h2>${compare}</div>
      ${value.evaluations.length ? html`<ul class="list">${value.evaluations.map((each) => html`<li key=${each.id} class="row">${check(each.id, `${each.name} of ${each.started}`)}
        <span class="fill stack-tight"><a href=${to("evaluation", [each.id])}><bdi>${each.name}</bdi>, ${each.cases} cases</a>${about(each)}
          <span class="row">${each.graphs.map((graph) => html`<span class="badge" title="answers that contain the expected one">${graph} ${each.contained[graph] == null ? "" : `${Math.round(each.contained[graph] * 100)} %`}</span>`)}
            ${!each.finished && html`<span class="badge warn">not finished</span>`}</span></span>${report(each)}</li>`)}</ul>` : html`<p class="empty">No evaluation yet.</p>`}`}
    <${Judged} /></div>`;
}

// The form that starts an evaluation, or the one that runs; it goes on when the page is left.
function Starting({ running, onEnd }) {
  const [job, setJob] = useState(running), [error, setError] = useState(null), [ended, setEnded] = useState("");
  const [files, setFiles] = useState(null), [cases, setCases] = useState(""), [graphs, setGraphs] = useState(["self-rag"]);
  const leaving = useRef(new AbortController());
  const watch = async (path, body = {}) => {
    setError(null), setEnded("");
    const seen = (name, value) => {
      if (name === "begun" || name === "progress") setJob(value);
      if (name !== "evaluated") return;
      setEnded(value.id), setError(value.error);
      say("The evaluation has ended");
    };
    await stream(path, body, seen, leaving.current.signal, "evaluated").catch((error) => error.code === "stopped" || setError(error));
    if (leaving.current.signal.aborted) return;
    setJob(null);
    onEnd();
  };
  useEffect(() => {
    get("cases").then((value) => (setFiles(value), setCases(value.cases.find((file) => !file.problem)?.name || "")), setError);
    if (running) watch("evaluations/watch");
    return () => leaving.current.abort();
  }, []);
  const start = (event) => {
    event.preventDefault();
    setJob({ cases, share: null });
    watch("evaluations", { cases, graphs, retrieval_only: !graphs.length });
  };
  const toggle = (graph) => setGraphs(graphs.includes(graph) ? graphs.filter((each) => each !== graph) : [...graphs, graph]);
  return html`<section class="card stack" aria-label="Start an evaluation">
    ${job ? html`<div class="row"><strong class="fill"><bdi>${job.cases}</bdi></strong><button class="button" onClick=${() => post("evaluations/stop").catch(setError)}><${Icon} name="stop" />Stop</button></div>
        <progress aria-label="Progress" max="1" value=${job.share ?? undefined}></progress><p class="muted small">${job.doing || "starting"}. It goes on when you leave this page.</p>`
      : html`<form class="row end" onSubmit=${start}>
        <label class="field">Case file<select required ...${bound(cases, setCases)}>${files?.cases.map((file) => html`
          <option value=${file.name} disabled=${Boolean(file.problem)}>${file.name} (${file.problem || `${file.cases} cases`})</option>`)}</select></label>
        <fieldset class="row"><legend class="small muted">Graphs (none: passages alone)</legend>${GRAPHS.map((graph) => html`<label class="row"><input type="checkbox" checked=${graphs.includes(graph)} onChange=${() => toggle(graph)} /> ${graph}</label>`)}</fieldset>
        <button class="button primary" disabled=${!cases}>Start</button></form>`}
    ${files?.cases.length === 0 && html`<p class="muted">There is no case file yet. Judge some answers, make a case of a <a href="#/runs">run</a>, or put a file of cases into <code><bdi>${files.folder}</bdi></code>.</p>`}
    ${ended && html`<p><a href=${to("evaluation", [ended])}>Look at what came out</a></p>`}
    ${error && html`<${Problem} error=${error} />`}</section>`;
}

function Judged() {
  const [{ value }] = useReply("feedback"), all = value?.feedback || [];
  const [name, setName] = useState("my cases"), [made, setMade] = useState(null), [error, setError] = useState(null);
  const make = (event) => {
    event.preventDefault();
    post("feedback/cases", { cases: name }).then((value) => (setMade(value), setError(null)), setError);
  };
  return html`<h2>Judged answers</h2>
    ${all.length ? html`<form class="row end" onSubmit=${make}><${CaseFile} name=${name} onName=${setName} /><button class="button">Make cases of them</button></form>` : html`<p class="muted">None yet. The thumbs below an answer keep it as a case.</p>`}
    ${made && html`<p role="status">${made.kept} kept; the file has ${made.total} cases now.${made.unlabelled ? ` ${made.unlabelled} left out: say what a right answer says.` : ""}${made.elsewhere ? ` ${made.elsewhere} are of other indexes.` : ""}</p>`}
    ${error && html`<${Problem} error=${error} />`}
    <ul class="list">${all.map((each) => html`<li key=${each.run} class="stack-tight"><span class="row"><span role="img" aria-label=${each.good ? "good" : "bad"}><${Icon} name=${each.good ? "good" : "bad"} /></span>
      <a class="fill" href=${to("runs", [each.run])}><bdi>${each.question}</bdi></a></span>
      <span class="small muted" dir="auto">${[each.note, each.expected && `right: ${each.expected}`, each.unanswerable && "the files do not answer it"].filter(Boolean).join(" · ")}</span></li>`)}</ul>`;
}

const One = ({ id }) => html`<${Reply} path=${path("evaluations", id)}>${(value) => html`
  <p class="small"><a href="#/evaluation">All evaluations</a></p>
  <div class="row"><h1 class="fill"><bdi>${value.evaluation.name}</bdi></h1>${report(value.evaluation)}</div>
  ${notes(value.notes)}${value.tables.map((table) => html`<${Table} ...${table} />`)}
  ${value.failures.length > 0 && html`<h2>Failures</h2>${notes(value.failures)}`}
  <${Facts} title="How it was made" facts=${value.facts} />`}<//>`;

const Compared = ({ first, second }) => html`<${Reply} path=${path("evaluations", "compare", { first, second })}>${(value) => html`
  <p class="small"><a href="#/evaluation">All evaluations</a></p><h1>Two evaluations</h1>
  <div class="split">${["first", "second"].map((side) => html`<p><strong>${side === "first" ? "A" : "B"}</strong> <a href=${to("evaluation", [value[side].id])}><bdi>${value[side].name}</bdi></a><br />${about(value[side])}</p>`)}</div>
  ${notes(value.notes)}
  ${value.tables.map(({ table, verdicts }) => html`<${Table} ...${table} /><ul>${verdicts.map(([name, text]) => html`<li><strong>${name}</strong>: ${text}</li>`)}</ul>`)}
  ${value.made.length > 0 && html`<${Table} title="Made differently" head=${["", "A", "B"]} rows=${value.made} numbers=${3} />`}`}<//>`;
