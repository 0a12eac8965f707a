// Passages with what the graders say of each; a click opens the document there.
import { html } from "../html.js";
import { toneOf, Verdict } from "./verdicts.js";

// The place of a passage or citation in words: "lease.pdf, p. 3" or "notes.md § Prices".
export const placeOf = ({ label, where, page, heading }) =>
  [label, where || (page ? `p. ${page}` : heading ? `§ ${heading}` : "")].filter(Boolean).join(", ");

export function Passages({ passages, verdicts = [], onOpen, scores = true }) {
  return html`<ol class="stack">${passages.map((passage) => {
    const graded = verdicts.filter((verdict) => verdict.chunk_id === passage.chunk_id);
    return html`<li key=${passage.chunk_id} class=${`passage ${toneOf(graded.at(-1)?.verdict)}`}>
      <span class="row"><button type="button" class="where" onClick=${(event) => onOpen?.(passage, event.currentTarget)}><bdi>${placeOf(passage)}</bdi></button>
        ${scores && html`<span class="muted small">${scoresOf(passage)}</span>`}</span>
      ${graded.map((verdict, key) => html`<${Verdict} key=${key} verdict=${verdict} bare />`)}
      <p class="text" dir="auto">${passage.text}</p>
    </li>`;
  })}</ol>`;
}

function scoresOf({ score, dense, sparse }) {
  const named = [["score", score], ["dense", dense], ["sparse", sparse]];
  return named.filter(([, value]) => value != null).map(([name, value]) => `${name} ${value.toFixed(value < 0.1 ? 4 : 2)}`).join(" · ");
}
