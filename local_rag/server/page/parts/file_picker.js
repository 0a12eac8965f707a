// The files that a question is asked of: chosen in a dialog, each beside the question until it is taken away.
import { html, useState } from "../html.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { Paged, useFilter } from "./reply.js";

const AT_ONCE = 50;

// `files` are {file_id, label}; onChange gets the new ones.
export function FilePicker({ files, index, onChange }) {
  const [open, setOpen] = useState(false);
  const without = ({ file_id }) => files.filter((each) => each.file_id !== file_id);
  return html`
    <button type="button" class="quiet small" onClick=${() => setOpen(true)}><${Icon} name="file" />Files</button>
    ${files.map((file) => html`<button key=${file.file_id} type="button" class="small changed"
      title="Ask of this file no more" onClick=${() => onChange(without(file))}>
      <span><bdi>${file.label}</bdi></span><${Icon} name="close" /></button>`)}
    ${open && html`<${Choice} files=${files} index=${index} onClose=${() => setOpen(false)}
      onToggle=${(file, chosen) => onChange(chosen ? [...files, file] : without(file))} />`}`;
}

function Choice({ files, index, onToggle, onClose }) {
  const [filter, field] = useFilter("Filter by name, title or author");
  const isChosen = ({ file_id }) => files.some((file) => file.file_id === file_id);
  return html`<${Dialog} title="Ask of these files alone" onClose=${onClose}>
    <div class="row">${field}</div>
    <div class="folders"><${Paged} at="files" query=${{ index, filter, limit: AT_ONCE }}>${(page) => html`
      <ul class="list">${page.files.map(({ file_id, label }) => html`<li key=${file_id}><label class="row">
        <input type="checkbox" checked=${isChosen({ file_id })}
          onChange=${({ target }) => onToggle({ file_id, label }, target.checked)} /><bdi>${label}</bdi></label></li>`)}
        ${page.files.length === 0 && html`<li class="muted">No file has these words.</li>`}</ul>`}<//></div>
    <p class="row"><button class="primary" onClick=${onClose}>Done</button></p><//>`;
}
