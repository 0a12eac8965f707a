// The secret of the session, which every request names. It comes once, in the page that a code has signed in, and stays
// in this browser until the server ends. Other servers of this machine are sent the cookie, for a cookie knows no port;
// what pages of one address keep they do not get.
import { shared } from "./html.js";
import { keep, kept } from "./kept.js";

const given = document.querySelector("meta[name=secret]").content;
if (given) {
  keep("secret", given);
  history.replaceState(null, "", `/${location.hash}`);
}

// Empty where no page of this address was signed in.
export const secret = () => kept("secret") || "";

// Whether the server took the secret last, and how often another tab has brought a new one.
export const signedOut = shared(false);
export const renewed = shared(0);
window.addEventListener("storage", ({ key }) => key === "secret" && renewed.set(renewed.value + 1));
