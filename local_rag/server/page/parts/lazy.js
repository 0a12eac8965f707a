// A part that is loaded when it is first shown: lazy("/page/parts/feedback.js").
import { html, useEffect, useState } from "../html.js";
import { Problem } from "./problem.js";

export function lazy(address) {
  let module = null;
  return function Lazy(props) {
    const [state, setState] = useState(module && { Part: module.default });
    useEffect(() => {
      const failed = () => setState({ error: { message: "A part of the page could not be loaded." } });
      if (!state) import(address).then((loaded) => setState({ Part: (module = loaded).default }), failed);
    }, []);
    return state && (state.error ? html`<${Problem} error=${state.error} retry=${() => location.reload()} />` : html`<${state.Part} ...${props} />`);
  };
}
