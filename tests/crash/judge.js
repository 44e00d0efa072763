// Holds what the writers of a store tell against what a training that was never killed gives: its losses, and its
// checkpoints' bytes.
import assert from 'node:assert/strict';
import { KEEP, STEPS } from './life.js';

/**
 * A writer's training that nobody kills: the loss of each step, and the hashes of the checkpoints saved at each.
 * @param {(tell: (event: any) => void, saved: (step: number, hash: string) => void) => Promise<void>} train a whole
 * life
 */
export async function referenceOf(train) {
  const losses = new Map(),
    hashes = new Map();
  await train(
    ({ trained }) => {
      if (trained) losses.set(trained.step, trained.loss);
    },
    (step, hash) => hashes.set(step, (hashes.get(step) ?? new Set()).add(hash)),
  );
  assert.equal(losses.size, STEPS);
  return { losses, hashes };
}

export class Judge {
  counts = { kills: 0, acknowledged: 0, versions: 0, losses: 0, resumed: 0, trainings: 0 };
  #references;
  /** Each writer's acknowledged saves, by version. @type {Map<number, { who: number, step: number }>} */
  #acknowledged = new Map();
  /** The newest checkpoint of each writer, as found. @type {Map<number, { step: number } | undefined>} */
  #own = new Map();

  /** @param {Map<number, Awaited<ReturnType<typeof referenceOf>>>} references by writer */
  constructor(references) {
    this.#references = references;
  }

  /** @param {number} who @param {any} event */
  hear(who, { error, found, begun, trained, saved, done }) {
    assert.equal(error, undefined, `writer ${who}: ${error}`);
    if (found) this.#own.set(who, found.versions.filter((version) => version.who === who).at(-1));
    if (begun !== undefined) this.#begins(who, begun);
    if (trained) this.#trained(who, trained);
    if (saved) this.#saved(who, saved);
    if (done) this.counts.trainings++;
  }

  #begins(who, step) {
    const own = this.#own.get(who);
    this.#own.delete(who);
    assert.equal(
      step,
      own && own.step < STEPS ? own.step : 0,
      `writer ${who} did not go on from its newest checkpoint`,
    );
    if (step) this.counts.resumed++;
  }

  #trained(who, { step, loss }) {
    assert.equal(
      loss,
      this.#references.get(who).losses.get(step),
      `writer ${who}: the loss of step ${step} is another than without a kill`,
    );
    this.counts.losses++;
  }

  #saved(who, { step, version }) {
    this.#acknowledged.set(version, { who, step });
    this.counts.acknowledged++;
  }

  /** The store's content when nobody writes. @param {any} found */
  inspect({ versions, newest, skipped }) {
    assert.deepEqual(skipped, [], 'a version is not whole');
    assert.equal(newest, versions.at(-1)?.version);
    const there = new Map(versions.map(({ version, ...rest }) => [version, rest]));
    for (const { version, who, step, hash } of versions) {
      assert.ok(
        this.#references.get(who).hashes.get(step)?.has(hash),
        `version ${version} of step ${step} is torn or mixed`,
      );
      this.counts.versions++;
    }
    for (const [version, { who, step }] of this.#acknowledged) {
      if (versions.filter((other) => other.version > version).length >= KEEP) this.#acknowledged.delete(version);
      else
        assert.deepEqual(
          [there.get(version)?.who, there.get(version)?.step],
          [who, step],
          `version ${version} was acknowledged and is lost`,
        );
    }
  }
  get summary() {
    const { kills, acknowledged, versions, resumed, losses, trainings } = this.counts;
    return (
      `${kills} kills, ${acknowledged} saves acknowledged, ${versions} versions found whole, ${resumed} resumes, ` +
      `${losses} losses and ${trainings} whole trainings the same to the bit`
    );
  }
}
