// The editor by CodeMirror, with the same functions as editor.js: tools/site.mjs bundles it in that file's place.

import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { StateEffect, StateField } from '@codemirror/state';
import { Decoration, drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The colours are variables of play.css, which are others in the dark. */
const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--number)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
]);
const LOOK = EditorView.theme({
  '&': { font: 'inherit', border: '1px solid var(--edge)', borderRadius: '12px', background: 'var(--card)' },
  '&.cm-focused': { outline: '3px solid var(--accent)', outlineOffset: '2px' },
  '.cm-scroller': { font: 'inherit', minHeight: '12rem', maxHeight: '70svh', overflow: 'auto' },
  '.cm-gutters': { border: '0', background: 'transparent', color: 'var(--muted)' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--selection)',
  },
  '.wrong-line': { background: 'var(--wrong-line)' },
});
const markLine = StateEffect.define();
const marked = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects)
      if (effect.is(markLine)) {
        const line = effect.value && transaction.state.doc.line(Math.min(effect.value, transaction.state.doc.lines));
        return line ? Decoration.set([Decoration.line({ class: 'wrong-line' }).range(line.from)]) : Decoration.none;
      }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/**
 * @param {HTMLElement} parent
 * @param {{ label: string, onChange: () => void, onRun: () => void }} options
 */
export function makeEditor(parent, { label, onChange, onRun }) {
  const run = () => {
    onRun();
    return true;
  };
  // in a shadow tree CodeMirror adopts its style sheets; elsewhere it writes <style> elements, which the policy refuses
  const root = parent.attachShadow({ mode: 'open' });
  const view = new EditorView({
    parent: root,
    root,
    extensions: [
      lineNumbers(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      javascript(),
      syntaxHighlighting(COLOURS),
      LOOK,
      marked,
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': label }),
      EditorView.updateListener.of((update) => update.docChanged && onChange()),
      // Tab indents; after Escape the next Tab leaves the editor, as CodeMirror has it
      keymap.of([{ key: 'Mod-Enter', run }, ...defaultKeymap, ...historyKeymap, indentWithTab]),
    ],
  });
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    /** @param {number} [line] */
    mark(line) {
      view.dispatch({ effects: markLine.of(line) });
    },
  };
}
