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
import { FileLink } from "./signed.js";

const Feedback = lazy("/page/parts/feedback.js");

// Of what is not grounded, which is said quietly.
const TONES = { grounded: "quiet", ungrounded: "bad" };

// Every quote of an answer in the order of the page.
export function quotesOf(answer) {
  const sides = answer.conflicts.flatMap(({ positions }) => positions.flatMap(({ citations }) => citations));
  const shown = new Set(answer.citations.map((citation) => `${citation.number} ${citation.start}`));
  const others = sides.filter((citation) => !shown.has(`${citation.number} ${citation.start}`));
  return [...[...answer.citations].sort((a, b) => a.number - b.number), ...others, ...answer.nearest];
}

// `active` is the quote that is open beside the answer, if it is of this turn; `onOpen(answer, quote, opener)` opens
// one.
export const Turn = memo(function Turn({ answer, active, onOpen }) {
  const lines = answer.lines || {};
  const quotes = quotesOf(answer);
  const silent = answer.status === "abstained";
  const line = (name) => lines[name] && html`<p class="small">${lines[name]}</p>`;
  const open = (quote, opener) => onOpen(answer, quote, opener);
  const cite = (number, opener) => {
    const quote = quotes.find((citation) => citation.number === number);
    if (quote) open(quote, opener);
  };
  return html`<article class="turn" aria-label=${beginning(answer.question)}>
    <${Question} text=${answer.question} />
    ${line("understood")}
    <${Status} answer=${answer} />
    ${!silent && html`<div class="answer" lang=${answer.language}>
      <${Blocks} nodes=${answer.blocks} onCite=${cite} active=${active?.number} /></div>`}
    ${line("removed")}
    ${answer.conflicts.map((conflict) => html`<${Conflict} conflict=${conflict} active=${active} open=${open} />`)}
    <${Sources} title="Quotes" quotes=${quotes.filter((quote) => answer.citations.includes(quote))}
      active=${active} open=${open} />
    ${line("dropped")}
    ${silent && html`<${Sources} title=${lines.nearest || "Nearest passages"} quotes=${answer.nearest}
      active=${active} open=${open} numbered=${false} />`}
    ${["nothing_near", "about"].map(line)}
    <${Actions} answer=${answer} />
  </article>`;
});

function Status({ answer }) {
  const tone = TONES[answer.status] || "warn";
  const [, lead, reason] = (answer.status_text || answer.status).match(/^([^:]*):? ?([^]*)$/);
  return html`<p class="status" lang=${answer.language}>
    <span class=${`badge ${tone}`}><${Icon} name=${tone === "quiet" ? "check" : "caution"} /><bdi>${lead}</bdi></span>
    <span>${reason}</span></p>`;
}

function Sources({ title, quotes, active, open, numbered = true }) {
  if (!quotes.length) return null;
  const cards = numbered ? [...new Set(quotes.map(({ number }) => number))] : quotes;
  const ofCard = (card) => (numbered ? quotes.filter(({ number }) => number === card) : [card]);
  return html`<section class="stack-tight"><h3 class="small">${title}</h3>
    <ol class="stack-tight">${cards.map((card) => html`<li>
      <${Source} quotes=${ofCard(card)} active=${active} open=${open} numbered=${numbered} /></li>`)}</ol></section>`;
}

// A passage with what is quoted of it; a click opens the quote that it meets, else the first.
function Source({ quotes, active, open, numbered }) {
  const [quote] = quotes;
  const how = quote.verified ? quote.how && `· ${quote.how}` : quote.how || "not verified";
  const onClick = ({ target, currentTarget }) =>
    open(quotes[target.closest("[data-at]")?.dataset.at || 0], currentTarget);
  return html`<button class="source" aria-pressed=${quotes.includes(active)} onClick=${onClick}>
    <span class="number">${numbered ? quote.number : "·"}</span>
    <span class="small"><bdi>${placeOf(quote)}</bdi>${quote.line && html` · <bdi>${quote.line}</bdi>`}
      ${quote.origin === "web" && html` <span class="badge">web</span>`}
      ${numbered && html` <span class=${quote.verified ? "" : "badge warn"}>${how}</span>`}</span>
    ${quotes.map(({ read, quote }, at) => html`<span class="quote" data-at=${at}>${read || quote}</span>`)}</button>`;
}

function Conflict({ conflict, active, open }) {
  return html`<section class="card conflict stack-tight"><h3>${conflict.line}</h3>
    <ul class="stack-tight">${conflict.positions.map((position) => html`<li>
      <span class="row">${position.citations.map((quote, at) => html`
        <button key=${at} class="quiet small" aria-pressed=${quote === active} title=${placeOf(quote)}
          onClick=${(event) => open(quote, event.currentTarget)}>
          <span>[${quote.number}] <bdi>${quote.title || placeOf(quote)}</bdi></span></button>`)}${" "}
        <span class="small">${position.when}</span></span>${" "}
      <strong>${position.text}</strong></li>`)}</ul></section>`;
}

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
