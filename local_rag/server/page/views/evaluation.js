// Evaluations: one is run here, those that are kept have a report, and answers that a person has judged become cases.
import { path, post } from "../api.js";
import { html, submitted, useState, useWindow } from "../html.js";
import { BUSY, follow, job } from "../indexing.js";
import { FilePick, Progress } from "../parts/begin.js";
import { CaseFile } from "../parts/case_dialog.js";
import { Icon } from "../parts/icon.js";
import { Problem } from "../parts/problem.js";
import { beginning } from "../parts/question.js";
import { Table, useReply } from "../parts/reply.js";
import { IndexChoice } from "../parts/settings.js";
import { FileLink } from "../parts/signed.js";
import { joined, many, Time } from "../parts/texts.js";
import { to } from "../router.js";

export default function Evaluation({ route: { query: { index } } }) {
  const { running, kind, report } = job.use();
  const [{ value, error }, load] = useReply("evaluations", running);
  const { evaluations = [], cases = [] } = value || {};
  const run = (cases, text) => follow("evaluations", { cases, ...(index && { index }), ...(text && { text }) });
  const [refused, setRefused] = useState(null);
  const take = ([file]) => file && file.text().then((text) => (running ? setRefused(BUSY) : run(file.name, text)));
  useWindow("drop", ({ dataTransfer }) => take(dataTransfer.files));
  return html`<div class="page">
    <div class="row"><h1 class="fill">Evaluation</h1><${IndexChoice} view="evaluation" value=${index} /></div>
    <p class="muted">How good the answers are on your own questions. A case is a question with what is right about it.
      All cases of a file are asked with your settings, and the figures are shown here.</p>
    <div class="row"><${FilePick} label="Choose a file of cases" accept=".jsonl,.json" onFiles=${take} />
      ${cases.map((name) => html`<button disabled=${running} onClick=${() => run(name)}>
        Ask the cases of <bdi>${name}</bdi></button>`)}</div>
    <p class="small">Or drop it here. Each line is a case, such as${" "}
      <code>${'{"question": "When does the lease end?", "answers": ["30 June"]}'}</code></p>
    <${Progress} kind="evaluations" />
    <${Problem} error=${running && refused} />
    <${Problem} error=${error} retry=${load} />
    ${kind === "evaluations" && report && html`<section class="card stack" aria-label="The figures">
      <${FileLink} path=${path("evaluations", report.id, "report")} target="_blank" rel="noopener">
        The whole report, case by case<//>
      ${report.tables.map((table) => html`<${Table} ...${table} />`)}</section>`}
    ${value && html`<h2>Evaluations</h2>`}
    ${value && evaluations.length === 0 && html`<p class="empty">No evaluation yet.</p>`}
    <ul class="list">${evaluations.map((each) => html`<${Row} key=${each.id} evaluation=${each} />`)}</ul>
    <${Judged} onMade=${load} />
  </div>`;
}

function Row({ evaluation: { id, name, cases, started, engine, graphs, contained, finished, report } }) {
  const label = html`<bdi>${name}</bdi>, ${many(cases, "case")}`;
  return html`<li class="row">
    <span class="fill stack-tight">
      ${report
        ? html`<${FileLink} path=${path("evaluations", id, "report")} target="_blank" rel="noopener">${label}<//>`
        : html`<span>${label}</span>`}
      <span class="small"><${Time} at=${started} /> · <bdi>${engine.split(":")[0]}</bdi></span>
      <span class="row">
        ${graphs.map((graph) => html`<span class="badge">${graph}${rightOf(contained[graph])}</span>`)}
        ${!finished && html`<span class="badge warn">not finished</span>`}
      </span>
    </span>
  </li>`;
}

const rightOf = (answers) => answers && `: ${answers.right} of ${answers.of} right`;

function Judged({ onMade }) {
  const [{ value }] = useReply("feedback");
  const [name, setName] = useState("my cases");
  const [made, setMade] = useState(null);
  const [error, setError] = useState(null);
  const all = value?.feedback || [];
  const make = submitted(async () => {
    try {
      setMade(await post("feedback/cases", { cases: name }));
      setError(null);
      onMade();
    } catch (problem) {
      setError(problem);
    }
  });
  return html`<h2>Judged answers</h2>
    ${all.length
      ? html`<form class="row end" onSubmit=${make}>
          <${CaseFile} name=${name} onName=${setName} /><button>Make cases of them</button>
        </form>`
      : html`<p class="muted">None yet. The thumbs below an answer keep it as a case.</p>`}
    ${made && html`<p role="status">${whatWasMade(made)}</p>`}
    <${Problem} error=${error} />
    <ul class="list">${all.map((each) => html`<${Judgement} key=${each.run} feedback=${each} />`)}</ul>`;
}

function whatWasMade({ kept, total, unlabelled, elsewhere }) {
  return joined([
    `${kept} kept; the file has ${many(total, "case")} now.`,
    unlabelled > 0 && `${unlabelled} left out: say what a right answer says.`,
    elsewhere > 0 && `${elsewhere} are of other indexes.`,
  ], " ");
}

function Judgement({ feedback: { run, good, question, note, expected, unanswerable } }) {
  const about = [note, expected && `right: ${expected}`, unanswerable && "the files do not answer it"];
  return html`<li class="stack-tight">
    <span class="row">
      <span role="img" aria-label=${good ? "good" : "bad"}><${Icon} name=${good ? "good" : "bad"} /></span>
      <a class="fill" href=${to("runs", [run])}><bdi>${beginning(question)}</bdi></a>
    </span>
    <span class="small">${joined(about)}</span>
  </li>`;
}
