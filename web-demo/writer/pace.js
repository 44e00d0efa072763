// Progress of a lesson in steps and seconds, from the first second on.

const EVERY_MS = 200;

export class Pace {
  #line;
  #bar;
  #begun = 0;
  /** @type {{ begun: number, step: number, steps: number, share: number } | undefined} */
  #at;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer;

  /** @param {HTMLElement} line @param {HTMLProgressElement} bar */
  constructor(line, bar) {
    [this.#line, this.#bar] = [line, bar];
  }

  get seconds() {
    return (performance.now() - this.#begun) / 1000;
  }

  start() {
    [this.#begun, this.#at, this.#bar.value] = [performance.now(), undefined, 0];
    this.#timer = setInterval(() => this.#show(), EVERY_MS);
    this.#show();
  }

  /** @param {number} step @param {number} steps @param {number} share of the lesson, which may end before its steps */
  step(step, steps, share) {
    this.#at = { begun: this.#at?.begun ?? performance.now(), step, steps, share };
    this.#bar.value = share;
    this.#show();
  }

  #show() {
    const seconds = `${Math.floor(this.seconds)} s`;
    if (!this.#at) this.#line.textContent = `Reading your text, ${seconds}`;
    else {
      const { begun, step, steps, share } = this.#at;
      const left = Math.ceil((((performance.now() - begun) / 1000) * (1 - share)) / share);
      this.#line.textContent = `Step ${step} of ${steps}, ${seconds}; about ${left} s more`;
    }
  }

  /** @param {string} words */
  end(words) {
    clearInterval(this.#timer);
    this.#bar.value = this.#at ? 1 : 0;
    this.#line.textContent = words;
  }
}
