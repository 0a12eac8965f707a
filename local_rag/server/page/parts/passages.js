// Passages with what the graders say of each; a click opens the document there.
import { html, useState } from "../html.js";
import { Blocks } from "./blocks.js";
import { Facts } from "./reply.js";
import { joined } from "./texts.js";
import { toneOf, Verdict } from "./verdicts.js";

// The place of a passage or citation in words: "lease.pdf, p. 3" or "notes.md § Prices".
export const placeOf = ({ place, label, page, heading }) =>
  place || joined([label, page ? `p. ${page}` : heading && `§ ${heading}`], ", ");

export function Passages({ passages, verdicts = [], onOpen }) {
  const [detailed, setDetailed] = useState(false);
  const toggle = (event) => setDetailed(event.currentTarget.open);
  const gradesOf = ({ chunk_id }) => verdicts.filter((verdict) => verdict.chunk_id === chunk_id);
  return html`
    ${passages.some(scoresOf) && html`<${Facts} title="Details" facts=${SCORES} onToggle=${toggle} />`}
    <ol class="stack">${passages.map((passage) => html`<${Passage} key=${passage.chunk_id} passage=${passage}
      scores=${detailed && scoresOf(passage)} graded=${gradesOf(passage)} onOpen=${onOpen} />`)}</ol>`;
}

function Passage({ passage, scores, graded, onOpen }) {
  const { label, title = "", date } = passage;
  return html`<li class=${`passage ${toneOf(graded.at(-1)?.verdict)}`}>
    <span class="row">
      <button onClick=${(event) => onOpen?.(passage, event.currentTarget)}><bdi>${placeOf(passage)}</bdi></button>
      <bdi class="small">${joined([!label.endsWith(title) && title, date?.slice(0, 10)])}</bdi>
      ${scores && html`<span class="small">${scores}</span>`}</span>
    ${graded.map((verdict) => html`<${Verdict} verdict=${verdict} bare />`)}
    ${passage.rows?.length ? html`<div class="rows"><${Blocks} nodes=${passage.rows} /></div>` : html`<p class="text">
      ${passage.segments ? html`<${Marked} segments=${begun(passage.segments)} />` : passage.read}</p>`}
    ${passage.also_in?.length > 0 && html`<p class="small">Also in <bdi>${passage.also_in.join(", ")}</bdi></p>`}
  </li>`;
}

// Text in segments, {text, mark}.
export const Marked = ({ segments }) => segments.map(({ text, mark }) => (mark ? html`<mark>${text}</mark>` : text));

// From shortly before the first mark on, for a list shows no more than some lines of each.
function begun([first, ...others]) {
  if (first.mark || !others.length || first.text.length < LEAD * 2) return [first, ...others];
  return [{ text: `… ${first.text.slice(-LEAD).replace(/^\S*\s/, "")}` }, ...others];
}

const LEAD = 80;

const SCORES = [
  ["score", "how well a passage fits in all; it orders the passages of one search"],
  ["dense", "how near its meaning is to the question, whatever the words; at most 1"],
  ["sparse", "how many words of the question it has, rare ones counting most; 1 is about all"],
];

const number = (value) => value.toFixed(value < 0.1 ? 4 : 2);

const scoresOf = (passage) =>
  joined(SCORES.map(([name]) => passage[name] != null && `${name} ${number(passage[name])}`));
