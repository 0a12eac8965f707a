// Choosing a folder to index, below one that a person named at the terminal.
import { html, useEffect, useState } from "/page/html.js";
import { Dialog } from "/page/parts/dialog.js";
import { Icon } from "/page/parts/icon.js";
import { Problem } from "/page/parts/problem.js";

export default function AddFolder({ api, allowed, index, onAdd, onClose }) {
  const [root, setRoot] = useState(allowed[0].file_id);
  const [below, setBelow] = useState("");
  const [state, setState] = useState({});
  const load = () => {
    setState({});
    api.get(api.path("index", "folders", { root, below, index })).then(setState, (error) => setState({ error }));
  };
  useEffect(load, [root, below]);
  const up = below.split("/").slice(0, -1).join("/");
  return html`<${Dialog} title="Add a folder" onClose=${onClose}>
    ${allowed.length > 1 && html`<label class="field">Below<select value=${root} onChange=${(event) => (setBelow(""), setRoot(event.target.value))}>
      ${allowed.map(({ file_id, label }) => html`<option key=${file_id} value=${file_id}>${label}</option>`)}</select></label>`}
    <p><strong><bdi>${state.label || "…"}</bdi></strong></p>
    ${state.error && html`<${Problem} error=${state.error} retry=${load} />`}
    <ul class="list folders">
      ${below && html`<li><button type="button" class="button quiet" onClick=${() => setBelow(up)}><${Icon} name="up" />The folder above</button></li>`}
      ${state.folders?.map((folder) => html`<li key=${folder.below} class="row"><button type="button" class="button quiet" onClick=${() => setBelow(folder.below)}><${Icon} name="index" /><bdi>${folder.name}</bdi></button>
        ${folder.indexed && html`<span class="badge good">indexed</span>`}</li>`)}
      ${state.folders?.length === 0 && html`<li class="muted">There are no folders in it.</li>`}
      ${state.more > 0 && html`<li class="muted">and ${state.more.toLocaleString()} more</li>`}
    </ul>
    <p class="muted small">Files are read where they lie; nothing is copied. Other places are added at the terminal: local-rag index FOLDER, or local-rag serve --root FOLDER.</p>
    <p class="row"><button class="button primary" disabled=${!state.folders} onClick=${() => onAdd({ root, below })}>Index this folder</button>
      <button class="button" onClick=${onClose}>Cancel</button></p>
  <//>`;
}
