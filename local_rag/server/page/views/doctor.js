// The checks of this machine and the models, with a button to copy each command.
import { html } from "../html.js";
import { Hint, Problem } from "../parts/problem.js";
import { Table, useReply } from "../parts/reply.js";
import { size } from "../parts/texts.js";

const STATES = { ok: ["good", "ok"], note: ["warn", "note"], bad: ["bad", "problem"] };
const FITS = { yes: "", tight: ", a tight fit", no: ", too large for this machine", unknown: "" };
const badge = ([tone, label]) => html`<span class=${`badge ${tone}`}>${label}</span>`;

export default function Doctor() {
  const [doctor, again] = useReply("doctor");
  const [models, askAgain] = useReply("models");
  const check = () => {
    again();
    askAgain();
  };
  return html`<div class="page">
    <div class="row"><h1 class="fill">Doctor</h1>
      <button disabled=${doctor.busy} onClick=${check}>Check again</button></div>
    <p class="muted">Whether this machine has all that local-rag needs, and what to do where it has not.</p>
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
    <ul class="list">${[...wrong, ...well].map(({ name, state, found, steps }) => html`<li class="stack-tight">
      <span class="row">${badge(STATES[state])}<strong>${name}</strong><bdi>${found}</bdi></span>
      ${steps.map((step) => html`<${Hint} ...${step} />`)}</li>`)}</ul>`;
}

function Models({ report: { models, problem, next: help, profile, in_use, answering, why, version, server } }) {
  const missing = models.some((model) => model.in_use && model.installed === null && !model.remote_host);
  const use = badge(answering ? ["good", "in use"] : ["", "would be used"]);
  const row = (model) => [
    html`<bdi>${model.name}</bdi> ${model.in_use && use}`,
    (model.memory === null ? "–" : size(model.memory)) + FITS[model.fits],
    stateOf(model),
    model.about,
  ];
  const answers = problem ? "" : ` Ollama ${version} answers at ${server}.`;
  const next = missing
    ? { command: "local-rag models pull", does: "installs what is missing" }
    : { command: "local-rag models try", does: "gives the model each of its tasks once" };
  return html`<${Table} title="Models" head=${["Model", "Memory", "State", "About"]} numbers=${4}
      rows=${models.map(row)} over=${`Profile ${profile}: ${in_use.join(", ")} (${why}).${answers}`} />
    ${problem && html`<p><bdi>${problem}</bdi>; until then answers are quotes from your files.</p>`}
    <${Hint} ...${problem ? help : next} />`;
}

function stateOf({ remote_host, loaded, installed, download }) {
  if (remote_host) return `answers from ${remote_host}`;
  if (loaded) return "loaded";
  return installed === null ? `download ${size(download)}` : `installed, ${size(installed)}`;
}
