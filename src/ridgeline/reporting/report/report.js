"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; show(); });
  dark.addEventListener("change", show);
  show();

  // Among the operators the arrow keys go from the larger to the smaller share and back.
  const operators = [...document.querySelectorAll(".op")];
  const order = operators.filter((one) => one.classList.contains("main")).concat(operators.filter((one) => !one.classList.contains("main")));
  order.forEach((operator, index) => operator.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = step ? order[index + step] : { Home: order[0], End: order[order.length - 1] }[event.key];
    if (step || next) event.preventDefault();
    if (!next) return;
    operator.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }));

  // Paper cannot be opened: the tables behind the charts are printed with them.
  let closed = [];
  addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open])")]; closed.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => { closed.forEach((one) => { one.open = false; }); closed = []; });
})();
