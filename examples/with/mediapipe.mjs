/**
 * Gestures from MediaPipe's hand landmarks: five examples of each teach a network of 20 KB, in the page.
 * The landmarker's model (`hand_landmarker.task`) is no part of its package, so this program makes hands of the same
 * shape; a page takes them from the camera:
 *
 *     import { FilesetResolver, HandLandmarker } from '@mediapipe/tasks-vision';
 *     const { landmarks } = handLandmarker.detectForVideo(video, performance.now());
 *     if (landmarks.length > 0) examples.push({ features: featuresOf(landmarks[0]), gesture: chosen });
 *
 *     node examples/with/mediapipe.mjs
 */

import { generateArtifacts, TrainingSession, tensor } from 'trainlet';
import { dense, dropout, input, sequential } from 'trainlet/layers';
import { isMain } from '../main.mjs';

/** @typedef {{ x: number, y: number, z: number }} Landmark 21 to a hand: the wrist, then four of each finger */

export const GESTURES = ['open', 'fist', 'pointing', 'victory'];
const WRIST = 0;
const MIDDLE_KNUCKLE = 9;

/** 63 numbers that do not depend on where the hand is and how large it looks. @param {Landmark[]} landmarks */
export function featuresOf(landmarks) {
  const { x, y, z } = landmarks[WRIST];
  const knuckle = landmarks[MIDDLE_KNUCKLE];
  const size = Math.hypot(knuckle.x - x, knuckle.y - y, knuckle.z - z);
  return landmarks.flatMap((point) => [(point.x - x) / size, (point.y - y) / size, (point.z - z) / size]);
}

/** Stretched fingers of each gesture, from the thumb on. */
const STRETCHED = { open: [1, 1, 1, 1, 1], fist: [0, 0, 0, 0, 0], pointing: [0, 1, 0, 0, 0], victory: [0, 1, 1, 0, 0] };

/** A hand anywhere in the picture, turned a little. @param {string} gesture @param {() => number} random */
function makeHand(gesture, random) {
  const jitter = (/** @type {number} */ by) => by * (2 * random() - 1);
  const [x, y, size, turn] = [0.5 + jitter(0.2), 0.6 + jitter(0.2), 0.25 + jitter(0.1), jitter(0.4)];
  const landmarks = [{ x, y, z: 0 }];
  for (const [finger, stretched] of STRETCHED[gesture].entries()) {
    const direction = turn + 0.35 * (finger - 2) + jitter(0.05);
    for (let joint = 1; joint <= 4; joint++) {
      const length = size * (stretched || joint === 1 ? 0.25 + 0.25 * joint : 0.6 - 0.08 * joint) + jitter(0.01);
      const z = stretched ? 0 : -0.1 * size * joint;
      landmarks.push({ x: x + length * Math.sin(direction), y: y - length * Math.cos(direction), z });
    }
  }
  return landmarks;
}

/** @param {number} count of each gesture @param {() => number} random */
function makeExamples(count, random) {
  const classes = GESTURES.flatMap((_, i) => Array(count).fill(i));
  const features = classes.map((i) => featuresOf(makeHand(GESTURES[i], random)));
  return { inputs: tensor(features), labels: tensor(classes, 'int64') };
}

/** @returns the share of new hands that are told right, and the trained model */
export async function learnGestures(random = Math.random) {
  const network = await sequential([
    input([63]),
    dense(64, { activation: 'relu' }),
    dropout(0.2),
    dense(GESTURES.length),
  ]);
  const options = { loss: 'cross-entropy', optimizer: { type: 'adamw', lr: 0.01 } };
  const session = await TrainingSession.create(await generateArtifacts(network, options));
  await session.fit(makeExamples(5, random), { epochs: 60, batchSize: 10 });
  const { accuracy } = await session.evaluate(makeExamples(50, random), { metrics: ['accuracy'] });
  const model = await session.exportModel();
  await session.release();
  return { accuracy, model };
}

if (isMain(import.meta.url)) {
  const { accuracy, model } = await learnGestures();
  console.log(`${(100 * accuracy).toFixed(0)} % of 200 new hands are told right; the model has ${model.length} bytes`);
}
