// Holds what a person's page tells and what its stores have against what is there when nobody kills it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { dataOf, KEEP, NAME, optionsOf, PEOPLE, WITHOUT } from './person.js';

const keyOf = (who, without) => `${who} without ${without ?? 'none'}`;

/**
 * Results of each fineTune that nobody kills: the hash of its final session, and those of all that it saves.
 * @param {typeof import('../../js/index.js')} trainlet @param {Uint8Array} model
 */
export async function personReferences(trainlet, model) {
  const references = new Map();
  for (let who = 0; who < PEOPLE; who++)
    for (const without of [undefined, WITHOUT]) {
      const hashes = new Set();
      let last;
      const save = async (_, bytes) => {
        last = createHash('sha256').update(bytes).digest('hex');
        hashes.add(last);
      };
      const store = { save, load: async () => undefined };
      const options = optionsOf({ store, name: NAME, everySteps: 1 });
      const { session } = await trainlet.fineTune(model, dataOf(trainlet, who, without), options);
      await session.release();
      references.set(keyOf(who, without), { hash: last, hashes });
    }
  return references;
}

export class PersonJudge {
  counts = { kills: 0, acknowledged: 0, samples: 0, versions: 0, learned: 0, resumed: 0, tuned: 0, forgotten: 0 };
  #references;
  #hashes;
  /** Each sample's acknowledged state. @type {Map<string, { label?: string | null, gone?: boolean }>} */
  #samples = new Map();
  /**
   * Changes about to be made: a label, or undefined for samples to be deleted. @type {Map<string, unknown>}
   */
  #changing = new Map();
  /** It has not saved what it learned since the last kill. */
  #begins = true;
  /** Acknowledged versions. @type {Set<number>} */
  #versions = new Set();

  /** @param {Awaited<ReturnType<typeof personReferences>>} references */
  constructor(references) {
    this.#references = references;
    this.#hashes = new Set([...references.values()].flatMap(({ hashes }) => [...hashes]));
  }

  /** @param {number} _who @param {any} event */
  hear(_who, { error, found, saved, changing, clearing, tuned }) {
    assert.equal(error, undefined, `the page: ${error}`);
    if (found) this.#begins = true;
    if (changing) this.#changing.set(changing.id, changing.to);
    if (clearing) this.#versions.clear();
    if (saved) this.#saved(saved);
    if (tuned) this.#tuned(tuned);
  }

  #saved({ id, label, gone, ...saved }) {
    this.counts.acknowledged++;
    if (id) this.#samples.set(id, { label, gone });
    else this.#learned(saved);
  }

  #learned({ version, hash, isFirst }) {
    assert.ok(this.#hashes.has(hash), `version ${version} has bytes that no training without a kill saves`);
    this.#versions.add(version);
    if (this.#begins && !isFirst) this.counts.resumed++;
    this.#begins = false;
    this.counts.learned++;
  }

  #tuned({ who, without, hash, left = [] }) {
    const reference = this.#references.get(keyOf(who, without));
    assert.equal(hash, reference.hash, `${keyOf(who, without)} ended in other bits than without a kill`);
    assert.deepEqual(left, [], 'something is left of what was forgotten');
    this.counts.tuned++;
    if (without !== undefined) this.counts.forgotten++;
  }

  /** The content when nobody writes. @param {any} found */
  inspect({ there, versions }) {
    const now = new Map(there.map((sample) => [sample.id, sample]));
    for (const { id, whole } of there) assert.ok(whole, `sample ${id} is torn or mixed`);
    for (const [id, was] of this.#samples) this.#inspectSample(id, was, now.get(id));
    this.counts.samples += there.length;
    this.#samples = new Map(there.map(({ id, label }) => [id, { label }]));
    this.#changing.clear();
    for (const { version, hash, skipped } of versions) {
      assert.equal(skipped, 0);
      assert.ok(this.#hashes.has(hash), `version ${version} has bytes that no training without a kill saves`);
    }
    this.counts.versions += versions.length;
    for (const version of this.#versions) {
      const newer = versions.filter((other) => other.version > version).length;
      const kept = newer >= KEEP || versions.some((other) => other.version === version);
      assert.ok(kept, `version ${version} was acknowledged and is lost`);
    }
  }

  /** @param {string} id @param {{ label?: string | null, gone?: boolean }} was @param {any} is */
  #inspectSample(id, was, is) {
    if (was.gone) return assert.equal(is, undefined, `sample ${id} was deleted and is there`);
    const changing = this.#changing.has(id);
    if (!is) return assert.ok(changing && this.#changing.get(id) === undefined, `sample ${id} is lost`);
    const mayBe = [was.label, ...(changing ? [this.#changing.get(id)] : [])];
    assert.ok(mayBe.includes(is.label), `sample ${id} is a ${is.label}, and was acknowledged as a ${was.label}`);
  }

  get summary() {
    const { kills, acknowledged, samples, versions, learned, resumed, tuned, forgotten } = this.counts;
    return (
      `${kills} kills, ${acknowledged} writes acknowledged, ${samples} samples and ${versions} versions found whole, ` +
      `${resumed} resumes, ${learned} saves and ${tuned} ends of fineTune the same to the bit, ` +
      `${forgotten} of them forgetting`
    );
  }
}
