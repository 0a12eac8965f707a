// Choosing a folder of the person's home, or below one that was named at the terminal; what is in it is said before.
import { path } from "../api.js";
import { bound, html, useState } from "../html.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { Problem } from "./problem.js";
import { useReply } from "./reply.js";
import { many } from "./texts.js";

const NAME = "[\\p{L}\\p{N}_\\-][\\p{L}\\p{N}_.\\-]*";

export function AddFolder({ allowed, index, onAdd, onClose }) {
  const [place, setPlace] = useState({ root: allowed[0].file_id, below: "" });
  const [name, setName] = useState("");
  const { root, below } = place;
  const [{ value, error, busy }] = useReply(path("index", "folders", { root, below, index }));
  const { label = "…", folders, more } = value || {};
  const enter = (name, below, icon, badge) => html`<li class="row">
    <button type="button" class="quiet" onClick=${() => setPlace({ root, below })}>
      <${Icon} name=${icon} /><bdi>${name}</bdi></button>${badge}</li>`;
  const badgeOf = ({ indexed, coming }) => {
    if (indexed) return html`<span class="badge good">indexed</span>`;
    return coming && html`<span class="badge">comes with the next update</span>`;
  };
  const above = below.split("/").slice(0, -1).join("/");
  const add = (event) => {
    event.preventDefault();
    onAdd({ ...place, ...(name && { name }) });
  };
  return html`<${Dialog} title="Choose a folder" onClose=${onClose}><form class="stack" onSubmit=${add}>
    ${allowed.length > 1 && html`<label class="field">Below<select value=${root}
      onChange=${(event) => setPlace({ root: event.target.value, below: "" })}>
      ${allowed.map(({ file_id, label }) => html`<option value=${file_id}>${label}</option>`)}</select></label>`}
    <div><p><strong><bdi>${label}</bdi></strong></p>
      <${Counted} key=${`${root} ${below}`} place=${{ root, below, index }} /></div>
    <${Problem} error=${error} />
    <ul class="list folders">${below && enter("The folder above", above, "up")}
      ${folders?.map((folder) => enter(folder.name, folder.below, "index", badgeOf(folder)))}
      ${folders?.length === 0 && html`<li class="muted">There is no folder in it.</li>`}
      ${more > 0 && html`<li class="muted">and ${more} more</li>`}</ul>
    <details><summary>More</summary><label class="field">Into an index of its own, called
      <input maxlength="60" pattern=${NAME} placeholder="none: into the one that is open" ...${bound(name, setName)} />
      </label></details>
    <p class="small">Nothing is copied, and nothing leaves this machine.</p>
    <p class="row">
      <button class="primary" disabled=${busy || error}>Index this folder</button>
      <button type="button" onClick=${onClose}>Cancel</button></p></form><//>`;
}

// How many files of which kinds a folder holds.
function Counted({ place }) {
  const [{ value, error }] = useReply(path("index", "folders", "files", place));
  if (error) return null;
  if (!value) return html`<p class="small" role="status">Counting its files…</p>`;
  const { files, kinds, not_read, whole } = value;
  return html`<p class="small" role="status">${whole ? "" : "At least "}${many(files, "file")}
    ${kinds && `: ${kinds}`}${not_read && `; of kinds that are not read: ${not_read}`}</p>`;
}
