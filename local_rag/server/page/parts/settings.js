// What a question and a search can set. What is not as usual stands beside the button; a click puts it back.
// `settings` has only what a person changed; the rest is as the configuration says.
import { get } from "../api.js";
import { html, shared, useEffect, useRef, useState } from "../html.js";
import { Icon } from "./icon.js";

const choices = shared(null);

// What a person chose stays for the next question.
export const chosen = shared({});

export const loadChoices = () => get("choices").then(choices.set, () => {});

// What the server offers, and its defaults; null until it is known.
export function useChoices() {
  useEffect(() => void loadChoices(), []);
  return choices.use();
}

const WEB = { off: "not asked", ask: "asks first" };
const MODES = { hybrid: "meaning and words", dense: "meaning", words: "words" };

// The index that is asked by default, empty where several are asked as one.
const oneIndex = ({ index }) => (index.length === 1 ? index[0] : "");

function nameOfModel(value, { engine, model }) {
  if (value === "extractive") return "none: quotes alone";
  return value || (engine === "auto" ? "automatic" : model || engine);
}

// name: label, and either the attributes of an input, or the values of a choice, the usual one, and how each is called.
const FIELDS = {
  index: ({ indexes, defaults }) => ({
    label: "Index",
    usual: oneIndex(defaults),
    values: [...new Set([oneIndex(defaults), ...indexes])],
    text: (value) => value || defaults.index.join(" + "),
  }),
  k: ({ defaults }) => ({
    label: "Passages to read",
    about: () => "A passage is a stretch of a file; to read more of them takes longer.",
    input: { type: "number", min: 1, max: 100, placeholder: defaults.k },
  }),
  mode: () => ({ label: "Search by", usual: "hybrid", values: Object.keys(MODES), text: (value) => MODES[value] }),
  graph: ({ graphs, defaults }) => ({
    label: "Graph",
    usual: defaults.graph,
    values: Object.keys(graphs),
    about: (value) => `The graph is the way to an answer. ${graphs[value]}`,
  }),
  model: ({ models, defaults }) => ({
    label: "Model",
    usual: "",
    values: ["", ...new Set(["extractive", ...models])],
    text: (value) => nameOfModel(value, defaults),
  }),
  web: ({ web, defaults }) => ({ label: "Web", usual: defaults.web, values: web, text: (value) => WEB[value] }),
};
// A condition that is a date; the others are texts, several with commas.
const DATES = {
  after: ({ before }) => ({ type: "date", max: before }),
  before: ({ after }) => ({ type: "date", min: after }),
};

export function Settings({ names, settings, onChange }) {
  const known = useChoices();
  const [open, setOpen] = useState(false);
  const button = useRef(null);
  if (!known) return null;
  const condition = ({ example, ...of }) => ({ ...of, input: DATES[of.name]?.(settings) ?? { placeholder: example } });
  const fields = names
    .flatMap((name) => (name === "conditions" ? known.conditions.map(condition) : { name, ...FIELDS[name](known) }))
    .map((field) => ({ text: (value) => value, ...field }))
    .filter(({ values }) => !values || values.length > 1);
  const set = (name, value, usual = "") => {
    const { [name]: _, ...others } = settings;
    onChange(value === usual ? others : { ...others, [name]: value });
  };
  const putBack = (change) => () => {
    change();
    button.current.focus();
  };
  const changed = fields.filter(({ name }) => name in settings);
  return html`
    <button ref=${button} type="button" class="quiet small" aria-expanded=${open}
      onClick=${() => setOpen(!open)}><${Icon} name="settings" />Settings</button>
    ${changed.map(({ name, label, text }) => html`<button key=${name} type="button" class="small changed"
      title="Put back to what is usual" onClick=${putBack(() => set(name, ""))}>
      <span>${label}: <bdi>${text(settings[name])}</bdi></span><${Icon} name="close" /></button>`)}
    ${changed.length > 1 && html`<button type="button" class="quiet small"
      onClick=${putBack(() => onChange({}))}>All as usual</button>`}
    ${open && html`<div class="settings">
      ${fields.map((field) => html`
        <${Field} key=${field.name} ...${field} value=${settings[field.name]} onChange=${set} />`)}
      ${fields.map(({ name, about, usual }) => about && html`
        <p class="small">${about(settings[name] ?? usual)}</p>`)}</div>`}`;
}

function Field({ name, label, usual, values, text, input, value = usual ?? "", onChange }) {
  const change = (event) => onChange(name, event.target.value, usual);
  return html`<label class="field">${label}${values
    ? html`<select value=${value} onChange=${change}>
        ${values.map((each) => html`<option value=${each}>${text(each)}</option>`)}</select>`
    : html`<input value=${value} ...${input} onInput=${change} />`}</label>`;
}

// What a request says of settings.
export function requested({ k, model, web, files, ...others }) {
  return {
    ...others,
    ...(files?.length && { files: files.map(({ file_id }) => file_id) }),
    ...(k && { k: Number(k) }),
    ...(model && (model === "extractive" ? { engine: model } : { engine: "ollama", model })),
    ...(web && { web: web !== "off" }),
  };
}
