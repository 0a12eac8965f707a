// The question box, and beside it where the question is looked for.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { Icon } from "./icon.js";

const WEB = { off: "not asked", ask: "asks first" };

export function Composer({ choices, settings, onSettings, underWay, elsewhere, onAsk, onStop, follow }) {
  const [question, setQuestion] = useState("");
  const [open, setOpen] = useState(false);
  const box = useRef(null);
  useEffect(() => {
    const focus = () => box.current.focus({ preventScroll: true });
    focus();
    const key = (event) => {
      const typing = event.target.closest("input, textarea, select, dialog");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        focus();
      }
    };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  }, []);
  useLayoutEffect(() => grow(box.current), [question]);
  const submit = (event) => {
    event?.preventDefault();
    if (!question.trim() || underWay) return;
    onAsk(question.trim());
    setQuestion("");
    box.current.focus({ preventScroll: true });
  };
  const onKeyDown = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && submit(event);
  return html`<div class="composer"><form onSubmit=${submit}>
    <textarea ref=${box} rows="1" dir="auto" maxlength="10000" aria-label="Question" value=${question}
      placeholder=${follow ? "Ask a follow-up" : "Ask your files"} onInput=${(event) => setQuestion(event.target.value)} onKeyDown=${onKeyDown}></textarea>
    <div class="row">
      <button type="button" class="button quiet small only-narrow" aria-expanded=${open} aria-controls="choices" onClick=${() => setOpen(!open)}><${Icon} name="settings" />Where to look</button>
      <div id="choices" class=${open ? "choices open" : "choices"}><${Choices} choices=${choices} settings=${settings} onSettings=${onSettings} /></div>
      ${underWay
        ? html`<button type="button" class="button send" onClick=${onStop}><${Icon} name="stop" />${elsewhere ? "Stop the other question" : "Stop"}</button>`
        : html`<button class="button primary send" disabled=${!question.trim()}><${Icon} name="send" />Ask</button>`}
    </div>
  </form></div>`;
}

// For browsers without `field-sizing`: as high as its text.
function grow(area) {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

function Choices({ choices, settings, onSettings }) {
  if (!choices) return null;
  const set = (name) => (event) => onSettings({ ...settings, [name]: event.target.value });
  const select = (name, label, values, text = (value) => value) => values.length > 1 && html`
    <label class="choice">${label}<select value=${settings[name]} onChange=${set(name)}>
      ${values.map((value) => html`<option key=${value} value=${value}>${text(value)}</option>`)}</select></label>`;
  const { defaults } = choices;
  const graphs = choices.graphs.map(({ name }) => name);
  const indexes = [...new Set([oneIndex(defaults), ...choices.indexes])];
  const models = ["", ...new Set(["extractive", ...choices.models])];
  const usual = defaults.engine === "auto" ? "automatic" : defaults.model || defaults.engine;
  return html`
    ${select("index", "Index", indexes, (value) => value || defaults.index.join(" + "))}
    <label class="choice">Files<input value=${settings.within} placeholder="all" dir="auto" onInput=${set("within")}
      title="A pattern of file names, such as *.pdf or contracts/**; several with commas" /></label>
    ${select("graph", "Graph", graphs)}
    ${select("model", "Model", models, (value) => value || usual)}
    ${select("web", "Web", choices.web, (value) => WEB[value])}`;
}

// The index that is asked by default, empty where several are asked as one.
const oneIndex = ({ index }) => (index.length === 1 ? index[0] : "");

export const usualSettings = (defaults) => ({ index: oneIndex(defaults), within: "", graph: defaults.graph, model: "", web: defaults.web });

// What a request says of the settings: what is as usual is left to the configuration.
export function asked({ index, within, graph, model, web }, defaults) {
  const globs = within.split(",").map((glob) => glob.trim()).filter(Boolean);
  return {
    ...(index && index !== oneIndex(defaults) ? { index } : {}),
    ...(globs.length ? { within: globs } : {}),
    ...(graph === defaults.graph ? {} : { graph }),
    ...(model === "extractive" ? { engine: model } : model ? { engine: "ollama", model } : {}),
    ...(web === defaults.web ? {} : { web: web !== "off" }),
  };
}
