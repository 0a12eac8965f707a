// The question box, and beneath it the settings of the question.
import { html, shared, submitted, useEffect, useLayoutEffect, useRef, useState, useWindow } from "../html.js";
import { keep, kept } from "../kept.js";
import { FilePicker } from "./file_picker.js";
import { Icon } from "./icon.js";
import { Asking, Settings } from "./settings.js";

const SETTINGS = ["index", "conditions", "graph", "model", "web", "k"];
const LONGEST = 4000;

// By chat what stands in its box; it stays there in this tab until it is asked.
const drafts = shared(JSON.parse(kept("drafts", "sessionStorage") || "{}"));

export function draft(chat, text) {
  drafts.set({ ...drafts.value, [chat]: text });
  keep("drafts", JSON.stringify(drafts.value), "sessionStorage");
}

// While a question is under way a second one gets in line, once its thread has a name (`waits`: it has none yet).
// What is asked before the settings of its chat are known (`ready`) is sent once they are.
export function Composer({ chat, settings, gone, ready, onSettings, underWay, waits, onAsk, onStop, follow }) {
  const question = drafts.use()[chat] || "";
  const setQuestion = (text) => draft(chat, text);
  const [sent, setSent] = useState(0);
  const box = useRef(null);
  const form = useRef(null);
  const length = [...question.trim()].length;
  const focus = () => box.current.focus({ preventScroll: true });
  useLayoutEffect(focus, []); // before anything can be clicked: the focus is not taken from what a person chose
  useWindow("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    event.preventDefault();
    focus();
  });
  useLayoutEffect(() => grow(box.current), [question]);
  const [early, setEarly] = useState(false);
  const send = () => {
    if (!length || length > LONGEST || (underWay && waits)) return;
    setEarly(!ready);
    if (!ready) return;
    onAsk(question.trim());
    setQuestion("");
    setSent(sent + 1);
    focus();
  };
  useEffect(() => ready && early && send(), [ready]);
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.current.requestSubmit();
  };
  return html`<div class="composer"><${Asking} settings=${settings} gone=${gone} />
    <form ref=${form} onSubmit=${submitted(send)}>
    <textarea ref=${box} rows="1" aria-label="Question" value=${question} onKeyDown=${onKeyDown}
      placeholder=${follow ? "Ask a follow-up" : "Ask your files"}
      onInput=${(event) => (setEarly(false), setQuestion(event.target.value))}></textarea>
    ${length > LONGEST && html`<p class="notice" role="alert">A question has at most ${LONGEST.toLocaleString()}
      ${" "}characters; this one has ${length.toLocaleString()}.</p>`}
    <div class="row">
      <${FilePicker} files=${settings.files || []} index=${settings.index}
        onChange=${(files) => onSettings({ ...settings, files })} />
      <${Settings} key=${sent} names=${SETTINGS} settings=${settings} onChange=${onSettings} />
      ${underWay && html`<button type="button" class="send" onClick=${onStop}><${Icon} name="stop" />Stop</button>`}
      ${(!underWay || (length > 0 && !waits)) && html`<button class="primary send"
        disabled=${!length || length > LONGEST}><${Icon} name="send" />Ask</button>`}
    </div>
  </form></div>`;
}

// For browsers without `field-sizing`: as high as its text.
function grow(area) {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}
