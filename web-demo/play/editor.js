// The editor as a plain text field. The built site has codemirror.js, bundled, in the place of this file.

/**
 * @param {HTMLElement} parent
 * @param {{ label: string, onChange: () => void, onRun: () => void }} options
 */
export function makeEditor(parent, { label, onChange, onRun }) {
  const area = document.createElement('textarea');
  area.className = 'plain';
  area.spellcheck = false;
  area.setAttribute('aria-label', label);
  area.setAttribute('autocapitalize', 'off');
  area.addEventListener('input', onChange);
  area.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onRun();
  });
  parent.append(area);
  return {
    get text() {
      return area.value;
    },
    set text(text) {
      area.value = text;
    },
    /** Marks a line, from 1; without one, none. @param {number} [line] */
    mark(line) {
      if (!line) return;
      const lines = area.value.split('\n');
      const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
      area.setSelectionRange(start, start + (lines[line - 1] ?? '').length);
    },
  };
}
