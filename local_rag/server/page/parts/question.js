// A question as a heading; of a long one the beginning, in smaller type, and the whole on a click.
import { h, html, useState } from "../html.js";

const LONG = 160;
const SHOWN = 240;

// The beginning of a question, at most four lines of it; the whole where little more is left.
export function beginning(text) {
  const start = [...text].slice(0, SHOWN).join("").split("\n", 4).join("\n");
  return text.length < start.length + 60 ? text : `${start.trimEnd()}…`;
}

export function Question({ text, level = "h2" }) {
  const [whole, setWhole] = useState(false);
  const start = beginning(text);
  const isLong = text.length > LONG || start !== text;
  return html`${h(level, { class: isLong ? "question long" : "question" }, whole ? text : start)}
    ${start !== text && html`<p class="actions"><button class="quiet small" aria-expanded=${whole}
      onClick=${() => setWhole(!whole)}>${whole ? "Only its beginning" : "The whole question"}</button></p>`}`;
}
