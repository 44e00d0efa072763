// Text that may come next, grey behind the cursor of a text field: Tab takes it, any other key goes on without.

export class Ghost {
  #area;
  #mirror;
  #more = document.createElement('span');
  /** Told when a suggestion came or went. @type {(more: string) => void} */
  onChange = () => {};

  /** @param {HTMLTextAreaElement} area @param {HTMLElement} mirror lies under the field, and has the same letters */
  constructor(area, mirror) {
    [this.#area, this.#mirror] = [area, mirror];
    this.#more.className = 'more';
    area.addEventListener('scroll', () => this.#align());
    area.addEventListener('keydown', (event) => {
      const plain = !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey;
      if (!this.more || !plain) return;
      if (event.key === 'Tab') event.preventDefault();
      if (event.key === 'Tab') this.take();
      if (event.key === 'Escape') this.show('');
    });
  }

  get more() {
    return this.#more.textContent ?? '';
  }

  /** Suggestions appear only there. */
  get isAtEnd() {
    const { selectionStart, selectionEnd, value } = this.#area;
    return selectionStart === selectionEnd && selectionEnd === value.length;
  }

  /** @param {string} more */
  show(more) {
    this.#more.textContent = more;
    this.#mirror.replaceChildren(this.#area.value, this.#more);
    this.#align();
    this.onChange(more);
  }

  /** Writes it into the field, as if it had been typed. */
  take() {
    const { more } = this;
    this.show('');
    this.#area.focus();
    this.#area.setRangeText(more, this.#area.value.length, this.#area.value.length, 'end');
    this.#area.dispatchEvent(new Event('input', { bubbles: true }));
  }

  #align() {
    this.#mirror.scrollTop = this.#area.scrollTop;
  }
}
