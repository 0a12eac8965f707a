// What routers and graders say, in words; the labels are those of the graphs.
import { html } from "../html.js";
import { capital } from "./texts.js";

const KINDS = {
  relevance: "Relevance",
  web: "Relevance of a web page",
  support: "Support by the passages",
  usefulness: "Answers the question",
  answered: "Answered",
  route: "Where to look",
  complexity: "Steps needed",
  decide_retrieval: "Whether to look",
  transform_query: "Rewritten",
  standalone_question: "Understood as",
  conflict: "Files disagree",
  candidate: "Draft",
  rank_candidates: "Best draft",
  widen_documents: "Neighbours",
  web_search: "Web search",
  document: "Named file",
  refine_documents: "Cut to what matters",
  need: "Whether to look again",
  grade_documents: "The passages together",
  grade_generation: "The draft",
  discard_documents: "Without passages",
};
// What is said otherwise than the graphs name it.
const LABELS = {
  unparsed: "no clear verdict",
  fully: "full",
  partially: "in part",
  vectorstore: "your files",
  web_search: "the web",
  direct: "no search",
  single: "one",
  multi: "several",
  retrieve: "yes",
  transform_query: "reword the question",
  "max retries": "no more tries",
  generate: "write the answer",
  "not useful": "does not answer",
  useful: "answers",
  web: "with the web",
  "no web": "without the web",
  correct: "all are relevant",
  incorrect: "none is relevant",
  ambiguous: "some are relevant",
};
const TONES = {
  relevant: "good", fully: "good", useful: "good", yes: "good",
  partially: "warn", ambiguous: "warn", unparsed: "warn", disagree: "warn",
  irrelevant: "bad", no: "bad", refused: "bad", "not supported": "bad", "not useful": "bad",
};

export const plain = (label) => LABELS[label] || label;

export const toneOf = (verdict) => TONES[verdict] || "";

const kindOf = (kind) => KINDS[kind] || capital(kind.replace(/_/g, " "));

export function Verdict({ verdict, bare = false }) {
  const { kind, verdict: label, why, score, source } = verdict;
  const level = kind === "usefulness" && /^\d+$/.test(label) ? `${label} of 5` : plain(label);
  return html`<span class="verdict">
    ${!bare && html`<span class="muted">${kindOf(kind)}</span>`}
    <span class=${`badge ${toneOf(label)}`}><bdi>${level}</bdi></span>
    ${score != null && html`<span class="muted">${score.toFixed(2)}</span>`}
    ${!bare && source && html`<span class="muted"><bdi>${source.split(/[\\/]/).pop()}</bdi></span>`}
    ${why && html`<span><bdi>${why}</bdi></span>`}
  </span>`;
}
