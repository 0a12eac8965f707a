(() => {
  "use strict";
  const form = document.getElementById("filter");
  const cases = [...document.querySelectorAll("details.case")];
  if (!form || !cases.length) return;
  const texts = new Map();
  const textOf = (one) => {
    if (!texts.has(one)) texts.set(one, one.textContent.toLowerCase());
    return texts.get(one);
  };
  const matches = (one, who, what, words) => {
    const marks = [...one.querySelectorAll(":scope > summary [data-who]")];
    const ended = marks.some((mark) => (!who || mark.dataset.who === who) && (!what || mark.dataset.what === what));
    return ((!who && !what) || ended) && words.every((word) => textOf(one).includes(word));
  };
  const apply = () => {
    const words = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const one of cases) {
      const fits = matches(one, form.who.value, form.what.value, words);
      one.hidden = !fits;
      shown += fits;
    }
    form.querySelector("output").value = `${shown} of ${cases.length} shown`;
  };
  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 200);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    const one = target && target.closest("details.case");
    if (!one) return;
    one.hidden = false;
    one.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  form.hidden = false;
  apply();
  open();
})();
