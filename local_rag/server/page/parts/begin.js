// Where nothing is indexed yet: a folder is chosen, the sample tried, or files are dropped; and how far indexing is.
import { stopJob } from "../api.js";
import { html, useState } from "../html.js";
import { follow, job, take } from "../indexing.js";
import { AddFolder } from "./add_folder.js";
import { Problem } from "./problem.js";
import { Notes } from "./texts.js";

// `onIndex(name)` is told of an index that was made.
export function Begin({ allowed, index, onIndex }) {
  const [adding, setAdding] = useState(false);
  const { running } = job.use();
  const begin = (address, body, name) => follow(address, body).then(() => name && job.value.report && onIndex(name));
  const add = ({ name = "", ...folder }) => {
    setAdding(false);
    begin("index/add", { ...folder, ...(index && { index }), ...(name && { name }) }, name);
  };
  return html`<section class="card stack" aria-label="Begin">
    <p>Nothing is indexed yet. What should be searched?</p>
    <p class="row">
      ${allowed.length > 0 && html`<button class="primary" disabled=${running}
        onClick=${() => setAdding(true)}>Choose a folder</button>`}
      <button disabled=${running}
        onClick=${() => begin("index/add", { root: "sample" }, "demo")}>Try the sample</button></p>
    <div class="row small">Or drop files on this page: they are copied and indexed.
      <${FilePick} multiple label="Add files" onFiles=${(files) => take(files, index)} /></div>
    <${Progress} />
    ${adding && html`<${AddFolder} allowed=${allowed} index=${index} onAdd=${add}
      onClose=${() => setAdding(false)} />`}</section>`;
}

// Files for who drops none: the browser's own choice of them.
export function FilePick({ label, onFiles, ...rest }) {
  const { running } = job.use();
  const pick = ({ target }) => {
    onFiles([...target.files]);
    target.value = "";
  };
  return html`<label class="button pick">${label}
    <input class="unseen" type="file" disabled=${running} onChange=${pick} ...${rest} /></label>`;
}

// How far a job of this kind is, and what it had to say.
export function Progress({ kind = "index" }) {
  const { running, id, at, notes, error, kind: now } = job.use();
  return now === kind && html`${running && html`<div class="row">
      <label class="field fill"><bdi>${at?.line || "Beginning…"}</bdi>
      <progress value=${at?.share ?? undefined}></progress></label>
      ${id && html`<button class="danger" onClick=${() => stopJob(id)}>Stop</button>`}</div>`}
    <${Notes} lines=${notes} />
    <${Problem} error=${error} />`;
}
