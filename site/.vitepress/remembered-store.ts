import { inBrowser, onContentUpdated } from "vitepress";

/** The name under which the browser keeps the reader's store. */
const KEY = "leasehold-store";

/** Shows the store that the reader chose last in every group of tabs that has it, on this page and on later ones. */
export function rememberStore(): void {
  if (!inBrowser) return;
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(KEY);
  } catch {
    // This browser keeps nothing.
  }
  window.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement && target.matches(".vp-code-group input"))) return;
    chosen = target.labels?.[0]?.textContent ?? null;
    show(chosen);
    localStorage.setItem(KEY, chosen ?? "");
  });
  onContentUpdated(() => show(chosen));
}

function show(store: string | null): void {
  for (const group of document.querySelectorAll(".vp-code-group")) {
    const labels = [...group.querySelectorAll("label")];
    const label = labels.find(({ textContent }) => textContent === store);
    const blocks = [...group.querySelectorAll(".blocks > *")];
    const block = label && blocks[labels.indexOf(label)];
    if (!block || block.classList.contains("active")) continue;
    (label.control as HTMLInputElement).checked = true;
    for (const each of blocks) each.classList.toggle("active", each === block);
  }
}
