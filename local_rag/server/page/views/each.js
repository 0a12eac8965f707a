// One question to each of the chosen files: a row for each, as they come.
import { stopJob, stream } from "../api.js";
import { html, useState } from "../html.js";
import { Problem } from "../parts/problem.js";
import { Table } from "../parts/reply.js";
import { useSettings } from "../parts/settings.js";
import { many } from "../parts/texts.js";

export default function Each() {
  const [{ files = [], index }] = useSettings("each", {});
  const [state, setState] = useState({ rows: [] });
  const { rows, job, error, done } = state;
  const change = (more) => setState((before) => ({ ...before, ...more }));
  const heard = (name, value) => {
    if (name === "begun") change({ job: value.id });
    if (name === "row") setState((before) => ({ ...before, rows: [...before.rows, value] }));
    if (name === "rows") change({ done: value });
  };
  const ask = async (event) => {
    event.preventDefault();
    setState({ rows: [], job: true });
    const question = new FormData(event.target).get("question");
    const body = { question, index, files: files.map(({ file_id }) => file_id), each: true };
    await stream("ask", body, heard, "rows").catch((error) => change({ error }));
    change({ job: null });
  };
  const copy = (kind) => html`<button class="small" onClick=${() => navigator.clipboard.writeText(done[kind])}>
    Copy as ${kind === "csv" ? "CSV" : "Markdown"}</button>`;
  return html`<div class="page stack"><h1>Ask each file</h1>
    <p class="muted">The question is asked of ${files.length ? many(files.length, "chosen file") : "every file"} alone.
      What is answered is kept: asked again, it goes on.</p>
    <form class="row" onSubmit=${ask}>
      <input class="fill" name="question" required aria-label="Question" placeholder="When does it end?" />
      ${job ? html`<button type="button" onClick=${() => stopJob(job)}>Stop</button>`
        : html`<button class="primary">Ask</button>`}</form>
    <${Problem} error=${error} />
    ${rows.length > 0 && html`<${Table} title=${many(rows.length, "answer")} numbers=${9}
      head=${["File", "Answer", "Certainty", "Quote"]}
      rows=${rows.map(({ file, question, answer, certainty, quote, place }) => [
        file, answer, certainty, quote && `${place} ${quote}`])} />`}
    ${done && html`<p class="row">${copy("csv")}${copy("markdown")}</p>`}</div>`;
}
