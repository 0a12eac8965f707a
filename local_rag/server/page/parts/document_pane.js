// A document at the place of a quote: the page of a PDF and the stored text, the quote marked in both.
import { get, path } from "../api.js";
import { html, say, useEffect, useRef, useState } from "../html.js";
import { follow } from "../indexing.js";
import { Blocks } from "./blocks.js";
import { Icon, IconButton } from "./icon.js";
import { Problem } from "./problem.js";
import { useReply } from "./reply.js";
import { FileLink, useSigned } from "./signed.js";
import { capital } from "./texts.js";

const LONGEST_QUOTE = 3000;
const MOST_ROWS = 200;
const MORE = 8000;

export default function DocumentPane({ citation, position, onAsk, onClose, onPrevious, onNext }) {
  const [turned, setTurned] = useState({});
  const isTurned = turned.of === citation;
  const { of, file_id, ...place } = isTurned ? turned : placed(citation);
  const [{ value, error, busy }, load] = useReply(file_id && path("documents", file_id, "place", place));
  const spread = value?.file_id === file_id && value;
  useEffect(() => value && say(value.placed ? "The quote is marked" : value.why), [value]);
  return html`<div class="pane" aria-busy=${Boolean(busy)}>
    <header class="pane-head">
      <div class="row"><${Title} spread=${spread} citation=${citation} />
        ${position && html`<span class="small">Quote ${position}</span>
          <${Step} icon="up" label="Previous quote" onClick=${onPrevious} />
          <${Step} icon="down" label="Next quote" onClick=${onNext} />`}
        <${IconButton} icon="close" label="Close the document" onClick=${onClose} /></div>
      ${spread && html`<div class="row">
        <${Turn} spread=${spread} turn=${(place) => setTurned({ ...place, of: citation })} />
        ${isTurned && html`<button class="small" onClick=${() => setTurned({})}>Back to the quote</button>`}
        <span class="fill"></span>
        ${onAsk && html`<button class="small" onClick=${() => onAsk(spread.label)}>
          <${Icon} name="ask" />Ask about this file</button>`}
        <${Original} spread=${spread} /></div>
        ${spread.why && html`<p class="notice row" role="note"><span class="fill">${spread.why}</span>
          ${spread.changed && html`<button class="small" onClick=${() => follow("index/sync", {}).then(load)}>
            Check for changes</button>`}</p>`}`}
    </header>
    <${Problem} error=${error} retry=${load} />
    ${!citation.file_id && html`<${Elsewhere} citation=${citation} />`}
    ${spread && html`<${Spread} spread=${spread}
      key=${[file_id, spread.page, spread.document, place.start, place.end].join()} />`}
  </div>`;
}

function Title({ spread: { label, title, documents }, citation }) {
  const named = documents > 1 && !label.endsWith(title);
  return html`<h2 class="fill"><bdi>${label || citation.label || "Document"}</bdi>
    ${named && html` · <bdi>${title}</bdi>`}</h2>`;
}

// What the server is asked for a citation or a passage: its place, and its text, by which the server checks that.
// Of what was computed these are its rows.
function placed({ file_id, page, document, chunk_id, start = 0, end = 0, quote, text, located, index, rows }) {
  const isComputed = located === "computed";
  return {
    file_id, page, document, chunk_id,
    start: start || 0,
    end: (located === "property" ? start : end) || 0,
    index: index || null,
    quote: (!isComputed && [...(quote || text || "")].slice(0, LONGEST_QUOTE).join("")) || null,
    rows: (isComputed && rows?.slice(0, MOST_ROWS).map((span) => span.join("-")).join(",")) || null,
  };
}

// Other pages of a PDF, other messages or chapters of a file.
function Turn({ spread: { kind, page, image, document, documents, file_id }, turn }) {
  const isPdf = kind === "pdf";
  const [name, now, last] = isPdf ? ["Page", page, image?.pages || 0] : ["Part", document + 1, documents];
  if (!now || last < 2) return null;
  const to = (number) => turn(isPdf ? { file_id, page: number } : { file_id, document: number - 1 });
  return html`
    <${IconButton} icon="left" label=${`${name} before`} disabled=${now <= 1} onClick=${() => to(now - 1)} />
    <span class="small">${name} ${now} of ${last}</span>
    <${IconButton} icon="right" label=${`${name} after`} disabled=${now >= last} onClick=${() => to(now + 1)} />`;
}

function Original({ spread: { original, file_id, page } }) {
  if (!original) return null;
  const saved = original === "attachment";
  const place = original === "pdf" && page ? `#page=${page}` : "";
  return html`<${FileLink} path=${path("documents", file_id, "original")} place=${place} class="button small"
    target="_blank" rel="noopener noreferrer">
    <${Icon} name=${saved ? "save" : "file"} />${saved ? "Save" : "Open"} the original<//>`;
}

// A button that a key works, too: Alt and the arrow of its icon.
function Step({ icon, label, ...rest }) {
  const title = `${label} (Alt + ${icon === "up" ? "↑" : "↓"})`;
  return html`<${IconButton} icon=${icon} label=${label} title=${title}
    aria-keyshortcuts=${`Alt+Arrow${capital(icon)}`} ...${rest} />`;
}

// A quote of the web, or of a source that is not indexed: its words, and the address, which nothing opens by itself.
function Elsewhere({ citation: { read, url } }) {
  return html`<div class="pane-body stack"><p class="muted">This is not from an indexed file.</p>
    <blockquote class="stored"><mark>${read}</mark></blockquote>
    ${/^https?:/.test(url) && html`<p>A click leaves this machine:${" "}
      <a href=${url} target="_blank" rel="noopener noreferrer"><bdi>${url}</bdi></a></p>`}</div>`;
}

function Spread({ spread }) {
  const [large, setLarge] = useState(false);
  const [failed, setFailed] = useState(false);
  const body = useRef(null);
  const { image } = spread;
  useEffect(() => {
    const marked = body.current.querySelector(".spot, .stored mark");
    marked?.scrollIntoView({ block: "center", inline: "center" });
  }, [large]);
  const stored = html`<${Stored} spread=${spread} />`;
  return html`<div class="pane-body stack" ref=${body}>
    ${failed && html`<p class="notice" role="note">The page could not be drawn.</p>`}
    ${image && !failed ? html`
      <div class=${large ? "sheet large" : "sheet"}>
        <${Sheet} spread=${spread} onError=${() => setFailed(true)} /></div>
      <p><button class="small" aria-pressed=${large ? "true" : "false"}
        onClick=${() => setLarge(!large)}>Twice as large</button></p>
      <details open=${!image.rectangles.length}><summary>Text of this page</summary>${stored}</details>` : stored}
  </div>`;
}

// The picture of a page, and rectangles over it where the quote stands.
function Sheet({ spread: { image, label, page, file_id }, onError }) {
  return html`<div>
    <img src=${useSigned(path("documents", file_id, "pages", page))} width=${image.width} height=${image.height}
      alt=${`Page ${page} of ${label}`} onError=${onError} />
    <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">${image.rectangles.map(
      ([x, y, width, height]) => html`<rect class="spot" x=${x} y=${y} width=${width} height=${height} />`)}
    </svg></div>`;
}

// The stored text around the quote; what stands before and after it is fetched on request.
function Stored({ spread: { file_id, document, blocks, before, after } }) {
  const [more, setMore] = useState({ before, after, head: [], tail: [] });
  const add = async (start, end, change) => {
    try {
      const part = await get(path("documents", file_id, "text", { document, start: Math.max(0, start), end }));
      setMore({ ...more, ...change(part, part.blocks) });
    } catch (error) {
      setMore({ ...more, error });
    }
  };
  const earlier = () =>
    add(more.before - MORE, more.before, ({ before }, blocks) => ({ before, head: [...blocks, ...more.head] }));
  const later = () =>
    add(more.after, more.after + MORE, ({ after }, blocks) => ({ after, tail: [...more.tail, ...blocks] }));
  if (!blocks.length) return html`<p class="muted">There is no stored text for this page.</p>`;
  return html`<div class="stored">
    ${more.before && html`<p><button class="small" onClick=${earlier}>Earlier text</button></p>`}
    <${Blocks} nodes=${[...more.head, ...blocks, ...more.tail]} />
    ${more.after && html`<p><button class="small" onClick=${later}>Later text</button></p>`}
    <${Problem} error=${more.error} /></div>`;
}
