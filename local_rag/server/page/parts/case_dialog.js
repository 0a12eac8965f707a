// A run becomes a case for evaluations, once a person says what is right.
import { path, post } from "../api.js";
import { bound, html, say, useState } from "../html.js";
import { Form } from "./dialog.js";
import { beginning } from "./question.js";
import { many } from "./texts.js";

export const CaseFile = ({ name, onName }) => html`
  <label class="field">Case file<input required maxlength="80" ...${bound(name, onName)} /></label>`;

export function CaseDialog({ run, onClose }) {
  const silent = run.status === "abstained";
  const [cases, setCases] = useState("my cases");
  const [right, setRight] = useState(silent || run.status === "grounded" ? "run" : "answer");
  const [answer, setAnswer] = useState("");
  const send = async () => {
    const made = await post(path("runs", run.id, "case"), {
      cases,
      right: right === "run",
      answers: right === "answer" ? [answer] : [],
      unanswerable: right === "nothing",
    });
    say(`Kept: ${made.cases} has ${many(made.total, "case")} now`);
  };
  const choice = (value, label) => html`<label class="row">
    <input type="radio" name="right" checked=${right === value} onChange=${() => setRight(value)} /> ${label}</label>`;
  return html`<${Form} title="A case for evaluations" send=${send} onClose=${onClose}>
    <p><strong>${beginning(run.question)}</strong></p>
    <fieldset class="stack-tight"><legend class="small">What is right?</legend>
      ${choice("run", silent ? "It was right not to answer" : "This answer, where its quotes stand")}
      ${choice("answer", "Another answer")}
      ${right === "answer" && html`<label class="field">What it says, in a few words
        <input required maxlength="2000" ...${bound(answer, setAnswer)} /></label>`}
      ${choice("nothing", "My files do not answer it")}</fieldset>
    <${CaseFile} name=${cases} onName=${setCases} /><//>`;
}
