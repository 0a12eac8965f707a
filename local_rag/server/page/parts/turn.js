// A question with its answer: status in words, text with marks, quotes, and how it came about.
import { path } from "../api.js";
import { html, memo, useState } from "../html.js";
import { Blocks } from "./blocks.js";
import { How } from "./how.js";
import { Icon } from "./icon.js";
import { lazy } from "./lazy.js";
import { Marked, placeOf } from "./passages.js";
import { CopyButton } from "./problem.js";
import { beginning, Question } from "./question.js";
import { Restricted } from "./settings.js";
import { FileLink } from "./signed.js";
import { joined } from "./texts.js";

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
export const Turn = memo(function Turn({ answer, active, onOpen, onEdit }) {
  const quotes = quotesOf(answer);
  const open = (quote, opener) => onOpen(answer, quotes.find(isSame(quote)), opener);
  const quoteOf = ({ n, quote }) => answer.citations[quote] || quotes.find(({ number }) => number === n);
  const cite = (mark, opener) => quoteOf(mark) && open(quoteOf(mark), opener);
  const isOpen = (mark) => Boolean(active && quoteOf(mark)) && isSame(active)(quoteOf(mark));
  const nearest = answer.blocks.filter(({ kind }) => kind === "nearest");
  const blocks = [...nearest, ...answer.blocks.filter(({ kind }) => kind !== "nearest")]; // a refusal begins with them
  return html`<article class="turn" aria-label=${beginning(answer.question)}>
    <${Question} text=${answer.question} />
    <${Restricted} scope=${answer.scope} />
    ${blocks.map((block) => html`<${PARTS[block.kind]} ...${block}
      lang=${answer.language} active=${active} open=${open} cite=${cite} isOpen=${isOpen}
      disagree=${answer.conflicts.length > 0} />`)}
    <${Actions} answer=${answer} onEdit=${onEdit} />
  </article>`;
});

// How sure an answer is, in words; the reason, with its figures, on a click, unless it is that files disagree.
function Note({ name, text, reason, tone, advice, lang, disagree }) {
  if (name !== "status") return html`<p class="small">${text}</p>`;
  return html`<div class="stack-tight" lang=${lang}><p class="status">
      <span class=${`badge ${tone}`}>${tone !== "quiet" && html`<${Icon} name="caution" />`}
        <bdi>${advice || text}</bdi></span></p>
    ${reason && html`<details class="small" open=${disagree}><summary>Why</summary>
      <p><bdi>${joined([advice && text, reason], ": ")}</bdi></p></details>`}</div>`;
}

const Part = ({ nodes, lang, cite, isOpen }) => html`<div class="answer" lang=${lang}>
  <${Blocks} nodes=${nodes} onCite=${cite} isOpen=${isOpen} /></div>`;

// The quotes of each passage, or what came closest: the first passage, and the others on a click.
function Sources({ kind, title = "Quotes", sources: quotes, tables = {}, ...rest }) {
  const numbered = kind !== "nearest";
  const cards = (list) => html`<ol class="stack-tight">${list.map((card) => html`<li>
    <${Source} quotes=${card} table=${tables[card[0].number]} numbered=${numbered} ...${rest} /></li>`)}</ol>`;
  if (numbered) {
    const numbers = [...new Set(quotes.map(({ number }) => number))];
    return html`<section class="stack-tight"><h3 class="small">${title}</h3>
      ${cards(numbers.map((each) => quotes.filter(({ number }) => number === each)))}</section>`;
  }
  const [first, ...others] = quotes.map((quote) => [quote]);
  return html`<section class="stack-tight"><h3 class="small">${title}</h3>${cards([first])}
    ${others.length > 0 && html`<details class="small"><summary>${others.length} further</summary>
      ${cards(others)}</details>`}</section>`;
}

// A passage with what is quoted of it; a click opens the quote that it meets, else the first.
function Source({ quotes, table, active, open, numbered }) {
  const [quote] = quotes;
  const onClick = ({ target, currentTarget }) =>
    open(quotes[target.closest("[data-at]")?.dataset.at || 0], currentTarget);
  const said = quotes.map(({ read, segments = [{ text: read }] }, at) => html`
    <span class="quote" data-at=${at}><${Marked} segments=${segments} /></span>`);
  return html`<button class="source" aria-pressed=${quotes.includes(active)} onClick=${onClick}>
    <span class="number">${numbered ? quote.number : "·"}</span>
    <span class="small"><bdi>${placeOf(quote)}</bdi>${quote.about && html` · <bdi>${quote.about}</bdi>`}
      ${numbered ? html` <${Standing} quote=${quote} />` : quote.why && html` · <bdi>${quote.why}</bdi>`}</span>
    ${!table && said}</button>
    ${table && html`<div class="rows"><${Blocks} nodes=${table} /></div>`}`;
}

// Where a quote is from; a tick says only that it stands word for word in the file.
function Standing({ quote: { stands, verified, how } }) {
  if (stands) return html`<span class="stands"><${Icon} name="check" />${stands}</span>`;
  return verified ? html`<span>· ${how}</span>` : html`<span class="badge warn">${how}</span>`;
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

const AROUND = "Holds each quote with about 600 characters of its file before and after it";

function Actions({ answer, onEdit }) {
  const [how, setHow] = useState(false);
  const { thread, turn } = answer;
  const save = (format, label, title) => thread && turn && html`<${FileLink} class="button quiet small" download
    title=${title} path=${path("thread", "export", { thread, turn, format })}>${label}<//>`;
  const copied = [answer.text, ...answer.citations.map((quote) => `[${quote.number}] ${placeOf(quote)}`)].join("\n");
  return html`<div class="actions">
      <${CopyButton} text=${copied} />
      <button class="quiet small" onClick=${() => onEdit(answer.question)}>Edit the question</button>
      ${save("md", "Markdown")}${save("html", "HTML with its quotes", AROUND)}
      ${answer.run && html`<${Feedback} run=${answer.run} />`}
      <span class="fill"></span>
      <button class="quiet small" aria-expanded=${how}
        onClick=${() => setHow(!how)}>${how ? "Hide how it came about" : "How it came about"}</button>
    </div>
    ${how && html`<${How} graph=${answer.graph} engine=${answer.engine} path=${answer.path} ended
      verdicts=${answer.decisions} retrieved=${answer.retrieved || []}
      seconds=${answer.seconds} run=${answer.run} />`}`;
}
