// What the browser itself fetches below /api/, such as a picture or a file to be saved: by an address that is signed.
import { signed } from "../api.js";
import { html, useEffect, useState } from "../html.js";

// Undefined until it is signed: a picture is not asked for before.
export function useSigned(path) {
  const [address, setAddress] = useState(undefined);
  useEffect(() => void signed(path).then(setAddress), [path]);
  return address;
}

// A link to it; `place` is where it is opened, as "#page=3".
export function FileLink({ path, place = "", children, ...rest }) {
  const address = useSigned(path);
  return html`<a ...${rest} href=${address && address + place}>${children}</a>`;
}
