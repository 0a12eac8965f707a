// What this browser keeps for the page of this server; another port is another page. One that keeps nothing has it for
// as long as the page stays open.
const here = new Map();

export function kept(name) {
  try {
    return localStorage.getItem(name) ?? here.get(name);
  } catch {
    return here.get(name);
  }
}

export function keep(name, value) {
  here.set(name, value);
  try {
    localStorage.setItem(name, value);
  } catch {
    // it is kept here
  }
}
