// Search without an answer: the passages that fit, and the document beside them.
import { post } from "/page/api.js";
import { html, useEffect, useRef, useState } from "/page/html.js";
import { IndexChoice } from "/page/parts/index_choice.js";
import { lazy } from "/page/parts/lazy.js";
import { Passages } from "/page/parts/passages.js";
import { Problem } from "/page/parts/problem.js";
import { useQuotes } from "/page/parts/quotes.js";
import { say } from "/page/parts/say.js";
import { replace } from "/page/router.js";

const DocumentPane = lazy("/page/parts/document_pane.js");
const MODES = { hybrid: "meaning and words", dense: "meaning", words: "words" };
const MOST = 50;

export default function Search({ route }) {
  const { q = "", mode = "hybrid", within = "", index = "" } = route.query;
  const [form, setForm] = useState({ q, mode, within, index });
  const [{ passages, notes = [], error, busy, k }, setState] = useState({});
  const quotes = useQuotes();
  const going = useRef(null);
  const box = useRef(null);
  const search = (change = {}, k = 10) => {
    const next = { ...form, ...change };
    const { q: query, mode, within, index } = next;
    setForm(next);
    quotes.close();
    going.current?.abort();
    if (!query.trim()) return setState({});
    replace("search", [], next);
    const { signal } = (going.current = new AbortController());
    const globs = within.split(",").map((glob) => glob.trim()).filter(Boolean);
    setState({ passages, busy: true });
    post("search", { query, mode, k, within: globs, index: index || null }, signal).then(
      (found) => (setState({ ...found, k }), say(`${found.passages.length} passages`)),
      (error) => signal.aborted || setState({ error }),
    );
  };
  useEffect(() => {
    box.current.focus();
    search();
    return () => going.current?.abort();
  }, []);
  const type = (name) => (event) => setForm({ ...form, [name]: event.target.value });
  return html`<div class=${quotes.active ? "ask beside" : "ask"}><div class="conversation"><div class="page">
    <h1>Search</h1>
    <form class="stack" role="search" onSubmit=${(event) => (event.preventDefault(), search())}>
      <div class="row"><input class="fill" type="search" aria-label="Search your files" placeholder='Words or a question; "exact phrase" -word' ref=${box} value=${form.q} maxlength="4000" onInput=${type("q")} />
        <button class="button primary">Search</button></div>
      <div class="row"><label class="choice">by <select value=${form.mode} onChange=${(event) => search({ mode: event.target.value })}>${Object.entries(MODES).map(([mode, label]) => html`<option value=${mode}>${label}</option>`)}</select></label>
        <${IndexChoice} value=${form.index} onChange=${(index) => search({ index })} />
        <label class="choice">only in <input value=${form.within} placeholder="all files, or *.pdf" onInput=${type("within")} /></label></div>
    </form>
    ${error && html`<${Problem} error=${error} retry=${() => search()} />`}
    ${notes.map((note) => html`<p class="muted small">${note}</p>`)}
    ${passages?.length ? html`<${Passages} passages=${passages} onOpen=${(passage, opener) => quotes.open(passages, passage, opener)} />`
      : !error && html`<p class="empty">${busy ? "Searching…" : passages ? "Nothing in these files matches." : "The passages of your files that fit best, without an answer."}</p>`}
    ${passages?.length >= k && k < MOST && html`<p><button class="button" onClick=${() => search({}, MOST)}>More passages</button></p>`}
  </div></div>
  ${quotes.active && html`<aside class="doc" ref=${quotes.pane} tabindex="-1" aria-label="Document">
    <${DocumentPane} citation=${quotes.active} position=${quotes.position} onClose=${quotes.close} onPrevious=${quotes.previous} onNext=${quotes.next} /></aside>`}</div>`;
}
