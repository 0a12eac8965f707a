// The error of a script that could not be fetched, as when the server is gone.
export const notLoaded = () => ({ message: "A part of the page could not be loaded.", hint: "Reload the page." });

// A part that is loaded when it is first shown: lazy("/page/parts/feedback.js").
import { html, useEffect, useState } from "../html.js";
import { Problem } from "./problem.js";

export function lazy(address) {
  let module = null;
  return function Lazy(props) {
    const [state, setState] = useState(module && { Part: module.default });
    useEffect(() => {
      if (state) return;
      import(address).then((loaded) => setState({ Part: (module = loaded).default }), () => setState({ error: notLoaded() }));
    }, []);
    if (!state) return null;
    return state.error ? html`<${Problem} error=${state.error} />` : html`<${state.Part} ...${props} />`;
  };
}
