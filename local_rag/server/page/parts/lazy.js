// A part that is loaded when it is first shown: lazy("/page/parts/feedback.js").
import { html, useEffect, useState } from "../html.js";
import { Problem } from "./problem.js";

export function lazy(address) {
  let module = null;
  return function Lazy(props) {
    const [state, setState] = useState(module && { Part: module.default });
    useEffect(() => {
      if (state) return;
      const arrived = (loaded) => {
        module = loaded;
        setState({ Part: module.default });
      };
      const failed = () => setState({ error: { message: "A part of the page could not be loaded." } });
      import(address).then(arrived, failed);
    }, []);
    if (!state) return null;
    if (state.error) return html`<${Problem} error=${state.error} retry=${() => location.reload()} />`;
    return html`<${state.Part} ...${props} />`;
  };
}
