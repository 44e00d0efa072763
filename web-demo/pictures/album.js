// The person's classes and pictures, kept in this browser: what is added is there when the page is opened again.

import { FeatureStore, SampleStore } from '../../js/index.js';
import { rememberedList, setRemembered } from '../remembered.js';
import { EXAMPLES, exampleOf } from './examples.js';
import { batchOf, pictureOf } from './picture.js';

/** @typedef {import('./picture.js').Picture} Picture */
/** @typedef {{ id: string, picture: Picture, label: string }} Kept */
/** @typedef {{ id: string, name: string }} Class */

const NAMES = 'trainlet pictures: classes';
/** The last of so many pictures of a class is not learned but tested. */
const TEST_EVERY = 5;

/** @param {any} one @returns {one is Class} */
const isClass = (one) => typeof one?.id === 'string' && typeof one.name === 'string';

export class Album {
  /** @type {Class[]} */
  classes = [];
  /** Oldest first. @type {Kept[]} */
  pictures = [];
  /** @type {SampleStore | undefined} */
  #store;
  /** @type {Promise<FeatureStore | undefined> | undefined} */
  #features;

  /** @param {SampleStore} [store]  without it, nothing outlives the page */
  constructor(store) {
    this.#store = store;
  }

  static async open() {
    const store = await SampleStore.open({ name: 'pictures' }).catch(() => undefined); // a private window may forbid it
    const album = new Album(store);
    album.classes = rememberedList(NAMES, isClass) ?? ['A', 'B'].map(classNamed);
    for (const { id } of (await store?.list()) ?? []) {
      const sample = await store?.get(id);
      if (sample?.label) album.#take(id, sample.label, /** @type {Picture} */ (sample.inputs.picture));
    }
    return album;
  }

  /** The built-in examples, which are not kept. @param {number} each pictures of each */
  static async ofExamples(each) {
    const album = new Album();
    album.classes = EXAMPLES.map((name) => ({ id: name, name }));
    for (const [which, name] of EXAMPLES.entries())
      for (let i = 0; i < each; i++) await album.add(name, await pictureOf(await exampleOf(which, 1000 * which + i)));
    return album;
  }

  /**
   * A picture of a class whose name was lost brings it back.
   * @param {string} id @param {string} label @param {Picture} picture
   */
  #take(id, label, picture) {
    if (!this.classes.some((c) => c.id === label)) this.classes.push({ id: label, name: label });
    this.pictures.push({ id, label, picture });
  }

  /** @param {string} label @param {Picture} picture */
  async add(label, picture) {
    const id = (await this.#store?.add({ inputs: { picture }, label })) ?? crypto.randomUUID();
    this.#take(id, label, picture);
  }

  /** The backbone's features of the pictures; undefined where the browser keeps nothing. */
  get features() {
    if (this.#store) this.#features ??= FeatureStore.open({ name: 'pictures' }).catch(() => undefined);
    return this.#features;
  }

  /** Gone from the storage too. @param {string} id */
  async forget(id) {
    const gone = this.pictures.filter((kept) => kept.id === id).map(({ picture }) => picture);
    if (gone.length) await (await this.features)?.delete({ image: batchOf(gone) });
    await this.#store?.delete(id);
    this.pictures = this.pictures.filter((kept) => kept.id !== id);
  }

  /** @param {string} label */
  of(label) {
    return this.pictures.filter((kept) => kept.label === label);
  }

  // ── classes ──

  /** @param {string} name */
  addClass(name) {
    this.classes.push(classNamed(name));
    this.#saveNames();
    return this.classes[this.classes.length - 1];
  }

  /** @param {string} id @param {string} name */
  rename(id, name) {
    this.classes = this.classes.map((c) => (c.id === id ? { id, name } : c));
    this.#saveNames();
  }

  /** With its pictures. @param {string} id */
  async removeClass(id) {
    for (const kept of this.of(id)) await this.forget(kept.id);
    this.classes = this.classes.filter((c) => c.id !== id);
    this.#saveNames();
  }

  /** Undoes `removeClass`. @param {Class} c @param {number} at @param {Kept[]} pictures */
  async restoreClass(c, at, pictures) {
    this.classes.splice(at, 0, c);
    this.#saveNames();
    for (const { picture } of pictures) await this.add(c.id, picture);
  }

  #saveNames() {
    setRemembered(NAMES, JSON.stringify(this.classes));
  }

  // ── what is learned, what is tested ──

  /** Classes with pictures. */
  get taught() {
    return this.classes.filter(({ id }) => this.of(id).length);
  }

  /** Every fifth picture of a class is for the test. */
  split() {
    const [learned, tested] = [/** @type {Kept[]} */ ([]), /** @type {Kept[]} */ ([])];
    for (const { id } of this.taught)
      this.of(id).forEach((kept, i) => (i % TEST_EVERY === TEST_EVERY - 1 ? tested : learned).push(kept));
    return { learned, tested };
  }
}

/** @param {string} name @returns {Class} */
const classNamed = (name) => ({ id: crypto.randomUUID(), name });
