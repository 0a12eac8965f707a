// Passages with what the graders say of each; a click opens the document there.
import { html } from "../html.js";
import { Facts } from "./reply.js";
import { joined } from "./texts.js";
import { toneOf, Verdict } from "./verdicts.js";

// The place of a passage or citation in words: "lease.pdf, p. 3" or "notes.md § Prices".
export const placeOf = ({ label, where, page, heading }) =>
  joined([label, where || (page ? `p. ${page}` : heading && `§ ${heading}`)], ", ");

export function Passages({ passages, verdicts = [], onOpen }) {
  const gradesOf = ({ chunk_id }) => verdicts.filter((verdict) => verdict.chunk_id === chunk_id);
  return html`<ol class="stack">${passages.map((passage) => html`
      <${Passage} key=${passage.chunk_id} passage=${passage} graded=${gradesOf(passage)} onOpen=${onOpen} />`)}</ol>
    ${passages.some(scoresOf) && html`<${Facts} title="What the numbers mean" facts=${SCORES} />`}`;
}

function Passage({ passage, graded, onOpen }) {
  return html`<li class=${`passage ${toneOf(graded.at(-1)?.verdict)}`}>
    <span class="row">
      <button onClick=${(event) => onOpen?.(passage, event.currentTarget)}><bdi>${placeOf(passage)}</bdi></button>
      <bdi class="small">${joined([passage.title, passage.date?.slice(0, 10)])}</bdi>
      <span class="small">${scoresOf(passage)}</span></span>
    ${graded.map((verdict) => html`<${Verdict} verdict=${verdict} bare />`)}
    <p class="text">${passage.text}</p>
  </li>`;
}

const SCORES = [
  ["score", "how well a passage fits in all; it orders the passages of one search"],
  ["dense", "how near its meaning is to the question, whatever the words; at most 1"],
  ["sparse", "how many words of the question it has, rare ones counting most; 1 is about all"],
];

const number = (value) => value.toFixed(value < 0.1 ? 4 : 2);

const scoresOf = (passage) =>
  joined(SCORES.map(([name]) => passage[name] != null && `${name} ${number(passage[name])}`));
