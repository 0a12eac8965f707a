// The checks of this machine and the models, with a button for what the page does about a finding.
import { html } from "../html.js";
import { follow, job } from "../indexing.js";
import { Progress } from "../parts/begin.js";
import { Action, Problem } from "../parts/problem.js";
import { Table, useReply } from "../parts/reply.js";
import { Notes, size } from "../parts/texts.js";

const STATES = { ok: ["good", "ok"], note: ["warn", "note"], bad: ["bad", "problem"] };
const FITS = { yes: "", tight: ", a tight fit", no: ", too large for this machine", unknown: "" };
const badge = ([tone, label]) => html`<span class=${`badge ${tone}`}>${label}</span>`;

export default function Doctor() {
  const { running, report } = job.use();
  const [doctor, again] = useReply("doctor", report);
  const [models, askAgain] = useReply("models", running);
  const check = () => {
    again();
    askAgain();
  };
  return html`<div class="page">
    <div class="row"><h1 class="fill">Doctor</h1>
      <button disabled=${doctor.busy} onClick=${check}>Check again</button></div>
    <p class="muted">Whether this machine has all that local-rag needs.</p>
    ${[doctor, models].map(({ error }) => error && html`<${Problem} error=${error} />`)}
    ${doctor.busy && html`<p class="muted" role="status">Checking this machine…</p>`}
    ${doctor.value && html`<${Checks} checks=${doctor.value.checks} />`}
    ${models.value && html`<${Models} report=${models.value} />`}</div>`;
}

function Checks({ checks }) {
  const well = checks.filter(({ state }) => state === "ok");
  const wrong = checks.filter(({ state }) => state !== "ok");
  const sum = wrong.length
    ? `${wrong.length} of ${checks.length} checks found something.`
    : `All ${checks.length} checks are well.`;
  return html`<p>${sum}</p>
    <ul class="list">${[...wrong, ...well].map(({ name, state, found, action }) => html`<li class="stack-tight">
      <span class="row">${badge(STATES[state])}<strong>${name}</strong><bdi>${found}</bdi></span>
      ${action && html`<${Action} of=${action} />`}</li>`)}</ul>
    ${wrong.some(({ fix, action }) => fix && !action) && html`<p class="small">What has no button is done outside of
      this page: <code>local-rag doctor</code> in a terminal says how.</p>`}`;
}

function Models({ report: { models, problem, profile, in_use, answering, why, version, server } }) {
  const { running, kind, report } = job.use();
  const use = badge(answering ? ["good", "in use"] : ["", "would be used"]);
  const row = (model) => [
    html`<bdi>${model.name}</bdi> ${model.in_use && use}`,
    (model.memory === null ? "–" : size(model.memory)) + FITS[model.fits],
    html`${stateOf(model)} ${!problem && html`<${Do} model=${model} running=${running} />`}`,
    model.about,
  ];
  const answers = problem ? "" : ` Ollama ${version} answers at ${server}.`;
  return html`<${Progress} kind="models" />
    ${kind === "models" && report && html`<div class="card" role="status"><${Notes} lines=${report.lines} /></div>`}
    <${Table} title="Models" head=${["Model", "Memory", "State", "About"]} numbers=${4}
      rows=${models.map(row)} over=${`Profile ${profile}: ${in_use.join(", ")} (${why}).${answers}`} />
    ${problem && html`<p><bdi>${problem}</bdi>; until then answers are quotes from your files.</p>`}`;
}

// Ollama fetches a model that is missing; one that is used is tried.
function Do({ model: { name, in_use, installed, remote_host }, running }) {
  const [label, what] = installed === null ? ["Fetch", "pull"] : ["Try", "try"];
  return !remote_host && (what === "pull" || in_use) && html`<button class="small" disabled=${running}
    aria-label=${`${label} ${name}`} onClick=${() => follow("models", { model: name, do: what })}>${label}</button>`;
}

function stateOf({ remote_host, loaded, installed, download }) {
  if (remote_host) return `answers from ${remote_host}`;
  if (loaded) return "loaded";
  return installed === null ? `download ${size(download)}` : `installed, ${size(installed)}`;
}
