// A language model in a page: transformers' tokens from a worker and from the page, what it has learned, a stop.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '../../tools/programs.mjs';
import { openSite } from './site.js';

const { greedy } = JSON.parse(readFileSync(join(root, 'tests/golden/data/generate.json'), 'utf8'));
const MODEL = '/golden/generate/llama_past.onnx';

let site, page, context;
before(async () => {
  site = await openSite();
  ({ page, context } = await site.newPage());
});
after(async () => {
  await context?.close();
  await site?.close();
});

test("the tokens are those of transformers' generate, in a worker and in the page", async () => {
  const [{ prompt, ids }] = greedy.llama;
  const found = await page.evaluate(
    async ([model, prompt, maxTokens]) => {
      const { generate, InferenceSession } = await import('/js/index.js');
      const made = [];
      for (const worker of [true, false]) {
        const session = await InferenceSession.create(model, { worker, reproducible: true });
        made.push((await generate(session, prompt, { maxTokens })).ids);
        await session.release();
      }
      return made;
    },
    [MODEL, prompt, ids.length],
  );
  assert.deepEqual(found, [ids, ids]);
});

test('what was learned answers, and a signal ends it', async () => {
  const cycle = [5, 17, 3, 29];
  const { learned, stopped, told } = await page.evaluate(
    async ([model, cycle]) => {
      const { generate, generateArtifacts, packText, TrainingSession } = await import('/js/index.js');
      const engine = { reproducible: true };
      const loss = { type: 'cross-entropy', ignoreIndex: -100 };
      const optimizer = { type: 'adamw', lr: 0.02 };
      const artifacts = await generateArtifacts(model, { ...engine, loss, optimizer, lora: { r: 4, alpha: 8 } });
      const session = await TrainingSession.create(artifacts, engine);
      const ids = Array.from({ length: 160 }, (_, i) => cycle[i % cycle.length]);
      await session.fit(await packText(ids, { length: 12, inputs: session.trainingInputs }), { epochs: 20, seed: 1 });
      const { ids: learned } = await generate(session, cycle, { maxTokens: 8 });
      const controller = new AbortController();
      const told = [];
      const onToken = (id) => told.push(id) === 5 && controller.abort();
      const endless = generate(session, cycle, { maxTokens: 1e6, onToken, signal: controller.signal });
      const stopped = await endless.catch(({ code }) => code);
      await session.release();
      return { learned, stopped, told };
    },
    [MODEL, cycle],
  );
  assert.deepEqual(learned, [...cycle, ...cycle]);
  assert.equal(stopped, 'aborted');
  assert.deepEqual(told, learned.slice(0, 5));
});
