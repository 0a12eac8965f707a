// What this browser keeps for the page of this server, or with "sessionStorage" this tab; another port is another page.
// A browser that keeps nothing has it for as long as the page stays open.
const here = new Map();

export function kept(name, store = "localStorage") {
  try {
    return window[store].getItem(name) ?? here.get(name);
  } catch {
    return here.get(name);
  }
}

export function keep(name, value, store = "localStorage") {
  here.set(name, value);
  try {
    window[store].setItem(name, value);
  } catch {
    // it is kept here
  }
}
