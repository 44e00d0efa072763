// The plot of a section of the benchmark of operators: the ratios of all rows, sorted, a curve for each size and peer.

const [WIDTH, HEIGHT] = [760, 300];
const EDGE = { left: 50, right: 200, top: 16, bottom: 30 };
const [LOW, HIGH] = [0.25, 16];
const TICKS = [0.25, 0.5, 1, 2, 4, 8, 16];
const COLOURS = ['#1f4fd8', '#a5331b', '#3b7a3b'];
const DASHES = ['', ' stroke-dasharray="5 4"'];

const across = (share) => EDGE.left + share * (WIDTH - EDGE.left - EDGE.right);
const up = (ratio) => {
  const share = Math.log(Math.min(HIGH, Math.max(LOW, ratio)) / LOW) / Math.log(HIGH / LOW);
  return HEIGHT - EDGE.bottom - share * (HEIGHT - EDGE.top - EDGE.bottom);
};
const text = (x, y, words, anchor = 'start') => `<text x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;

/** A line from the lowest ratio on the left to the highest on the right. */
function curveOf(ratios, look) {
  const sorted = [...ratios].sort((a, b) => a - b);
  const points = sorted.map((r, i) => `${across(i / Math.max(1, sorted.length - 1)).toFixed(1)},${up(r).toFixed(1)}`);
  return `<polyline fill="none" stroke-width="2" ${look} points="${points.join(' ')}"/>`;
}

/**
 * @param {{ peer: string, places: string[], figures: { place: string, ratio: number }[] }[]} peers
 * @returns {string}
 */
export function curvesOf(peers) {
  const grid = TICKS.map((ratio) => {
    const [y, width] = [up(ratio).toFixed(1), ratio === 1 ? 1.5 : 0.5];
    const line = `<line x1="${EDGE.left}" x2="${WIDTH - EDGE.right}" y1="${y}" y2="${y}" stroke-width="${width}"/>`;
    return `${line}${text(EDGE.left - 8, Number(y) + 4, ratio, 'end')}`;
  });
  const curves = peers.flatMap(({ peer, places, figures }, i) =>
    places.map((place, k) => ({ peer, place, look: `stroke="${COLOURS[k]}"${DASHES[i]}`, ratios: of(figures, place) })),
  );
  const drawn = curves.filter(({ ratios }) => ratios.length > 0);
  const keys = drawn.map(({ peer, place, look }, i) => {
    const [x, y] = [WIDTH - EDGE.right + 14, EDGE.top + 14 + 20 * i];
    const line = `<line x1="${x}" x2="${x + 22}" y1="${y - 4}" y2="${y - 4}" stroke-width="2" ${look}/>`;
    return `${line}${text(x + 28, y, `${place}, ${peer}`)}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}"`,
    ' font-family="system-ui, sans-serif" font-size="11" fill="#1b2230">',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fffefb"/>`,
    `<g stroke="#868d9b" fill="#5a6273">${grid.join('').replaceAll('<text', '<text stroke="none"')}</g>`,
    ...drawn.map(({ ratios, look }) => curveOf(ratios, look)),
    ...keys,
    text(EDGE.left, HEIGHT - 10, "the peer's time over ours, all rows, sorted; above 1 ours is faster"),
    '</svg>\n',
  ].join('\n');
}

const of = (figures, place) => figures.filter((figure) => figure.place === place).map(({ ratio }) => ratio);
