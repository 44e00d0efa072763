// A page with what bundlers find hard: both entries of the package, a model beside the page, augmentation in a worker
// of its own, and the network of pictures. It takes the place of an example's script, or is a bundler's own page.
import * as trainlet from 'trainlet';
import * as layers from 'trainlet/layers';
import { pictures } from 'trainlet/models';
import { show, train } from './train.js';

const { fineTune, Tensor } = trainlet;

/** Light and dark pictures; the share of them that is read right. */
async function learnPictures() {
  const labels = Array.from({ length: 8 }, (_, i) => (i % 2 ? 'light' : 'dark'));
  const photos = labels.map((label, i) => {
    const canvas = new OffscreenCanvas(100, 100);
    const context = canvas.getContext('2d');
    context.fillStyle = `hsl(${45 * i} 50% ${label === 'light' ? 80 : 20}%)`;
    context.fillRect(0, 0, 100, 100);
    return canvas;
  });
  const image = await Tensor.fromImage(photos, { size: 96, mean: 0.5, std: 0.5 });
  const { session } = await fineTune(pictures, { inputs: { image }, labels });
  const read = await session.predict({ image }, { labels: true });
  await session.release();
  return labels.filter((label, i) => read.labels.data[i] === label).length;
}

const all = async () => `${await train(trainlet, { layers })}; ${await learnPictures()} of 8 pictures`;
show(all());
