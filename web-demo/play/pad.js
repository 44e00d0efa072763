// A pad on which the visitor draws strokes that the code has asked for; a stroke is a list of [x, y, milliseconds], x
// and y from 0 to 1.

/**
 * @param {{ name: string, count: number, examples?: number[][][] }} wish `examples` are for who cannot draw
 * @param {(strokes: number[][][]) => void} done
 */
export function makePad({ name, count, examples }, done) {
  const box = document.createElement('div');
  const words = document.createElement('p');
  const canvas = Object.assign(document.createElement('canvas'), { width: 260, height: 180, className: 'pad' });
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `A pad to draw ${name}`);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const [strokes, start] = [/** @type {number[][][]} */ ([]), performance.now()];
  /** @type {number[][] | undefined} */
  let stroke;
  box.append(words, canvas);

  const ask = () => {
    words.textContent = `Draw ${name} in one stroke${count > 1 ? ` (${strokes.length + 1} of ${count})` : ''}.`;
  };
  const end = (all) => {
    canvas.onpointerdown = null;
    box.querySelector('button')?.remove();
    words.textContent = `${name}: ${all.length} drawn.`;
    done(all);
  };
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.lineWidth = 4;
    context.lineCap = 'round';
    context.strokeStyle = getComputedStyle(canvas).color;
    stroke = [];
    canvas.onpointermove(event);
  };
  canvas.onpointermove = (event) => {
    if (!stroke) return;
    const [x, y] = [event.offsetX / canvas.clientWidth, event.offsetY / canvas.clientHeight];
    const [before] = stroke.slice(-1);
    stroke.push([x, y, Math.round(performance.now() - start)]);
    if (!before) return;
    context.beginPath();
    context.moveTo(before[0] * canvas.width, before[1] * canvas.height);
    context.lineTo(x * canvas.width, y * canvas.height);
    context.stroke();
  };
  canvas.onpointerup = () => {
    if (stroke && stroke.length > 4 && strokes.push(stroke) === count) end(strokes);
    else ask();
    stroke = undefined;
  };
  canvas.onpointercancel = () => {
    stroke = undefined;
  };
  if (examples) {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Draw it for me' });
    button.onclick = () => end(examples);
    box.append(button);
  }
  ask();
  return box;
}
