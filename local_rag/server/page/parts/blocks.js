// The server's tree of an answer as elements. Only the kinds of this table are drawn, and nothing is ever markup.
import { post } from "../api.js";
import { h, html, useEffect, useRef, useState } from "../html.js";
import { Dialog } from "./dialog.js";
import { CopyButton } from "./problem.js";

const TAGS = {
  p: "p", ul: "ul", ol: "ol", li: "li", strong: "strong", em: "em", table: "table", tr: "tr", th: "th", td: "td",
  h: "h3", quote: "blockquote", mark: "mark", code: "code", del: "del",
};
const OF_THEIR_OWN_DIRECTION = new Set(["p", "li", "th", "td", "h", "quote"]);

// `onCite(mark)` opens the quote of a mark, its node; `isOpen(mark)` says whether it is open.
export function Blocks({ nodes, onCite, isOpen }) {
  return (nodes || []).map((node) => html`<${Node} node=${node} onCite=${onCite} isOpen=${isOpen} />`);
}

// A text that may still be written, as the server reads it. One request at a time: what comes meanwhile is in the next.
export function Written({ text }) {
  const [read, setRead] = useState({ text: "", blocks: [] });
  const asking = useRef(false);
  useEffect(() => {
    if (asking.current || read.text === text) return;
    asking.current = true;
    post("read", { text }).then(({ blocks }) => setRead({ text, blocks }), () => {})
      .finally(() => (asking.current = false));
  }, [text, read]);
  return html`<${Blocks} nodes=${read.blocks} />`;
}

function Node({ node, onCite, isOpen }) {
  const { t, c, s } = node;
  if (t === "text") return s;
  if (t === "br") return h("br");
  if (t === "doubt") return html` <span class=${s && node.support === "no" ? "badge bad" : "badge warn"}>${s}</span>`;
  if (t === "cite") return html`<${Mark} node=${node} onCite=${onCite} isOpen=${isOpen} />`;
  const inner = c ? html`<${Blocks} nodes=${c} onCite=${onCite} isOpen=${isOpen} />` : s;
  if (t === "pre") return h("pre", { tabindex: 0 }, h("code", null, inner));
  if (t === "link") return html`<${Link} href=${node.href}>${inner}<//>`;
  if (t === "table") return html`<${Scrolled}>${inner}<//>`;
  return t in TAGS ? h(TAGS[t], OF_THEIR_OWN_DIRECTION.has(t) ? { dir: "auto" } : null, inner) : null;
}

function Scrolled({ children }) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table">
    <table><tbody>${children}</tbody></table></div>`;
}

function Mark({ node, onCite, isOpen }) {
  return html`<button class="cite" aria-label=${`Quote ${node.n}: show where it stands`}
    aria-pressed=${Boolean(isOpen?.(node))} onClick=${(event) => onCite?.(node, event.currentTarget)}>
    ${node.n}</button>`;
}

// A link of an answer may have come from a file or a model: it shows its whole address before it leads anywhere.
function Link({ href, children }) {
  const [open, setOpen] = useState(false);
  const allowed = /^(https?:|mailto:)/i.test(href);
  if (!allowed) return html`<bdi>${children}</bdi>`;
  const show = (event) => {
    event.preventDefault();
    setOpen(true);
  };
  return html`<a href="#" role="button" onClick=${show}><bdi>${children}</bdi></a>${open && html`
    <${Dialog} title="This address is not on your machine" onClose=${() => setOpen(false)}>
      <p class="words"><bdi>${href}</bdi></p>
      <div class="row"><a class="button primary" href=${href} target="_blank" rel="noopener noreferrer"
        onClick=${() => setOpen(false)}>Open it in a new tab</a>
        <${CopyButton} text=${href} label="Copy the address" /></div>
    <//>`}`;
}
