// Search without an answer: the passages that fit, and the document beside them.
import { html, useEffect, useRef, useState } from "/page/html.js";
import { lazy } from "/page/parts/lazy.js";
import { Passages } from "/page/parts/passages.js";
import { Problem } from "/page/parts/problem.js";
import { useQuotes } from "/page/parts/quotes.js";
import { say } from "/page/parts/say.js";
import { replace } from "/page/router.js";

const DocumentPane = lazy("/page/parts/document_pane.js");
const MODES = { hybrid: "meaning and words", dense: "meaning", words: "words" };
const MOST = 50;

export default function Search({ route, api }) {
  const [form, setForm] = useState({ mode: "hybrid", within: "", k: 10, index: "", ...route.query, query: route.query.q || "" });
  const [state, setState] = useState({});
  const [indexes, setIndexes] = useState([]);
  const quotes = useQuotes();
  const going = useRef(null);
  const box = useRef(null);
  const set = (change) => setForm({ ...form, ...change });

  const search = (next = form) => {
    setForm(next);
    quotes.close();
    going.current?.abort();
    if (!next.query.trim()) return setState({});
    going.current = new AbortController();
    const { query, mode, index } = next;
    const within = next.within.split(",").map((glob) => glob.trim()).filter(Boolean);
    replace("search", [], { q: query, mode: mode === "hybrid" ? "" : mode, within: next.within, index, k: next.k === 10 ? "" : next.k });
    setState({ ...state, busy: true, error: null });
    const signal = going.current.signal;
    api.post("search", { query, mode, within, k: Number(next.k), ...(index && { index }) }, signal).then(
      (found) => {
        setState(found);
        say(found.passages.length ? `${found.passages.length} passages` : "Nothing matches");
      },
      (error) => signal.aborted || setState({ error }),
    );
  };
  useEffect(() => {
    api.get("choices").then(({ indexes }) => setIndexes(indexes), () => {});
    box.current.focus();
    if (form.query) search();
    return () => going.current?.abort();
  }, []);

  const { passages, notes = [], error, busy } = state;
  return html`<div class=${quotes.active ? "ask beside" : "ask"}><div class="conversation"><div class="page">
    <h1>Search</h1>
    <form class="stack" role="search" onSubmit=${(event) => (event.preventDefault(), search())}>
      <div class="row"><input class="fill" type="search" aria-label="Search your files" placeholder='Words or a question; "exact phrase" -word' ref=${box} value=${form.query} maxlength="4000" onInput=${(event) => set({ query: event.target.value })} />
        <button class="button primary">Search</button></div>
      <div class="row">
        <label class="choice">by <select value=${form.mode} onChange=${(event) => search({ ...form, mode: event.target.value })}>${Object.entries(MODES).map(([mode, label]) => html`<option key=${mode} value=${mode}>${label}</option>`)}</select></label>
        ${indexes.length > 1 && html`<label class="choice">in the index <select value=${form.index} onChange=${(event) => search({ ...form, index: event.target.value })}><option value="">as usual</option>${indexes.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`}
        <label class="choice">only in <input value=${form.within} placeholder="all files, or *.pdf" onInput=${(event) => set({ within: event.target.value })} /></label>
      </div>
    </form>
    ${error && html`<${Problem} error=${error} retry=${() => search()} />`}
    ${notes.map((note) => html`<p key=${note} class="muted small">${note}</p>`)}
    ${busy && html`<p class="muted">Searching…</p>`}
    ${passages?.length > 0 && html`<${Passages} passages=${passages} onOpen=${(passage, opener) => quotes.open(passages, passage, opener)} />`}
    ${passages?.length === 0 && !busy && html`<p class="empty">Nothing in these files matches.</p>`}
    ${passages?.length >= form.k && form.k < MOST && html`<p><button class="button" onClick=${() => search({ ...form, k: MOST })}>More passages</button></p>`}
    ${!passages && !busy && !error && html`<p class="empty">The passages of your files that fit best, without an answer and without a language model.</p>`}
  </div></div>
  ${quotes.active && html`<aside class="doc" ref=${quotes.pane} tabindex="-1" aria-label="Document">
    <${DocumentPane} api=${api} citation=${quotes.active} position=${quotes.position} onClose=${quotes.close} onPrevious=${quotes.previous} onNext=${quotes.next} /></aside>`}
  </div>`;
}
