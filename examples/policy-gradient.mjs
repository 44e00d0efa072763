/**
 * A policy gradient (REINFORCE): a network balances a pole on a cart; what was done long before the pole fell is done
 * more often.
 *
 *     node examples/policy-gradient.mjs
 */

import { readFile } from 'node:fs/promises';
import { generateArtifacts, Tensor, TrainingSession, tensor } from 'trainlet';
import { isMain } from './main.mjs';
import { noise } from './noise.mjs';

const MOST_STEPS = 100;

/** @typedef {[position: number, speed: number, angle: number, spin: number]} State */

/** @param {number} episodes @param {(episode: number, length: number) => void} [tell] */
export async function train(episodes, tell = () => {}) {
  const model = await readFile(new URL('policy.onnx', import.meta.url));
  const artifacts = await generateArtifacts(model, { loss: 'outside', optimizer: { type: 'adam', lr: 0.02 } });
  const session = await TrainingSession.create(artifacts);
  const told = [];
  for (let episode = 0; episode < episodes; episode++) {
    const { states, actions } = await play(session, episode);
    const { outputs, backward } = await session.forward({ state: tensor(states) });
    const { loss, gradient } = policyLoss(outputs.logits, actions);
    await backward({ logits: gradient });
    await session.runOptimizerStep();
    await session.lazyResetGrad();
    told.push([loss, states.length]);
    tell(episode, states.length);
  }
  await session.release();
  return told;
}

/** One game, by chance as the policy weighs it. @param {TrainingSession} session @param {number} episode */
async function play(session, episode) {
  let state = /** @type {State} */ ([0, 1, 2, 3].map((k) => 0.1 * (noise(episode * 1000 + k) - 0.5)));
  /** @type {State[]} */
  const states = [];
  const actions = [];
  while (states.length < MOST_STEPS && Math.abs(state[2]) < 0.21 && Math.abs(state[0]) < 2.4) {
    states.push(state);
    const { logits } = await session.predict({ state: tensor([state]) });
    const [left, right] = Array.from(logits.data, Number);
    const action = Number(noise(episode * 1000 + 500 + states.length) < 1 / (1 + Math.exp(left - right)));
    actions.push(action);
    state = pole(state, action);
  }
  return { states, actions };
}

/**
 * −Σ advantage · log π(action) / n, and its gradient. An action's advantage: how much longer than on average the game
 * went on after it.
 * @param {Tensor} logits @param {number[]} actions
 */
function policyLoss({ data, dims }, actions) {
  const n = actions.length;
  const gradient = new Float32Array(2 * n);
  let loss = 0;
  for (let i = 0; i < n; i++) {
    const advantage = (n - i - (n + 1) / 2) / n;
    const right = 1 / (1 + Math.exp(Number(data[2 * i]) - Number(data[2 * i + 1])));
    loss -= (advantage * Math.log(actions[i] ? right : 1 - right)) / n;
    gradient[2 * i + 1] = (advantage * (right - actions[i])) / n;
    gradient[2 * i] = -gradient[2 * i + 1];
  }
  return { loss, gradient: new Tensor('float32', gradient, dims) };
}

/**
 * 0.02 s of a pole of 1 m and 0.1 kg on a cart of 1 kg that is pushed by 10 N (Barto, Sutton and Anderson 1983).
 * @param {State} state @param {number} action
 * @returns {State}
 */
function pole([position, speed, angle, spin], action) {
  const [force, total, length] = [action ? 10 : -10, 1.1, 0.5];
  const pull = (force + 0.05 * spin * spin * Math.sin(angle)) / total;
  const turn =
    (9.8 * Math.sin(angle) - Math.cos(angle) * pull) / (length * (4 / 3 - (0.1 * Math.cos(angle) ** 2) / total));
  const slide = pull - (0.05 * turn * Math.cos(angle)) / total;
  return [position + 0.02 * speed, speed + 0.02 * slide, angle + 0.02 * spin, spin + 0.02 * turn];
}

if (isMain(import.meta.url)) await train(300, (episode, length) => console.log(`episode ${episode}: ${length} steps`));
