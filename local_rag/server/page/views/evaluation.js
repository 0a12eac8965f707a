// Evaluations: started, watched, shown, compared; and the answers that a person has judged.
import { path, post, work } from "../api.js";
import { bound, html, say, shared, submitted, useEffect, useRef, useState, useWindow } from "../html.js";
import { CaseFile } from "../parts/case_dialog.js";
import { Icon } from "../parts/icon.js";
import { Problem } from "../parts/problem.js";
import { beginning } from "../parts/question.js";
import { Facts, Reply, Table, useReply, useTwo } from "../parts/reply.js";
import { requested, Settings, useChoices } from "../parts/settings.js";
import { joined, many, Notes, Time } from "../parts/texts.js";
import { to } from "../router.js";

export default function Evaluation({ route }) {
  const [id] = route.parts, other = route.query.with;
  if (id && other) return html`<${Compared} key=${id + other} first=${id} second=${other} />`;
  return id ? html`<${One} key=${id} id=${id} />` : html`<${All} />`;
}

const about = (each) => html`<span class="small"><${Time} at=${each.started} /> · <bdi>${each.engine.split(":")[0]}</bdi></span>`;
const report = ({ id, report }) => report && html`<a class="button small" href=${`/api/${path("evaluations", id, "report")}`} target="_blank" rel="noopener">Report</a>`;

function All() {
  const [{ value, error }, load] = useReply("evaluations"), [check, compare] = useTwo("evaluation");
  return html`<div class="page"><h1>Evaluation</h1>
    <p class="muted">How good the answers are on your own questions. A case is a question with what is right about it. Nothing leaves this machine, and the web stays off.</p>
    <${Problem} error=${error} retry=${load} />
    ${value && html`<${Starting} running=${value.running} onEnd=${load} />
      <div class="row"><h2 class="fill">Evaluations</h2>${compare}</div>
      ${value.evaluations.length ? html`<ul class="list">${value.evaluations.map((each) => html`<li key=${each.id} class="row">${check(each.id, `${each.name} of ${each.started}`)}
        <span class="fill stack-tight"><a href=${to("evaluation", [each.id])}><bdi>${each.name}</bdi>, ${many(each.cases, "case")}</a>${about(each)}
          <span class="row">${each.graphs.map((graph) => html`<span class="badge">${graph}${each.contained[graph] && `: ${each.contained[graph].right} of ${each.contained[graph].of} right`}</span>`)}
            ${!each.finished && html`<span class="badge warn">not finished</span>`}</span></span>${report(each)}</li>`)}</ul>` : html`<p class="empty">No evaluation yet.</p>`}`}
    <${Judged} /></div>`;
}

// The form that starts an evaluation, or the one that runs; it goes on when the page is left.
function Starting({ running, onEnd }) {
  const job = useRef(shared({ running, how: running })).current, leaving = useRef(new AbortController()).current;
  const { running: going, how, notes, result, error } = job.use();
  const watch = async (path, body = {}) => {
    await work(job, path, body, "evaluated", leaving.signal);
    if (leaving.signal.aborted) return;
    say("The evaluation has ended");
    onEnd();
  };
  useEffect(() => {
    if (running) watch("evaluations/watch");
    return () => leaving.abort();
  }, []);
  return html`<section class="card stack" aria-label="Start an evaluation">
    ${going ? html`<div class="row"><strong class="fill"><bdi>${how?.cases}</bdi></strong><button onClick=${() => post("evaluations/stop").catch(() => {})}><${Icon} name="stop" />Stop</button></div>
        <progress aria-label="Progress" max="1" value=${how?.share ?? undefined}></progress><p class="small"><bdi>${how?.doing || "starting"}</bdi>. It goes on when you leave this page.</p>`
      : html`<${StartForm} onStart=${(body) => watch("evaluations", body)} />`}
    <${Notes} lines=${notes} />
    ${result?.id && html`<p><a href=${to("evaluation", [result.id])}>Look at what came out</a></p>`}
    <${Problem} error=${error || result?.error} /></section>`;
}

const SETTINGS = ["index", "model", "k"];

function StartForm({ onStart }) {
  const [{ value: files, error }, load] = useReply("cases"), choices = useChoices();
  useWindow("cases", load);
  const [name, setName] = useState(""), [graphs, setGraphs] = useState(["self-rag"]), [limit, setLimit] = useState(""), [notes, setNotes] = useState(""), [settings, setSettings] = useState({});
  const cases = name || files?.cases.find((file) => !file.problem)?.name || "";
  const most = files?.cases.find((file) => file.name === cases)?.cases;
  const start = submitted(() => onStart({ cases, graphs, retrieval_only: !graphs.length, ...(limit && { limit: Number(limit) }), ...(notes && { notes }), ...requested(settings) }));
  const toggle = (graph) => setGraphs(graphs.includes(graph) ? graphs.filter((each) => each !== graph) : [...graphs, graph]);
  if (error) return html`<${Problem} error=${error} />`;
  if (files?.cases.length === 0) return html`<p class="muted">There is no case file yet. Judge some answers, make a case of a <a href="#/runs">run</a>, or put a file of cases into <code><bdi>${files.folder}</bdi></code>.</p>`;
  return html`<form class="stack" onSubmit=${start}>
    <div class="row end"><label class="field">Case file<select required ...${bound(cases, setName)}>${files?.cases.map((file) => html`
        <option value=${file.name} disabled=${Boolean(file.problem)}>${file.name} (${file.problem || many(file.cases, "case")})</option>`)}</select></label>
      <label class="field">How many cases<input type="number" min="1" max=${most} placeholder=${`all ${most ?? ""}`} ...${bound(limit, setLimit)} /></label>
      <fieldset class="row"><legend class="small">Graphs, the ways to an answer (none: only the search is measured)</legend>${choices?.graphs.map(({ name }) => html`<label class="row"><input type="checkbox" checked=${graphs.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}</fieldset></div>
    <label class="field">Your notes on it<textarea rows="2" maxlength="2000" placeholder="What you want to find out, or what you have changed (optional)" ...${bound(notes, setNotes)}></textarea></label>
    <div class="row"><${Settings} names=${SETTINGS} settings=${settings} onChange=${setSettings} /><button class="primary send" disabled=${!cases}>Start</button></div></form>`;
}

function Judged() {
  const [{ value }] = useReply("feedback"), all = value?.feedback || [];
  const [name, setName] = useState("my cases"), [made, setMade] = useState(null), [error, setError] = useState(null);
  const make = submitted(() => post("feedback/cases", { cases: name }).then((value) => (setMade(value), setError(null), window.dispatchEvent(new Event("cases"))), setError));
  return html`<h2>Judged answers</h2>
    ${all.length ? html`<form class="row end" onSubmit=${make}><${CaseFile} name=${name} onName=${setName} /><button>Make cases of them</button></form>` : html`<p class="muted">None yet. The thumbs below an answer keep it as a case.</p>`}
    ${made && html`<p role="status">${made.kept} kept; the file has ${many(made.total, "case")} now.${made.unlabelled ? ` ${made.unlabelled} left out: say what a right answer says.` : ""}${made.elsewhere ? ` ${made.elsewhere} are of other indexes.` : ""}</p>`}
    <${Problem} error=${error} />
    <ul class="list">${all.map((each) => html`<li key=${each.run} class="stack-tight"><span class="row"><span role="img" aria-label=${each.good ? "good" : "bad"}><${Icon} name=${each.good ? "good" : "bad"} /></span>
      <a class="fill" href=${to("runs", [each.run])}><bdi>${beginning(each.question)}</bdi></a></span>
      <span class="small">${joined([each.note, each.expected && `right: ${each.expected}`, each.unanswerable && "the files do not answer it"])}</span></li>`)}</ul>`;
}

const One = ({ id }) => html`<${Reply} path=${path("evaluations", id)}>${(value) => html`
  <p class="small"><a href="#/evaluation">All evaluations</a></p>
  <div class="row"><h1 class="fill"><bdi>${value.evaluation.name}</bdi></h1>${report(value.evaluation)}</div>
  <${Notes} lines=${[...value.facts.filter(([name]) => name === "notes").map(([, text]) => text), ...value.notes]} />${value.tables.map((table) => html`<${Table} ...${table} />`)}
  ${value.failures.length > 0 && html`<h2>Failures</h2><${Notes} lines=${value.failures} />`}
  <${Facts} title="How it was made" facts=${value.facts} />`}<//>`;

const Compared = ({ first, second }) => html`<${Reply} path=${path("evaluations", "compare", { first, second })}>${(value) => html`
  <p class="small"><a href="#/evaluation">All evaluations</a></p><h1>Two evaluations</h1>
  <div class="split">${["first", "second"].map((side) => html`<p><strong>${side === "first" ? "A" : "B"}</strong> <a href=${to("evaluation", [value[side].id])}><bdi>${value[side].name}</bdi></a><br />${about(value[side])}</p>`)}</div>
  <p class=${value.only_first || value.only_second ? "notice" : "small"}>${value.over}</p>
  <${Notes} lines=${value.notes} />
  ${value.tables.map(({ table, verdicts }) => html`<${Table} ...${table} /><ul>${verdicts.map(([name, text]) => html`<li><strong>${name}</strong>: ${text}</li>`)}</ul>`)}
  ${value.made.length > 0 && html`<${Table} title="Made differently" head=${["", "A", "B"]} rows=${value.made} numbers=${3} />`}`}<//>`;
