// The question that is being worked on: stages, drafts, and what asks for a person.
import { consent, isUnderWay } from "../asking.js";
import { html, useLater, useRef, useState } from "../html.js";
import { Written } from "./blocks.js";
import { How } from "./how.js";
import { Problem } from "./problem.js";
import { beginning, Question } from "./question.js";
import { capital, duration, Notes } from "./texts.js";

// Whether the details are open is remembered from question to question.
let detailed = false;

export function LiveTurn({ asking, onOpen, onAgain }) {
  const { question, phase, position, stages, drafts, notes, webQuery } = asking;
  const [open, setOpen] = useState(detailed);
  const working = isUnderWay(asking);
  const toggle = (event) => {
    detailed = event.currentTarget.open;
    setOpen(detailed);
  };
  return html`<article class="turn" aria-label=${beginning(question)} aria-busy=${working}>
    <${Question} text=${question} />
    ${phase === "queued" && html`<p class="status"><span class="badge">Waiting</span>${" "}
      <span>${before(position)}</span></p>`}
    <${Stages} stages=${stages} phase=${phase} />
    <${Notes} lines=${notes} />
    ${webQuery?.asks && html`<${Consent} query=${webQuery} />`}
    ${webQuery && !webQuery.asks && html`<p class="small">
      Asking ${webQuery.engine}: <bdi>${webQuery.query}</bdi></p>`}
    ${drafts.map((draft) => html`<${Draft} draft=${draft} stopped=${!working} />`)}
    ${phase === "stopped" && html`<${Stopped} onAgain=${onAgain} />`}
    <${Problem} error=${asking.error} retry=${onAgain} />
    ${stages.length > 0 && html`<details open=${open} onToggle=${toggle}><summary>How it comes about</summary>
      ${open && html`<${How} graph=${asking.graph} path=${stages.map((stage) => stage.node)}
        running=${working ? runningNode(stages) : null}
        verdicts=${asking.verdicts} retrieved=${asking.retrieved} onOpen=${onOpen} />`}</details>`}
  </article>`;
}

const before = (position) =>
  `${position === 1 ? "One question is" : `${position} questions are`} answered before yours.`;

const runningNode = (stages) => (stages.at(-1)?.seconds === null ? stages.at(-1).node : null);

function Stages({ stages, phase }) {
  const first = { node: "", doing: phase === "queued" ? "" : "begins", seconds: null };
  const shown = stages.length ? stages : [first];
  const working = ["sent", "running"].includes(phase);
  const time = (stage) => {
    if (stage.seconds === null) return working && stage === shown.at(-1) && html`<${Clock} />`;
    return html`<span class="small">${stage.seconds >= 0.05 && duration(stage.seconds)}</span>`;
  };
  return html`<ol class="stages">${shown.filter((stage) => stage.doing).map((stage) => html`
    <li class=${working && stage.seconds === null ? "now" : ""}>
      <span>${capital(stage.doing)}</span>${time(stage)}</li>`)}</ol>`;
}

// Counts the seconds of a stage, so that a slow model does not look like a broken page.
function Clock() {
  const [now, setNow] = useState(Date.now());
  const begun = useRef(now).current;
  const seconds = Math.floor((now - begun) / 1000);
  useLater(1000, () => setNow(Date.now()), [now]);
  return seconds > 1 && html`<span class="small" aria-hidden="true">${seconds} s</span>`;
}

function Draft({ draft, stopped }) {
  const unchecked = stopped ? "Draft, not checked" : "Draft, not checked yet";
  return html`<div>
    <p class="row"><span class="badge">${draft.withdrawn ? "Draft, taken back" : unchecked}</span>
      ${draft.why && html`<span class="small">${draft.why}</span>`}</p>
    <div class=${draft.withdrawn ? "draft withdrawn" : "draft"}><${Written} text=${draft.text} /></div></div>`;
}

function Consent({ query }) {
  return html`<section class="card consent stack" aria-label="Web search">
    <p>These words are about to leave this machine, to <strong>${query.engine}</strong>:</p>
    <p class="words">${query.query}</p>
    <div class="row"><button class="primary" onClick=${() => consent(true)}>Send these words</button>
      <button onClick=${() => consent(false)}>Do not send</button></div>
  </section>`;
}

function Stopped({ state = "stopped", onAgain }) {
  return html`<div class="row"><span class="badge warn">${capital(state)}</span>
    ${state === "cut off" && html`<span>The server ended before there was an answer.</span>`}
    <button class="small" onClick=${onAgain}>Ask again</button></div>`;
}

// A question of before that has no answer, why, and what was written by then.
export function Ended({ turn: { question, state, error, draft }, onAgain }) {
  return html`<article class="turn" aria-label=${beginning(question)}><${Question} text=${question} />
    ${draft && html`<${Draft} draft=${{ text: draft }} stopped />`}
    <${Problem} error=${error} />
    <${Stopped} state=${state} onAgain=${onAgain} /></article>`;
}

// A question that is asked in its turn.
export function Waiting({ question, onStop }) {
  return html`<article class="turn" aria-label=${beginning(question)} aria-busy="true"><${Question} text=${question} />
    <div class="row"><span class="badge">Waiting</span><span>It is asked in its turn.</span>
      <button class="small" onClick=${onStop}>Stop</button></div></article>`;
}
