// What a question and a search can set. What is not as usual stands beside the button; a click puts it back.
// `settings` has only what a person changed; the rest is as the configuration says.
import { get } from "../api.js";
import { html, shared, useEffect, useRef, useState } from "../html.js";
import { keep, kept } from "../kept.js";
import { go } from "../router.js";
import { Icon } from "./icon.js";
import { joined, many } from "./texts.js";

const choices = shared(null);

// By chat what a person chose for it in this tab and has not asked yet; "" is the chat that is new.
const chosen = shared(JSON.parse(kept("chosen", "sessionStorage") || "{}"));

export function choose(chat, settings) {
  chosen.set({ ...chosen.value, [chat]: settings });
  keep("chosen", JSON.stringify(chosen.value), "sessionStorage");
}

// The chat that was new has a name.
export function named(chat) {
  choose(chat, chosen.value[""]);
  choose("", undefined);
}

// [settings, gone] of a chat whose last question was asked of `scope`; where its index is gone, `gone` is its name, and
// the settings are those of the default index.
export function useSettings(chat, scope) {
  const { index, files, ...others } = chosen.use()[chat] ?? settingsOf(scope);
  const known = choices.use();
  const isGone = index && known && !known.indexes.includes(index);
  return isGone ? [others, index] : [{ ...others, ...(index && { index }), ...(files && { files }) }, ""];
}

const settingsOf = ({ engine, model, web, ...others }) => ({
  ...others,
  ...((model || engine === "extractive") && { model: model || engine }),
  ...(web !== undefined && { web: web ? "ask" : "off" }),
});

// What the next question is asked of, in words.
export function Asking({ settings: { index, files }, gone }) {
  const known = choices.use();
  const { label, files: count } = known?.named[index || oneIndex(known.defaults)] || {};
  if (!label && !files?.length) return null;
  const whole = html`<bdi>${label}</bdi>, ${many(count || 0, "file")}`;
  const some = files?.length === 1 ? files[0].label : `${files?.length} files`;
  return html`<p class="small asking" role=${gone && "alert"}>
    ${gone && html`The index <bdi>${gone}</bdi> is not there any more, so this chat asks the default one.${" "}`}
    Asking: ${files?.length ? html`<bdi>${some}</bdi> alone` : whole}</p>`;
}

// What an answer was restricted to; nothing where it was not.
export function Restricted({ scope: { index, files = [], ...others } = {} }) {
  const conditions = choices.use()?.conditions.filter(({ name }) => others[name]) || [];
  const parts = [
    index, ...files.map(({ label }) => label), ...conditions.map(({ name, label }) => `${label}: ${others[name]}`),
  ];
  return parts.some(Boolean) && html`<p class="small">Asked of <bdi>${joined(parts)}</bdi></p>`;
}

export const loadChoices = () => get("choices").then(choices.set, () => {});

// What the server offers, and its defaults; null until it is known.
export function useChoices() {
  useEffect(() => void loadChoices(), []);
  return choices.use();
}

// Which index a view is about, where there are several.
export function IndexChoice({ view, value }) {
  const { indexes = [], defaults } = useChoices() || {};
  if (indexes.length < 2) return null;
  return html`<select aria-label="Index" value=${value || defaults.index[0]}
    onChange=${(event) => go(view, [], { index: event.target.value })}>
    ${indexes.map((name) => html`<option value=${name}>${name}</option>`)}</select>`;
}

const WEB = { off: "not asked", ask: "asks first" };
export const GRAPHS = {
  plain: "quick", crag: "checks passages", "self-rag": "checks all", adaptive: "as the question needs",
};
const MODES = { hybrid: "meaning and words", dense: "meaning", words: "words" };

// The index that is asked by default, empty where several are asked as one.
const oneIndex = ({ index }) => (index.length === 1 ? index[0] : "");

function nameOfModel(value, { engine, model }) {
  if (value === "extractive") return "quotes only";
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
    label: "Thoroughness",
    usual: defaults.graph,
    values: Object.keys(graphs),
    text: (value) => GRAPHS[value] || value,
    about: (value) => graphs[value],
  }),
  model: ({ models, defaults }) => ({
    label: "Answers",
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
