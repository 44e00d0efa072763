import { fineTune, Tensor } from 'trainlet';
import { pictures } from 'trainlet/models';

// your own photos: open files, and take each one's class from its name
const draw = (kind, size) => {
  const isInside = (x, y) =>
    kind === 'disc' ? x * x + y * y < size * size : Math.min(Math.abs(x), Math.abs(y)) < size / 4;
  const data = Uint8Array.from({ length: 64 * 64 * 4 }, (_, i) => {
    const [x, y] = [((i >> 2) % 64) - 32, (i >> 8) - 32];
    return i % 4 === 3 ? 255 : isInside(x, y) ? 40 + 60 * (i % 4) : 230;
  });
  return { width: 64, height: 64, data };
};
const labels = Array.from({ length: 12 }, (_, i) => (i % 2 ? 'cross' : 'disc'));
const photos = labels.map((kind, i) => draw(kind, 10 + 1.5 * i));
labels.forEach((kind, i) => show(photos[i], kind));

const options = { size: 96, mean: 0.5, std: 0.5 };
const { session, report } = await fineTune(pictures, { inputs: await Tensor.fromImage(photos, options), labels });
console.log('taken:', report.accepted, 'in', Math.round(report.ms), 'ms');
const unseen = await Tensor.fromImage([draw('cross', 19), draw('disc', 19)], options);
console.log((await session.predict(unseen, { labels: true })).labels.data);
