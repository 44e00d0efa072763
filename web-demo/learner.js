// The network in use and the lesson it is taught: what is kept of both, so that a closed tab loses nothing, and what
// becomes of a lesson at its end.
import { learn } from './lesson.js';
import { percent } from './reading.js';
import { DIGITS, HANDS, open, practice, read, refusal, save, widen } from './trainer.js';

const NETWORK = 'network', // in use; the version before it is what undo goes back to
  LESSON = 'lesson', // the network before the lesson, while it lasts
  STEPS = 'steps', // the lesson's steps
  NOTES = 'notes';
const KEEP_EVERY_MS = 1000;

/** @typedef {{ practised: number | null, aside: number | null, digits: number }} Figures  shares read correctly
 *  @typedef {{ rehearse: boolean, wrong: boolean, ids: string[] }} Plan
 *  @typedef {[step: number, value: number][]} Points */

const emptyNotes = () => ({
  /**
   * Figures of the network as it came, with rehearsal, and without.
   * @type {Record<string, Figures & { refused?: boolean }>}
   */
  figures: {},
  /** @type {{ own: Points, digits: Points }} */ chart: { own: [], digits: [] },
  step: 0,
  steps: 0,
  verdict: '',
  canUndo: false,
});

export class Learner {
  /** @type {import('../js/index.js').TrainingSession} */ session;
  /** @type {(Plan & { session: import('../js/index.js').TrainingSession, compact: Uint8Array }) | undefined} */ lesson;
  notes = emptyNotes();
  /** The step at which the lesson began or went on. */
  from = 0;
  #learned = /** @type {string[]} */ ([]);
  #store;
  #drawings;
  #digits;
  #on;
  #stopping = new AbortController();
  #running = false;

  /**
   * @param {import('../js/index.js').CheckpointStore | undefined} store
   * @param {import('./drawings.js').Drawings} drawings
   * @param {() => ReturnType<typeof import('./replay.js').loadReplay>} digits
   * @param {{ step: (event: import('../js/types.js').BatchEvent) => void, scored: () => void }} on
   */
  constructor(store, drawings, digits, on) {
    this.#store = store;
    this.#drawings = drawings;
    this.#digits = digits;
    this.#on = on;
  }

  /** The network as it was left, and the lesson that was cut short. */
  async open() {
    this.notes = { ...this.notes, .../** @type {any} */ ((await this.#store?.load(NOTES))?.meta) };
    const saved = await this.#store?.load(NETWORK);
    this.session = await open(saved?.bytes);
    this.#learned = /** @type {any} */ (saved?.meta.learned) ?? [];
    const lesson = await this.#store?.load(LESSON);
    if (!lesson) return;
    const steps = await this.#store?.load(STEPS);
    const session = await open(lesson.bytes, steps?.bytes);
    this.lesson = { .../** @type {any} */ (lesson.meta), compact: lesson.bytes, session };
  }

  /** After an engine's death: what is kept is opened again, in new workers. */
  async reopen() {
    const dead = [this.session, this.lesson?.session];
    this.session = /** @type {any} */ (undefined);
    this.lesson = undefined;
    for (const session of dead) await session?.release().catch(() => {});
    await this.open();
  }

  get running() {
    return this.#running;
  }
  /** The one to ask: what it reads changes while it is taught. */
  get speaking() {
    return this.#running ? this.lesson.session : this.session;
  }

  /** @param {Pick<Plan, 'rehearse' | 'wrong'>} plan */
  async begin({ rehearse, wrong }) {
    const own = this.#drawings.practised,
      classes = [...new Set([...DIGITS, ...own.map(({ label }) => label)])],
      plan = { rehearse, wrong, ids: own.map(({ id }) => id) };
    const { session, compact } = await widen(this.session, classes);
    await this.#store?.delete(STEPS);
    await this.#store?.save(LESSON, compact, plan);
    this.lesson = { ...plan, compact, session };
    Object.assign(this.notes, { chart: { own: [], digits: [] }, step: 0, steps: 0, verdict: '' });
    return await this.goOn();
  }

  /** Until the lesson's end, or until `stop`. */
  async goOn() {
    const { session, ids, rehearse, wrong } = this.lesson;
    this.#stopping = new AbortController();
    this.#running = true;
    this.from = -1;
    this.#on.scored();
    try {
      const before = await this.score(this.session),
        own = this.#drawings.list.filter(({ id }) => ids.includes(id)),
        data = practice(own, (await this.#digits()).practice, session.classNames, { rehearse, wrong });
      if (!this.notes.step) this.#mark(0, before);
      await learn(session, data, {
        augment: HANDS,
        checkpoint: this.#store && { store: this.#store, name: STEPS, everyMs: KEEP_EVERY_MS },
        onBatch: (event) => this.#stepped(event),
        onEpoch: async ({ step }) => this.#mark(step, await this.score(session)),
        signal: this.#stopping.signal,
      });
      await this.#end(before, await this.score(session));
    } catch (error) {
      if (error.code !== 'aborted') throw error;
    } finally {
      this.#running = false;
      await this.#keepNotes();
    }
  }

  stop() {
    this.#stopping.abort();
  }

  #stepped(event) {
    if (this.from < 0) this.from = event.step - 1;
    this.notes.step = event.step;
    this.notes.steps = event.steps;
    this.#on.step(event);
  }

  /** @param {number} step @param {Figures} figures */
  #mark(step, { practised, aside, digits }) {
    const { chart } = this.notes;
    for (const line of ['own', 'digits']) chart[line] = chart[line].filter(([at]) => at < step); // a step taken again
    if (practised !== null) chart.own.push([step, aside ?? practised]);
    chart.digits.push([step, digits]);
    this.#on.scored();
    return this.#keepNotes();
  }

  /** The gate: the new network takes the old one's place, or goes. */
  async #end(before, after) {
    const { session, rehearse, wrong, ids } = this.lesson,
      reason = refusal(before, after),
      { figures } = this.notes;
    if (!figures.before || !this.#learned.length) figures.before = before;
    if (!wrong) figures[rehearse ? 'rehearsed' : 'unrehearsed'] = { ...after, refused: Boolean(reason) };
    if (!reason) await this.#take([...new Set([...this.#learned, ...ids])]);
    else await session.release();
    this.notes.verdict = reason ? `Refused: ${reason}. The old network stays.` : praise(before, after);
    await this.#drop();
    if (reason) await this.score(this.session);
  }

  async #take(learned) {
    const { session, compact } = this.lesson,
      bytes = await save(session, { compact });
    await this.#store?.save(NETWORK, bytes, { learned });
    await this.session.release();
    this.session = session;
    this.#learned = learned;
    this.notes.canUndo = Boolean(this.#store);
  }

  async #drop() {
    this.lesson = undefined;
    await this.#store?.delete(LESSON);
    await this.#store?.delete(STEPS);
  }

  /** Goes back to the network before the last lesson that was taken. */
  async undo() {
    const versions = await this.#store.versions(NETWORK),
      before = versions.length > 1 ? await this.#store.load(NETWORK, { version: versions.at(-2).version }) : undefined;
    if (before) await this.#store.save(NETWORK, before.bytes, before.meta);
    else await this.#store.delete(NETWORK);
    await this.#use(await open(before?.bytes), /** @type {any} */ (before?.meta.learned) ?? []);
    this.notes.verdict = 'Undone: it reads as it did before that lesson.';
    await this.#keepNotes();
  }

  async #use(session, learned) {
    await this.session.release();
    this.session = session;
    this.#learned = learned;
    this.notes.canUndo = false;
    await this.score(session);
  }

  /** True if a lesson has used the drawing. @param {string} id */
  hasLearned(id) {
    return this.#learned.includes(id);
  }

  /** The network as it came, and no trace of any lesson. */
  async beginAgain() {
    await this.#drop();
    await this.#store?.delete(NETWORK);
    this.notes = emptyNotes();
    await this.#use(await open(), []);
    await this.#keepNotes();
  }

  /** Notes with each drawing what is read in it. @returns {Promise<Figures>} */
  async score(session) {
    const { list } = this.#drawings,
      shares = await read(session, list);
    list.forEach((drawing, i) => {
      drawing.reads = session.classNames[shares[i].indexOf(Math.max(...shares[i]))];
    });
    const { accuracy } = await session.evaluate((await this.#digits()).test, { batchSize: 100, metrics: ['accuracy'] });
    return {
      practised: rightShare(list.filter(({ aside }) => !aside)),
      aside: rightShare(list.filter(({ aside }) => aside)),
      digits: accuracy,
    };
  }

  #keepNotes() {
    return this.#store?.save(NOTES, new Uint8Array(), structuredClone(this.notes));
  }
}

/** @param {import('./drawings.js').Drawing[]} drawings */
const rightShare = (drawings) =>
  drawings.length ? drawings.filter(({ reads, label }) => reads === label).length / drawings.length : null;

function praise(before, after) {
  const said = (key) => `${percent(before[key])} → ${percent(after[key])}`;
  const drawings = said(after.aside === null ? 'practised' : 'aside');
  return `Learned. Your drawings ${drawings}, unseen digits ${said('digits')}.`;
}
