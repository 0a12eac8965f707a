// A thumb and a note on an answer, kept as a case for evaluations.
import { get, path, post } from "../api.js";
import { bound, html, say, shared, useEffect, useState } from "../html.js";
import { Form } from "./dialog.js";
import { Icon } from "./icon.js";
import { Problem } from "./problem.js";

const judged = shared({}); // the judgements by their runs, asked for once however many answers are shown
let loaded;

const load = () => loaded ||= get("feedback").then(({ feedback }) => judged.set(Object.fromEntries(feedback.map((each) => [each.run, each]))))
  .catch((error) => { loaded = null; throw error; });

export default function Feedback({ run }) {
  const given = judged.use()[run], [open, setOpen] = useState(false), [error, setError] = useState(null);
  useEffect(() => { load().catch(() => {}); }, []);
  const keep = async (body) => {
    const kept = body ? await post("feedback", { run, ...body }) : await post(path("feedback", run, "delete")) && null;
    judged.set({ ...judged.value, [run]: kept });
    setError(null);
    say(kept ? "Your judgement is kept" : "Your judgement is taken back");
  };
  const judge = (good) => () => load().then(async () => {
    const before = judged.value[run], back = before?.good === good;
    await keep(back ? null : { good, note: before?.note || "" });
    setOpen(!good && !back);
  }).catch(setError);
  const thumb = (good, label) => html`<button class="quiet small" aria-pressed=${given?.good === good}
    aria-label=${label} title=${label} onClick=${judge(good)}><${Icon} name=${good ? "good" : "bad"} /></button>`;
  return html`${thumb(true, "Good answer")}${thumb(false, "Bad answer")}
    ${given && html`<button class="quiet small" onClick=${() => setOpen(true)}>${given.note ? "Change the note" : "Add a note"}</button>`}
    <${Problem} error=${error} />
    ${open && html`<${Note} given=${given} onClose=${() => setOpen(false)} keep=${keep} />`}`;
}

function Note({ given, keep, onClose }) {
  const [note, setNote] = useState(given.note), [expected, setExpected] = useState(given.expected), [unanswerable, setUnanswerable] = useState(given.unanswerable);
  const send = () => keep({ good: given.good, note, expected: unanswerable ? "" : expected, unanswerable });
  return html`<${Form} title=${given.good ? "What is good about it?" : "What is wrong with it?"} send=${send} onClose=${onClose}>
    <label class="field">Note<textarea rows="2" maxlength="2000" ...${bound(note, setNote)}></textarea></label>
    <label class="field">What a right answer says, in a few words (optional)
      <input maxlength="2000" disabled=${unanswerable} ...${bound(expected, setExpected)} /></label>
    ${!given.good && html`<label class="row"><input type="checkbox" checked=${unanswerable} onChange=${(event) => setUnanswerable(event.target.checked)} /> My files do not answer this question</label>`}
    <p class="small">It stays on this machine, and becomes a case for your next evaluation.</p><//>`;
}
