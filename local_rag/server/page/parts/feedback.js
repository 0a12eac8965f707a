// A thumb and a note on an answer, kept as a case for evaluations.
import { get, path, post } from "../api.js";
import { bound, html, say, shared, useEffect, useState } from "../html.js";
import { Form } from "./dialog.js";
import { Icon } from "./icon.js";
import { Problem } from "./problem.js";

const judged = shared({}); // the judgements by their runs, asked for once however many answers are shown
let loaded;

function load() {
  loaded ||= get("feedback").then(
    ({ feedback }) => judged.set(Object.fromEntries(feedback.map((each) => [each.run, each]))),
    (error) => {
      loaded = null;
      throw error;
    },
  );
  return loaded;
}

export default function Feedback({ run }) {
  const given = judged.use()[run];
  const [open, setOpen] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => {
    load().catch(() => {});
  }, []);
  const keep = async (body) => {
    const kept = body ? await post("feedback", { run, ...body }) : null;
    if (!body) await post(path("feedback", run, "delete"));
    judged.set({ ...judged.value, [run]: kept });
    setError(null);
    say(kept ? "Your judgement is kept" : "Your judgement is taken back");
  };
  const judge = async (good) => {
    await load();
    const before = judged.value[run];
    const back = before?.good === good;
    await keep(back ? null : { good, note: before?.note || "" });
    setOpen(!good && !back);
  };
  const thumb = (good, label) => html`<button class="quiet small" aria-pressed=${given?.good === good}
    aria-label=${label} title=${label} onClick=${() => judge(good).catch(setError)}>
    <${Icon} name=${good ? "good" : "bad"} /></button>`;
  const noteLabel = given?.note ? "Change the note" : "Add a note";
  return html`${thumb(true, "Good answer")}${thumb(false, "Bad answer")}
    ${given && html`<button class="quiet small" onClick=${() => setOpen(true)}>${noteLabel}</button>`}
    <${Problem} error=${error} />
    ${open && html`<${Note} given=${given} onClose=${() => setOpen(false)} keep=${keep} />`}`;
}

function Note({ given, keep, onClose }) {
  const [note, setNote] = useState(given.note);
  const [expected, setExpected] = useState(given.expected);
  const [unanswerable, setUnanswerable] = useState(given.unanswerable);
  const send = () => keep({ good: given.good, note, expected: unanswerable ? "" : expected, unanswerable });
  const title = given.good ? "What is good about it?" : "What would have been right?";
  return html`<${Form} title=${title} send=${send} onClose=${onClose}>
    <label class="field">What a right answer says, in a few words (optional)
      <input maxlength="2000" disabled=${unanswerable} ...${bound(expected, setExpected)} /></label>
    ${!given.good && html`<label class="row"><input type="checkbox" checked=${unanswerable}
      onChange=${(event) => setUnanswerable(event.target.checked)} /> My files do not answer this question</label>`}
    <label class="field">Note<textarea rows="2" maxlength="2000" ...${bound(note, setNote)}></textarea></label>
    <p class="small">It stays on this machine, and becomes a case for your next evaluation.</p><//>`;
}
