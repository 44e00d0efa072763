// Shows the text of a module that the page runs, in the colours of its words. The text goes in as text, never as HTML.
const KEYWORDS = 'async|await|const|export|for|from|function|if|import|new|of|return';
const KINDS = {
  comment: String.raw`\/\/.*|\/\*[\s\S]*?\*\/`,
  text: "'[^'\\n]*'|`[^`]*`",
  value: String.raw`\b\d[\d.e-]*\b`,
  keyword: `\\b(?:${KEYWORDS})\\b`,
};
const kinds = Object.entries(KINDS).map(([name, pattern]) => `(?<${name}>${pattern})`);
const WORDS = new RegExp(kinds.join('|'), 'g');
const $ = (selector) => /** @type {any} */ (document.querySelector(selector));

/** The page has #code, #code-dialog and in that #code-text. @param {URL} url of the module */
export function prepareCode(url) {
  $('#code-dialog .close').addEventListener('click', () => $('#code-dialog').close());
  $('#code').addEventListener('click', async () => {
    $('#code-dialog').showModal();
    if ($('#code-text').textContent) return;
    const answer = await fetch(url).catch(() => undefined);
    $('#code-text').replaceChildren(...(answer?.ok ? coloured(await answer.text()) : ['It cannot be loaded now.']));
  });
}

/** @param {string} code */
export function coloured(code) {
  const parts = /** @type {(string | HTMLElement)[]} */ ([]);
  let end = 0;
  for (const match of code.matchAll(WORDS)) {
    const [className] = Object.entries(match.groups ?? {}).find(([, word]) => word !== undefined) ?? [];
    parts.push(code.slice(end, match.index), Object.assign(document.createElement('span'), { className }));
    /** @type {HTMLElement} */ (parts.at(-1)).textContent = match[0];
    end = match.index + match[0].length;
  }
  return [...parts, code.slice(end)];
}
