/** The session that only infers. */

import { lazy } from '../base/lazy.js';
import { endProfiling, INTERNALS, names, namesIn } from './open.js';
import { INFERENCE_OPTIONS, runGraph } from './run.js';

/** @import { BatchOptions, Feeds, Fetches, FetchStructure, RunOptions } from '../types.js' */
/** @import { GraphInfo, SessionInfo } from '../engine/protocol.js' */
/** @import { Client } from '../engine/client.js' */

/** @param {Client} client @param {{ info: SessionInfo }} loaded */
export async function createInference(client, { info }) {
  const graph = /** @type {GraphInfo} */ (info.model);
  const maps = [...graph.inputs, ...graph.outputs].some(({ map }) => map)
    ? await lazy(() => import('./maps.js'))
    : undefined;
  return new InferenceSession(client, info, maps);
}

export class InferenceSession {
  #client;
  #graph;
  #maps;

  /** Vue's reactive() puts no proxy around objects that have one: private fields are not there behind it. */
  get [Symbol.toStringTag]() {
    return 'InferenceSession';
  }

  /**
   * @param {Client} client
   * @param {SessionInfo} info
   * @param {typeof import('./maps.js')} [maps] where inputs or outputs are maps
   */
  constructor(client, info, maps) {
    const graph = /** @type {GraphInfo} */ (info.model);
    this.#client = client;
    this.#graph = graph;
    this.#maps = maps;
    this.inputs = graph.inputs;
    this.outputs = graph.outputs;
    this.inputNames = names(graph.inputs);
    this.outputNames = names(graph.outputs);
    this.classNames = namesIn(graph.classes);
    this.warnings = info.warnings;
  }

  static get name() {
    return 'InferenceSession';
  }

  get [INTERNALS]() {
    return { ask: this.#client.ask, info: { model: this.#graph } };
  }

  /**
   * @param {Feeds} feeds
   * @param {Fetches | FetchStructure | (RunOptions & BatchOptions)} [fetches]
   * @param {RunOptions & BatchOptions} [options]
   */
  async run(feeds, fetches, options) {
    const run = this.#maps?.runWithMaps ?? runGraph;
    return await run(this.#client.ask, 'model', this.#graph, feeds, fetches, options, { keys: INFERENCE_OPTIONS });
  }

  async getMemoryPlan() {
    return await this.#client.ask('memoryPlan', undefined);
  }

  async getGraphText() {
    return await this.#client.ask('graphText', 'model');
  }

  async startProfiling() {
    await this.#client.ask('timeNodes', true);
  }

  async endProfiling() {
    return await endProfiling(this.#client.ask, 'model');
  }

  /** @param {{ signal?: AbortSignal }} [options] */
  async release(options) {
    await this.#client.release(options);
  }

  [Symbol.asyncDispose]() {
    return this.release();
  }
}
