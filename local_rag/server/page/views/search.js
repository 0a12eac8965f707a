// Search without an answer: the passages that fit, and the document beside them.
import { post } from "../api.js";
import { bound, html, say, submitted, useEffect, useLater, useRef, useState } from "../html.js";
import { Passages } from "../parts/passages.js";
import { Problem } from "../parts/problem.js";
import { Beside, useEscape, useQuotes } from "../parts/quotes.js";
import { requested, Settings } from "../parts/settings.js";
import { Notes } from "../parts/texts.js";
import { replace } from "../router.js";

const SETTINGS = ["index", "mode", "conditions"];
const MOST = 50;

export default function Search({ route: { query: { q = "", ...given } } }) {
  const [query, setQuery] = useState(q);
  const [settings, setSettings] = useState(given);
  const [{ passages, notes, error, busy, k }, setState] = useState({});
  const quotes = useQuotes();
  const going = useRef(null);
  const box = useRef(null);
  const search = (k = 10) => {
    quotes.close();
    going.current?.abort();
    if (!query.trim()) return setState({});
    going.current = new AbortController();
    const { signal } = going.current;
    const found = (reply) => {
      replace("search", [], { q: query, ...settings });
      setState({ ...reply, k });
      say(reply.passages.length ? `${reply.passages.length} passages` : "Nothing matches");
    };
    setState({ passages, busy: true });
    post("search", { query, k, ...requested(settings) }, signal)
      .then(found, (error) => signal.aborted || setState({ error }));
  };
  useEscape(quotes);
  const searchAgain = () => box.current.form.checkValidity() && search();
  useLater(400, (passages || error) && searchAgain, [settings]);
  useEffect(() => {
    box.current.focus();
    search();
    return () => going.current?.abort();
  }, []);
  const open = (passage, opener) => quotes.open(passages, passage, opener);
  return html`<${Beside} quotes=${quotes}><div class="page">
    <h1>Search</h1>
    <form class="row" role="search" onSubmit=${submitted(() => search())}>
      <input class="fill" type="search" aria-label="Search your files" placeholder='Words, "a phrase", -without'
        ref=${box} maxlength="4000" ...${bound(query, setQuery)} />
      <button class="primary">Search</button>
      <div class="row wide"><${Settings} names=${SETTINGS} settings=${settings} onChange=${setSettings} /></div>
    </form>
    <${Problem} error=${error} retry=${() => search()} />
    <${Notes} lines=${notes} />
    ${passages?.length > 0 && html`<${Passages} passages=${passages} onOpen=${open} />`}
    ${!passages?.length && !error && html`<p class="empty">${emptiness(busy, passages)}</p>`}
    ${passages?.length >= k && k < MOST && html`<p><button onClick=${() => search(MOST)}>More passages</button></p>`}
  </div><//>`;
}

function emptiness(busy, passages) {
  if (busy) return "Searching…";
  return passages ? "Nothing in these files matches." : "The passages of your files that fit best, without an answer.";
}
