// A file as a whole, once it is opened: the lines of its outline, each of which leads to its place.
import { path } from "../api.js";
import { html, useState } from "../html.js";
import { to } from "../router.js";
import { useReply } from "./reply.js";

export function Outline({ file_id, index }) {
  const [open, setOpen] = useState(false);
  const [{ value }] = useReply(open && path("documents", file_id, "outline", { index }));
  return html`<details class="card" onToggle=${(event) => setOpen(event.target.open)}><summary>Outline</summary>
    ${open && value && html`<ul class="small">${value.lines.map(({ text, places: [place] }) => html`<li>
      <a href=${to("file", [file_id], { index, ...place })}><bdi>${text}</bdi></a></li>`)}</ul>`}</details>`;
}
