// A question with its answer: status in words, text with marks, quotes, and how it came about.
import { path } from "../api.js";
import { html, memo, useState } from "../html.js";
import { Blocks } from "./blocks.js";
import { How } from "./how.js";
import { Icon } from "./icon.js";
import { lazy } from "./lazy.js";
import { placeOf } from "./passages.js";
import { CopyButton } from "./problem.js";
import { beginning, Question } from "./question.js";
import { Restricted } from "./settings.js";
import { FileLink } from "./signed.js";

const Feedback = lazy("/page/parts/feedback.js");

const isSame = (one) => (other) => one.number === other.number && one.start === other.start;

// Every quote of an answer in the order of the page: those of sides are among its own, or follow them.
export function quotesOf({ blocks }) {
  const own = blocks.flatMap(({ sources = [] }) => sources);
  const ofSides = blocks.flatMap(({ sides = [] }) => sides.flatMap(({ sources }) => sources));
  return [...own, ...ofSides.filter((quote) => !own.some(isSame(quote)))];
}

// `active` is the quote that is open beside the answer, if it is of this turn; `onOpen(answer, quote, opener)` opens
// one.
export const Turn = memo(function Turn({ answer, active, onOpen }) {
  const quotes = quotesOf(answer);
  const open = (quote, opener) => onOpen(answer, quotes.find(isSame(quote)), opener);
  const cite = (number, opener) => {
    const quote = quotes.find((citation) => citation.number === number);
    if (quote) open(quote, opener);
  };
  return html`<article class="turn" aria-label=${beginning(answer.question)}>
    <${Question} text=${answer.question} />
    <${Restricted} scope=${answer.scope} />
    ${answer.blocks.map((block) => html`<${PARTS[block.kind]} ...${block}
      lang=${answer.language} active=${active} open=${open} cite=${cite} />`)}
    <${Actions} answer=${answer} />
  </article>`;
});

function Note({ name, text, reason, tone, lang }) {
  if (name !== "status") return html`<p class="small">${text}</p>`;
  return html`<p class="status" lang=${lang}>
    <span class=${`badge ${tone}`}><${Icon} name=${tone === "quiet" ? "check" : "caution"} /><bdi>${text}</bdi></span>
    <span>${reason}</span></p>`;
}

const Part = ({ nodes, lang, cite, active }) => html`<div class="answer" lang=${lang}>
  <${Blocks} nodes=${nodes} onCite=${cite} active=${active?.number} /></div>`;

function Sources({ kind, title = "Quotes", sources: quotes, active, open }) {
  const numbered = kind === "quotes";
  const cards = numbered ? [...new Set(quotes.map(({ number }) => number))] : quotes;
  const ofCard = (card) => (numbered ? quotes.filter(({ number }) => number === card) : [card]);
  return html`<section class="stack-tight"><h3 class="small">${title}</h3>
    <ol class="stack-tight">${cards.map((card) => html`<li>
      <${Source} quotes=${ofCard(card)} active=${active} open=${open} numbered=${numbered} /></li>`)}</ol></section>`;
}

// A passage with what is quoted of it; a click opens the quote that it meets, else the first.
function Source({ quotes, active, open, numbered }) {
  const [quote] = quotes;
  const how = quote.verified ? `· ${quote.how}` : quote.how;
  const onClick = ({ target, currentTarget }) =>
    open(quotes[target.closest("[data-at]")?.dataset.at || 0], currentTarget);
  return html`<button class="source" aria-pressed=${quotes.includes(active)} onClick=${onClick}>
    <span class="number">${numbered ? quote.number : "·"}</span>
    <span class="small"><bdi>${placeOf(quote)}</bdi>${quote.about && html` · <bdi>${quote.about}</bdi>`}
      ${numbered && html` <span class=${quote.verified ? "" : "badge warn"}>${how}</span>`}</span>
    ${quotes.map(({ read }, at) => html`<span class="quote" data-at=${at}>${read}</span>`)}</button>`;
}

function Conflict({ title, sides, active, open }) {
  return html`<section class="card conflict stack-tight"><h3>${title}</h3>
    <ul class="stack-tight">${sides.map((side) => html`<li>
      <span class="row">${side.sources.map((quote, at) => html`
        <button key=${at} class="quiet small" aria-pressed=${Boolean(active) && isSame(quote)(active)}
          title=${placeOf(quote)} onClick=${(event) => open(quote, event.currentTarget)}>
          <span>[${quote.number}] <bdi>${quote.title || placeOf(quote)}</bdi></span></button>`)}${" "}
        <span class="small">${side.when}</span></span>${" "}
      <strong>${side.text}</strong></li>`)}</ul></section>`;
}

const PARTS = {
  note: Note, paragraph: Part, list: Part, rows: Part, sides: Part,
  disagreement: Conflict, quotes: Sources, nearest: Sources,
};

function Actions({ answer }) {
  const [how, setHow] = useState(false);
  const { thread, turn } = answer;
  const save = (format, label) => thread && turn && html`<${FileLink} class="button quiet small" download
    path=${path("thread", "export", { thread, turn, format })}>${label}<//>`;
  const copied = [answer.text, ...answer.citations.map((quote) => `[${quote.number}] ${placeOf(quote)}`)].join("\n");
  return html`<div class="actions">
      <${CopyButton} text=${copied} />
      ${save("md", "Markdown")}${save("html", "HTML with its quotes")}
      ${answer.run && html`<${Feedback} run=${answer.run} />`}
      <span class="fill"></span>
      <button class="quiet small" aria-expanded=${how}
        onClick=${() => setHow(!how)}>${how ? "Hide how it came about" : "How it came about"}</button>
    </div>
    ${how && html`<${How} graph=${answer.graph} engine=${answer.engine} path=${answer.path} ended
      verdicts=${answer.decisions} retrieved=${answer.retrieved || []}
      seconds=${answer.seconds} run=${answer.run} />`}`;
}
