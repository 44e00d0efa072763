// The drawing pad: strokes by mouse, finger or pen, and by keyboard, where the arrows move a pen that Space puts down.
/** @typedef {import('./preprocess.js').Stroke} Stroke */

const WIDTH = 0.055; // the drawn line's, in units of the pad
const STEP = 1 / 40,
  LEAP = 1 / 10; // the keyboard's pen moves so far; LEAP with Shift
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Pad {
  /** @type {Stroke[]} */ strokes = [];
  /** True if `show` drew it: the next stroke begins a new drawing. */
  isShown = false;
  #canvas;
  #on;
  #pointer = null;
  #pen = { x: 0.5, y: 0.3, down: false, shown: false };

  /** @param {HTMLCanvasElement} canvas
   *  @param {{ change: () => void, lift: () => void, submit: () => void, pen: (words: string) => void }} on */
  constructor(canvas, on) {
    this.#canvas = canvas;
    this.#on = on;
    canvas.addEventListener('pointerdown', (e) => this.#pointerDown(e));
    canvas.addEventListener('pointermove', (e) => this.#pointerMove(e));
    for (const end of ['pointerup', 'pointercancel'])
      canvas.addEventListener(end, () => {
        this.#pointer = null;
        this.#on.lift();
      });
    canvas.addEventListener('keydown', (e) => this.#key(e));
    canvas.addEventListener('focus', () => this.#showPen(canvas.matches(':focus-visible')));
    canvas.addEventListener('blur', () => this.#showPen(false));
    new ResizeObserver(() => this.#draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw());
  }

  get empty() {
    return this.strokes.length === 0;
  }

  clear() {
    this.#pen.down = false;
    this.#replace([]);
  }
  undo() {
    this.#pen.down = false;
    this.#replace(this.strokes.slice(0, -1));
  }

  /** @param {Stroke[]} strokes  of a drawing that is to be looked at */
  show(strokes) {
    this.#pen.down = false;
    this.#replace(structuredClone(strokes), true);
  }

  /** @param {Stroke[]} strokes  of a drawing that goes on */
  take(strokes) {
    this.#replace(structuredClone(strokes));
  }

  #replace(strokes, isShown = false) {
    this.strokes = strokes;
    this.isShown = isShown;
    this.#changed();
  }

  #changed() {
    this.#draw();
    this.#on.change();
  }

  #pointerDown(event) {
    if (event.button !== 0 || this.#pointer !== null) return;
    this.#pointer = event.pointerId;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#showPen(false);
    this.#begin(this.#place(event));
  }

  /** @param {import('./preprocess.js').Point} point */
  #begin(point) {
    if (this.isShown) this.strokes = [];
    this.isShown = false;
    this.strokes.push([point]);
    this.#changed();
  }

  #pointerMove(event) {
    if (event.pointerId !== this.#pointer) return;
    const all = event.getCoalescedEvents?.() ?? [];
    for (const e of all.length ? all : [event]) this.strokes.at(-1)?.push(this.#place(e));
    this.#changed();
  }

  /** @returns {import('./preprocess.js').Point} */
  #place(event) {
    const box = this.#canvas.getBoundingClientRect();
    const within = (v) => Math.min(1, Math.max(0, v));
    return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow) this.#movePen(arrow, event.shiftKey ? LEAP : STEP);
    else if (event.key === ' ') this.#togglePen();
    else if (event.key === 'Enter') this.#on.submit();
    else if (event.key === 'Backspace') this.undo();
    else if (event.key === 'Escape') this.clear();
    else return;
    event.preventDefault();
  }

  #movePen([dx, dy], step) {
    const pen = this.#pen,
      within = (v) => Math.min(0.97, Math.max(0.03, v));
    pen.x = within(pen.x + dx * step);
    pen.y = within(pen.y + dy * step);
    this.#showPen(true);
    if (!pen.down) return;
    this.strokes.at(-1)?.push([pen.x, pen.y]);
    this.#changed();
  }

  #togglePen() {
    const pen = this.#pen;
    pen.down = !pen.down;
    this.#on.pen(pen.down ? 'Pen down: the arrow keys draw.' : 'Pen up: the arrow keys move.');
    this.#showPen(true);
    if (pen.down) this.#begin([pen.x, pen.y]);
  }

  #showPen(shown) {
    if (!shown) this.#pen.down = false;
    this.#pen.shown = shown;
    this.#draw();
  }

  #draw() {
    const canvas = this.#canvas,
      size = Math.round(canvas.clientWidth * devicePixelRatio);
    if (canvas.width !== size) canvas.width = canvas.height = size;
    const brush = canvas.getContext('2d'),
      style = getComputedStyle(canvas);
    brush.clearRect(0, 0, size, size);
    brush.strokeStyle = style.getPropertyValue('--ink');
    brush.lineWidth = WIDTH * size;
    brush.lineCap = brush.lineJoin = 'round';
    for (const stroke of this.strokes) {
      brush.beginPath();
      brush.moveTo(stroke[0][0] * size, stroke[0][1] * size);
      for (const [x, y] of stroke) brush.lineTo(x * size, y * size);
      brush.stroke();
    }
    if (this.#pen.shown) this.#drawPen(brush, size, style.getPropertyValue('--accent'));
  }

  /** A ring while the pen is up, a filled dot while it is down. */
  #drawPen(brush, size, colour) {
    brush.beginPath();
    brush.arc(this.#pen.x * size, this.#pen.y * size, WIDTH * size * 0.7, 0, 2 * Math.PI);
    brush.lineWidth = size / 110;
    brush.strokeStyle = brush.fillStyle = colour;
    if (this.#pen.down) brush.fill();
    brush.stroke();
  }
}
