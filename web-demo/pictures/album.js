// The person's classes and pictures, kept in this browser: what is added is there when the page is opened again.

import { FeatureStore, SampleStore } from '../../js/index.js';
import { rememberedList, setRemembered } from '../remembered.js';
import { EXAMPLES } from './examples.js';
import { batchOf } from './picture.js';

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
  /** @type {SampleStore} */
  #store;
  /** @type {Promise<FeatureStore | undefined> | undefined} */
  #features;

  /** @param {SampleStore} store */
  constructor(store) {
    this.#store = store;
  }

  static async open() {
    const album = new Album(await SampleStore.open({ name: 'pictures' }));
    album.classes = rememberedList(NAMES, isClass) ?? ['A', 'B', 'C'].map(classNamed);
    for (const { id } of await album.#store.list()) {
      const sample = await album.#store.get(id);
      if (sample?.label) album.#take(id, sample.label, /** @type {Picture} */ (sample.inputs.picture));
    }
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
    const id = await this.#store.add({ inputs: { picture }, label });
    this.#take(id, label, picture);
  }

  /** The backbone's features of the pictures; undefined where the browser keeps nothing. */
  get features() {
    this.#features ??= FeatureStore.open({ name: 'pictures' }).catch(() => undefined);
    return this.#features;
  }

  /** Gone from the storage too. @param {string} id */
  async forget(id) {
    const gone = this.pictures.filter((kept) => kept.id === id).map(({ picture }) => picture);
    if (gone.length) await (await this.features)?.delete({ image: batchOf(gone) });
    await this.#store.delete(id);
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

  /** The classes of the built-in examples: the empty ones are taken for them first. @returns {Class[]} */
  exampleClasses() {
    const empty = this.classes.filter(({ id }) => !this.of(id).length);
    const made = EXAMPLES.map((name) => {
      const there = this.classes.find((c) => c.name === name) ?? empty.shift() ?? this.addClass(name);
      this.rename(there.id, name);
      return { id: there.id, name };
    });
    return made;
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
