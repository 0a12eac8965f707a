// Before the first question: what is asked, who writes the answers, and questions that can be tried.
import { path } from "../api.js";
import { html, useEffect } from "../html.js";
import { job } from "../indexing.js";
import { Begin, Progress } from "./begin.js";
import { useReply } from "./reply.js";
import { loadChoices, useChoices } from "./settings.js";
import { Unfinished } from "./unfinished.js";

export function Welcome({ settings, onIndex, onAsk }) {
  const { running } = job.use();
  const query = { index: settings.index };
  const [{ value: about }] = useReply(path("index", query), running);
  const [{ value: suggested }] = useReply(about?.exists && path("index", "suggestions", query), running);
  useEffect(() => void loadChoices(), [running]);
  return html`<div class="welcome"><p class="question">What do you want to know?</p>
    <p class="muted">The answer comes from your files, with a quote for every statement, or says that they do not say.
      Nothing leaves this machine unasked.</p>
    ${about?.about && html`<p class="small lines">${about.about}</p>`}
    ${about && !about.exists && html`<${Begin} allowed=${about.allowed} index=${settings.index} onIndex=${onIndex} />`}
    ${about?.exists && html`<${Progress} />`}
    <${Unfinished} />
    ${suggested?.questions.length > 0 && html`<section class="stack-tight"><h2 class="small">For instance</h2>
      <ul class="stack-tight">${suggested.questions.map((question) => html`<li>
        <button class="suggested" onClick=${() => onAsk(question)}><bdi>${question}</bdi></button>
      </li>`)}</ul></section>`}
    <${Writer} model=${settings.model} /></div>`;
}

// Who writes the answers; where nobody does, how a model would.
function Writer({ model }) {
  const choices = useChoices();
  if (!choices) return null;
  const writer = model === "extractive" ? "" : model || choices.writer;
  if (writer) return html`<p class="small"><bdi>${writer}</bdi> writes the answers, on this machine.</p>`;
  return html`<div class="small">
    <p>No language model writes the answers: they are quotes from your files. Read each before you rely on it.</p>
    ${choices.writer === "" && html`<details><summary>With Ollama a model writes the answer: how</summary>
      <p>Install Ollama from ollama.com and start it. Then <a href="#/doctor">choose a model</a>, which Ollama fetches.
      </p></details>`}</div>`;
}
