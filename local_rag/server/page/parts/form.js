// A dialog with a form: `send` keeps it or throws what went wrong, then it is closed.
import { html, useState } from "/page/html.js";
import { Dialog } from "/page/parts/dialog.js";
import { Problem } from "/page/parts/problem.js";

export function Form({ title, send, onClose, children }) {
  const [error, setError] = useState(null);
  const submit = (event) => {
    event.preventDefault();
    send().then(onClose, setError);
  };
  return html`<${Dialog} title=${title} onClose=${onClose}><form class="stack" onSubmit=${submit}>${children}
    ${error && html`<${Problem} error=${error} />`}
    <div class="row"><button class="button primary">Keep</button><button type="button" class="button quiet" onClick=${onClose}>Cancel</button></div></form><//>`;
}
