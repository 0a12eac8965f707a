// The secret of the session, which every request names. It comes once, in the address that signs in, and stays in this
// tab. Other servers of this machine are sent the cookie, for a cookie knows no port; what a tab keeps, and what tabs
// of one address tell each other, they do not get.
import { keep, kept } from "./kept.js";

const MOMENT = 500; // milliseconds
const tabs = new BroadcastChannel("session");
const own = () => kept("secret", "sessionStorage") || "";
let works = false; // whether the server has taken it: then this tab tells it to others, and takes none of theirs

const take = (secret) => keep("secret", secret, "sessionStorage");
const [, given] = location.hash.match(/^#secret=([\w-]+)$/) || [];
if (given) {
  take(given);
  history.replaceState(null, "", "/");
}

// Asks the tabs that are open; what they tell is an event "session" of the window.
export const look = () => tabs.postMessage("");

const told = new Promise((done) => {
  tabs.onmessage = ({ data }) => {
    if (!data) return void (works && tabs.postMessage(own()));
    if (works) return;
    take(data);
    done();
    window.dispatchEvent(new Event("session"));
  };
  setTimeout(done, MOMENT);
});
if (!own()) look();

// Empty where this tab has none and no other one answers within a moment.
export const secret = async () => own() || (await told, own());

// Whether the server took the secret last; tabs that are signed out hear of it.
export function worked(does) {
  if (does && !works) tabs.postMessage(own());
  works = does;
}
