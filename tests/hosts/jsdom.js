// A test of vitest in jsdom, whose arrays are of another realm than Node's.
import { expect, test } from 'vitest';
import * as trainlet from 'trainlet';
import * as layers from 'trainlet/layers';
import { report, train } from './train.js';

test('the page trains', async () => {
  expect(typeof document).toBe('object');
  const text = await report(train(trainlet, { layers }));
  console.log(text);
  expect(text).toMatch(/^loss /);
});
