/** Makes an element. Its text is set as text, never as markup. */
export function make(tag, { parent, text, className } = {}) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className !== undefined) element.className = className;
  parent?.append(element);
  return element;
}

/** Changes an element only if the text differs. So a selection stays, and a screen reader reads no text again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
