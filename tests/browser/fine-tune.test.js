// A person's drawings, from a canvas to a network that knows them, in a page: its thread stays free, what was learned
// is saved, resumed and exported.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openSite } from './site.js';

/** Ms. A page that is busy for longer does not answer in time: 50, and as much again where other tests run too. */
const LONG_TASK = 100;
let site, page, context;
before(async () => {
  site = await openSite();
  ({ page, context } = await site.newPage());
  await page.evaluate(async () => {
    Object.assign(globalThis, await import('/js/index.js'));
    let state = 1;
    const random = () => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return state / 2 ** 32;
    };
    /** A ring, a cross, a bar or a wheel, white on black, anywhere and of any size. */
    const draw = (label) => {
      const pen = Object.assign(document.createElement('canvas'), { width: 56, height: 56 }).getContext('2d');
      pen.fillRect(0, 0, 56, 56);
      pen.translate(24 + 8 * random(), 24 + 8 * random());
      pen.rotate(0.6 * random() - 0.3);
      pen.scale(0.8 + 0.4 * random(), 0.8 + 0.4 * random());
      Object.assign(pen, { strokeStyle: 'white', lineWidth: 5 });
      pen.beginPath();
      const line = (x, y) => {
        pen.moveTo(-x, -y);
        pen.lineTo(x, y);
      };
      if (label === 'ring' || label === 'wheel') pen.arc(0, 0, 14, 0, 7);
      if (label !== 'ring') line(15, 0);
      if (label === 'cross' || label === 'wheel') line(0, 15);
      pen.stroke();
      return pen.canvas;
    };
    globalThis.drawings = async (each, signs = ['ring', 'cross', 'bar']) => {
      const labels = signs.flatMap((label) => Array(each).fill(label));
      const input = await globalThis.Tensor.fromImage(labels.map(draw), { size: 28, channels: 1 });
      return { inputs: { input }, labels };
    };
    globalThis.right = ({ labels }, wanted) =>
      labels.data.filter((label, i) => label === wanted[i]).length / wanted.length;
  });
});
after(async () => {
  await context?.close();
  await site?.close();
});

test('ten drawings of each of three signs are learned, and the page stays free', async () => {
  const found = await page.evaluate(async () => {
    const { drawings, fineTune, right } = globalThis;
    const [learned, asked] = [await drawings(10), await drawings(40)];
    await new Promise((resolve) => setTimeout(resolve, 200)); // the drawing is over
    const tasks = [];
    const observer = new PerformanceObserver((list) =>
      tasks.push(...list.getEntries().map(({ duration }) => duration)),
    );
    observer.observe({ type: 'longtask' });
    const { session, report } = await fineTune('/golden/resnet_folded.onnx', learned);
    observer.disconnect();
    globalThis.tuned = { session, asked };
    const share = right(await session.predict(asked.inputs, { labels: true }), asked.labels);
    return {
      share,
      tasks,
      classes: report.classes,
      accepted: report.accepted,
      features: report.phases[0].history.features,
    };
  });
  assert.deepEqual([found.classes, found.accepted], [['ring', 'cross', 'bar'], true]);
  assert.ok(found.share > 0.9, `${found.share} of 120`);
  assert.ok(found.features);
  assert.ok(Math.max(0, ...found.tasks) <= LONG_TASK, `tasks of ${found.tasks} ms`);
});

test('what was learned is saved and exported with the names of its classes', async () => {
  const found = await page.evaluate(async () => {
    const { session, asked } = globalThis.tuned;
    const store = await globalThis.CheckpointStore.open();
    await store.save('signs', await session.saveCheckpoint());
    const model = await session.exportModel();
    const exported = await globalThis.InferenceSession.create(model);
    const [mine, theirs] = [await session.predict(asked.inputs), await exported.run(asked.inputs)];
    const { bytes } = await store.load('signs');
    return {
      same: mine.scores.data.every((x, i) => x === theirs.scores.data[i]),
      classNames: exported.classNames,
      bytes: bytes.length,
    };
  });
  assert.deepEqual([found.same, found.classNames], [true, ['ring', 'cross', 'bar']]);
  assert.ok(found.bytes > 1000);
});

test('one more sign beside those that were learned', async () => {
  const found = await page.evaluate(async () => {
    const { drawings, right } = globalThis;
    const { session, asked } = globalThis.tuned;
    const signs = [...session.classNames, 'wheel'];
    const examples = await drawings(10, signs);
    const wheels = await drawings(40, ['wheel']);
    const wider = await globalThis.TrainingSession.create(
      await session.extendOutput('scores', ['wheel'], { examples }),
    );
    const [was, is] = [await session.predict(asked.inputs), await wider.predict(asked.inputs)];
    const rights = async () =>
      Promise.all(
        [asked, wheels].map(async (of) => right(await wider.predict(of.inputs, { labels: true }), of.labels)),
      );
    const first = await rights();
    const labels = new globalThis.Tensor(
      'int64',
      examples.labels.map((label) => BigInt(signs.indexOf(label))),
    );
    await wider.fit({ inputs: examples.inputs, labels: { labels } }, { epochs: 20 });
    return {
      same: was.scores.data.every((x, i) => x === is.scores.data[4 * Math.floor(i / 3) + (i % 3)]),
      first,
      last: await rights(),
    };
  });
  assert.ok(found.same);
  assert.ok(Math.min(...found.first) > 0.7, `before any step ${found.first}`);
  assert.ok(Math.min(...found.last) > 0.8, `after training ${found.last}`);
});
