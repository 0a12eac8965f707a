// A dialog over the page. The browser's own element keeps the focus inside, closes on Escape and gives the focus back.
import { html, useEffect, useRef } from "../html.js";
import { Icon } from "./icon.js";

let count = 0;

export function Dialog({ title, onClose, children }) {
  const dialog = useRef(null);
  const id = useRef(`dialog-${++count}`);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  const onClick = (event) => event.target === dialog.current && onClose();
  return html`<dialog ref=${dialog} aria-labelledby=${id.current} onClose=${onClose} onClick=${onClick}>
    <div class="dialog">
      <header class="row"><h2 id=${id.current}><bdi>${title}</bdi></h2>
        <button type="button" class="button quiet icon" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button></header>
      ${children}
    </div>
  </dialog>`;
}
