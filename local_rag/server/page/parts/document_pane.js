// A document at the place of a quote: the page of a PDF with the quote's rectangles, and the stored text with it marked.
import { html, useEffect, useRef, useState } from "/page/html.js";
import { Icon } from "/page/parts/icon.js";
import { Problem } from "/page/parts/problem.js";
import { say } from "/page/parts/say.js";

const LONGEST_QUOTE = 3000;
const MORE = 8000;
const SAVES = { pdf: "Open the original", text: "Open the original", attachment: "Save the original" };

export default function DocumentPane({ api, citation, position, onClose, onPrevious, onNext }) {
  const [where, setWhere] = useState(null);
  const at = where?.of === citation ? where : { of: citation, ...asked(citation) };
  const [state, reload] = useSpread(api, at);
  const { spread, error, busy } = state;
  const turn = (place) => setWhere({ of: citation, start: 0, end: 0, quote: "", ...place });
  return html`<div class="pane" aria-busy=${busy ? "true" : "false"}>
    <header class="pane-head">
      <div class="row"><h2 class="fill"><bdi>${spread?.label || citation.label || "Document"}</bdi></h2>
        ${position && html`<span class="muted small">Quote ${position}</span>
          <${Small} icon="up" label="Previous quote" onClick=${onPrevious} /><${Small} icon="down" label="Next quote" onClick=${onNext} />`}
        <${Small} icon="close" label="Close the document" onClick=${onClose} /></div>
      ${spread && html`<${Tools} api=${api} spread=${spread} turned=${where?.of === citation} turn=${turn} back=${() => setWhere(null)} />`}
    </header>
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${!citation.file_id && html`<${Elsewhere} citation=${citation} />`}
    ${spread && html`<${Spread} key=${keyOf(at)} api=${api} spread=${spread} />`}
  </div>`;
}

// What is asked of the server for a citation or a passage: its place, and its text, by which the server checks that.
function asked({ file_id, page, document, start, end, quote, text, located, index }) {
  const whole = located === "property" ? quote : quote || text || "";
  return { file_id, page, document, start: start || 0, end: located === "property" ? start : end || 0, quote: [...(whole || "")].slice(0, LONGEST_QUOTE).join(""), index: index || null };
}

const keyOf = ({ file_id, page, document, start, end }) => [file_id, page, document, start, end].join(" ");

function useSpread(api, at) {
  const [state, setState] = useState({ busy: true });
  const load = () => {
    if (!at.file_id) return setState({ busy: false });
    const going = new AbortController();
    const { file_id, of, ...query } = at;
    setState((before) => ({ spread: before.spread?.file_id === file_id ? before.spread : null, busy: true }));
    api.get(api.path("documents", file_id, "place", { ...query, quote: query.quote || null }), going.signal).then(
      (spread) => {
        setState({ spread, busy: false });
        say(spread.placed ? "The quote is marked" : spread.why);
      },
      (error) => going.signal.aborted || setState({ error, busy: false }),
    );
    return () => going.abort();
  };
  useEffect(load, [keyOf(at)]);
  return [state, load];
}

function Tools({ api, spread, turned, turn, back }) {
  const { kind, page, pages, document, documents, original, file_id } = spread;
  const isPdf = kind === "pdf";
  const [now, last] = isPdf ? [page, pages] : [document + 1, documents];
  const to = (number) => turn(isPdf ? { file_id, page: number } : { file_id, document: number - 1 });
  return html`<div class="row">
    ${now && last > 1 && html`<${Small} icon="left" label=${isPdf ? "Page before" : "Part before"} disabled=${now <= 1} onClick=${() => to(now - 1)} />
      <span class="small">${isPdf ? "Page" : "Part"} ${now} of ${last}</span>
      <${Small} icon="right" label=${isPdf ? "Page after" : "Part after"} disabled=${now >= last} onClick=${() => to(now + 1)} />`}
    ${turned && html`<button type="button" class="button small" onClick=${back}>Back to the quote</button>`}
    <span class="fill"></span>
    ${original && html`<a class="button small" href=${`/api/${api.path("documents", file_id, "original")}${isPdf && page ? `#page=${page}` : ""}`} target="_blank" rel="noopener noreferrer"><${Icon} name=${original === "attachment" ? "save" : "file"} />${SAVES[original]}</a>`}
  </div>`;
}

function Small({ icon, label, onClick, disabled }) {
  return html`<button type="button" class="button quiet icon" aria-label=${label} title=${label} disabled=${disabled} onClick=${onClick}><${Icon} name=${icon} /></button>`;
}

// A quote of the web, or of a source that is not indexed: its words, and the address, which nothing opens by itself.
function Elsewhere({ citation }) {
  return html`<div class="pane-body stack"><p class="muted">This is not from an indexed file, so there is no document to show.</p>
    <blockquote class="stored" dir="auto"><mark>${citation.quote || citation.text}</mark></blockquote>
    ${/^https?:/.test(citation.url) && html`<p>It was read at <a href=${citation.url} target="_blank" rel="noopener noreferrer"><bdi>${citation.url}</bdi></a>. A click leaves this machine.</p>`}</div>`;
}

function Spread({ api, spread }) {
  const [large, setLarge] = useState(false);
  const [failed, setFailed] = useState(false);
  const body = useRef(null);
  const { image, why, label, page, file_id, rectangles } = spread;
  useEffect(() => body.current.querySelector(".spot, .stored mark")?.scrollIntoView({ block: "center" }), []);
  const shown = image && !failed;
  return html`<div class="pane-body stack" ref=${body}>
    ${why && html`<p class="notice" role="note">${why}</p>`}
    ${failed && html`<p class="notice" role="note">The page could not be drawn.</p>`}
    ${shown && html`<div class=${large ? "sheet large" : "sheet"}><div>
      <img src=${`/api/${api.path("documents", file_id, "pages", page)}`} width=${image.width} height=${image.height} alt=${`Page ${page} of ${label}`} onError=${() => setFailed(true)} />
      <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">${rectangles.map(([x, y, width, height], key) => html`<rect key=${key} class="spot" x=${x} y=${y} width=${width} height=${height} />`)}</svg>
    </div></div>
    <p><button type="button" class="button small" aria-pressed=${large ? "true" : "false"} onClick=${() => setLarge(!large)}>Twice as large</button></p>`}
    ${shown ? html`<details open=${!rectangles.length}><summary>Text of this page</summary><${Stored} api=${api} spread=${spread} /></details>` : html`<${Stored} api=${api} spread=${spread} />`}
  </div>`;
}

// The stored text around the quote; what stands before and after it is fetched on request.
function Stored({ api, spread }) {
  const [more, setMore] = useState({ before: spread.before, after: spread.after, head: "", tail: "", error: null });
  const { file_id, document, segments } = spread;
  const fetchMore = async (start, end, change) => {
    try {
      change(await api.get(api.path("documents", file_id, "text", { document, start: Math.max(0, start), end })));
    } catch (error) {
      setMore({ ...more, error });
    }
  };
  const text = (window) => window.segments.map((segment) => segment.text).join("");
  const earlier = () => fetchMore(more.before - MORE, more.before, (window) => setMore({ ...more, head: text(window) + more.head, before: window.before }));
  const later = () => fetchMore(more.after, more.after + MORE, (window) => setMore({ ...more, tail: more.tail + text(window), after: window.after }));
  if (!segments.length) return html`<p class="muted">There is no stored text for this page.</p>`;
  return html`<div class="stored" dir="auto">
    ${more.before && html`<p><button type="button" class="button small" onClick=${earlier}>Earlier text</button></p>`}
    ${more.head}${segments.map(({ text, mark }, key) => (mark ? html`<mark key=${key}>${text}</mark>` : html`<span key=${key}>${text}</span>`))}${more.tail}
    ${more.after && html`<p><button type="button" class="button small" onClick=${later}>Later text</button></p>`}
    ${more.error && html`<${Problem} error=${more.error} />`}
  </div>`;
}
