// A dialog over the page; the browser's own element keeps the focus inside and closes on Escape.
import { html, submitted, useLayoutEffect, useRef, useState, useWindow } from "../html.js";
import { IconButton } from "./icon.js";
import { Problem } from "./problem.js";

let count = 0;

export function Dialog({ title, onClose, children }) {
  const dialog = useRef(null);
  const id = useRef(`dialog-${++count}`);
  useLayoutEffect(() => { // at once: a later effect of the page may move the focus first
    const [shown, before] = [dialog.current, document.activeElement];
    shown.showModal();
    return () => shown.open && before?.isConnected && before.focus(); // one that was closed has given it back
  }, []);
  useWindow("hashchange", onClose);
  const onClick = (event) => event.target === dialog.current && onClose();
  return html`<dialog ref=${dialog} aria-labelledby=${id.current} onClose=${onClose} onClick=${onClick}>
    <div class="dialog">
      <header class="row"><h2 class="fill" id=${id.current}><bdi>${title}</bdi></h2>
        <${IconButton} icon="close" label="Close" onClick=${onClose} /></header>
      ${children}
    </div>
  </dialog>`;
}

// A dialog with a form: `send` keeps it or throws what went wrong, then it is closed.
export function Form({ title, send, onClose, children }) {
  const [error, setError] = useState(null);
  const submit = submitted(() => send().then(onClose, setError));
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>${children}
      <${Problem} error=${error} />
      <div class="row"><button class="primary">Keep</button>
        <button type="button" class="quiet" onClick=${onClose}>Cancel</button></div>
    </form><//>`;
}
