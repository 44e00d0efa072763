/** `trainlet/federated`: a SuperNode of Flower. */

import type { AbortSignal, AsyncDisposed, Bytes, URL } from '../internal/platform.js';
import type { Dataset } from '../data.js';
import type { TrainletError } from '../errors.js';
import type { BatchEvent, EvaluateOptions, FitOptions } from '../fit.js';
import type { TrainingSession } from '../training-session.js';

/** The most that a SuperLink may ask for; a message that asks for more is refused. */
export interface SuperNodeLimits {
  /** Epochs of a round. Default 10. */
  readonly epochs?: number;
  /** The batch size. Default 1,024. */
  readonly batchSize?: number;
  /** The learning rate. Default 1. */
  readonly lr?: number;
  /** FedProx's μ. Default 100. */
  readonly mu?: number;
}

/**
 * The parameters of a session as a file of safetensors, with which a federation begins: a ServerApp in Python reads it
 * by `safetensors.numpy.load_file`.
 */
export function parametersFile(
  session: TrainingSession,
  options?: {
    /** The same as in `SuperNode.connect`. Default `all`. */
    exchange?: 'all' | 'trainable' | 'adapter';
  },
): Promise<Bytes>;

/**
 * ε at δ of the Gaussian mechanism after some rounds, by Rényi differential privacy, with the orders of Google's
 * dp-accounting (to add or leave out what a sensitivity of 1 covers).
 */
export function epsilonOf(mechanism: {
  /** The noise's standard deviation divided by the sensitivity; from 0 up. */
  noiseMultiplier: number;
  /** The rounds; a whole number from 0 up. */
  rounds: number;
  /** δ: above 0 and below 1. */
  delta: number;
  /** The chance of each client to be in a round, drawn anew for each (Poisson sampling). Default 1. */
  samplingRate?: number;
}): Promise<number>;

/** Local differential privacy: what leaves the device is clipped and has noise, and rounds are counted. */
export interface PrivacyOptions {
  /** The Euclidean norm to which the update of all exchanged parameters is clipped; above 0. */
  readonly clippingNorm: number;
  /** The noise's standard deviation is so many times `clippingNorm`; above 0. */
  readonly noiseMultiplier: number;
  /** δ of the guarantee: above 0 and below 1; below 1 / the number of people. */
  readonly delta: number;
  /** The node refuses a round that would make ε larger, and leaves. Default: no limit. */
  readonly maxEpsilon?: number;
  /** Rounds that were spent before, as `onSpend` told of them. Default 0. */
  readonly spent?: number;
  /** Called with the rounds spent, before each update leaves; a promise is waited for. Keep them for the next time. */
  readonly onSpend?: (rounds: number) => unknown;
}

/** The privacy that is spent. */
export interface PrivacyState {
  /** ε at `delta` so far, for all of this node's examples replaced by any others. */
  readonly epsilon: number;
  /** ε after one more round. */
  readonly next: number;
  /** δ, as it was set. */
  readonly delta: number;
  /** The most ε, as it was set; Infinity without a limit. */
  readonly maxEpsilon: number;
  /** Rounds whose update has left, those before this node's time included. */
  readonly rounds: number;
}

/** Options of `SuperNode.connect`. */
export interface SuperNodeOptions {
  /** It trains and is measured; its parameters are replaced by the SuperLink's at each round. */
  readonly session: TrainingSession;
  /** The examples, which never leave the device. */
  readonly data: Dataset;
  /** The examples on which the SuperLink's model is measured. Default: `data`. */
  readonly validation?: Dataset;
  /**
   * The number of examples in `data`: the weight of this node's parameters in the average, which the SuperLink sees.
   * Default: the length of whole arrays.
   */
  readonly examples?: number;
  /**
   * The parameters that go both ways, by name and shape; the SuperLink's model must have exactly these. `all`: all of
   * float32, with running statistics. `trainable`: those that train. `adapter`: the same, of a session with `lora`.
   * Default `all`.
   */
  readonly exchange?: 'all' | 'trainable' | 'adapter';
  /** The type in which parameters are sent; both are read. Default `float32`. */
  readonly precision?: 'float32' | 'float16';
  /** Options of each round's `fit`; the SuperLink may set epochs, batch size and learning rate within `limits`. */
  readonly fit?: Omit<FitOptions, 'resume' | 'signal' | 'onBatch'>;
  /** Options of each round's `evaluate`. */
  readonly evaluate?: Omit<EvaluateOptions, 'signal'>;
  /** The most that the SuperLink may ask for. */
  readonly limits?: SuperNodeLimits;
  /**
   * Keeps the key, so that the node is the same one next time. In a page a name in IndexedDB, where each tab that is
   * open has a key of its own and none can be exported; in Node the path of a file. Default: a new key each time.
   */
  readonly identity?: string;
  /**
   * Differential privacy of what is sent. Then no losses or metrics of the training are sent, and the node is measured
   * on `validation` alone, which its privacy does not cover. Default: parameters are sent as they are.
   */
  readonly privacy?: PrivacyOptions;
  /** Seconds between heartbeats, 10 to 1,800: a node that is silent for twice as long has left. Default 30. */
  readonly heartbeat?: number;
  /** Milliseconds between two questions for work; at least 10. Default 3,000. */
  readonly pollMs?: number;
  /** Leaves, as `leave` does; `connect` is rejected with `aborted`. */
  readonly signal?: AbortSignal;
  /** Called after each message that was answered; a promise is waited for. An error that it throws ends the node. */
  readonly onRound?: (event: RoundEvent) => unknown;
  /** Called after each batch of a round's training. */
  readonly onProgress?: (event: RoundProgress) => unknown;
  /** Called for each message that is refused, each round that fails and each call that is tried again. */
  readonly onError?: (event: NodeErrorEvent) => unknown;
}

/** A round of which this node has done its share. */
export interface RoundEvent {
  /** The work that the SuperLink asked for. */
  readonly type: 'train' | 'evaluate';
  /** The SuperLink's number of the round, from 1; 0 where it says none. */
  readonly round: number;
  /** Sent to the SuperLink, but with `privacy`: `loss` and other numbers of the last epoch, or of the evaluation. */
  readonly metrics: Readonly<Record<string, number>>;
  /** The number of examples that was sent. */
  readonly examples: number;
  /** Keys of the SuperLink's config that this node does not know, and does nothing about. */
  readonly ignored: readonly string[];
  /** The privacy spent so far; absent without `privacy`. */
  readonly privacy?: PrivacyState;
  /** Milliseconds of work, without the way from and to the SuperLink. */
  readonly ms: number;
  /** Bytes of objects that came and went. */
  readonly bytes: {
    /** From the SuperLink. */
    readonly received: number;
    /** To the SuperLink: parameters and metrics. */
    readonly sent: number;
  };
}

/** A batch of a round's training. */
export interface RoundProgress extends BatchEvent {
  /** Only training has batches that are told. */
  readonly type: 'train';
  /** The SuperLink's number of the round. */
  readonly round: number;
}

/** An error that does not end the node. */
export interface NodeErrorEvent {
  /** The error, as a sentence. */
  readonly error: TrainletError;
  /** Milliseconds until the call is tried again; absent where nothing is. */
  readonly retryMs?: number;
}

export interface SuperNode extends AsyncDisposed {}

/**
 * A SuperNode of Flower, from which a SuperLink of flwr 1.42 gets what a session learned, and never an example.
 * ```js
 * const node = await SuperNode.connect('/flower', { session, data, onRound: ({ round }) => show(round) });
 * await node.leave();
 * ```
 */
export class SuperNode {
  private constructor();
  /**
   * Joins a SuperLink, and does the rounds that it asks for until it leaves. A page needs HTTPS or localhost, and a
   * SuperLink under its own origin or with CORS: see `docs/guides/federated.md`.
   *
   * Errors: `invalid-argument`, `source-unreadable` (no SuperLink there, or it does not take this node's key),
   * `unsupported-browser` (no WebCrypto), `aborted`.
   */
  static connect(url: string | URL, options: SuperNodeOptions): Promise<SuperNode>;
  /**
   * The public key of an identity, as `publicKey` below, before the node connects: for a SuperLink that takes
   * registered nodes alone.
   */
  static publicKey(identity: string): Promise<string>;
  /** The SuperLink's number for this node, in decimal digits. */
  readonly id: string;
  /** The public key in OpenSSH's form, which `flwr supernode register` reads from a file. */
  readonly publicKey: string;
  /** The privacy that is spent; null without `privacy`. */
  readonly privacy: PrivacyState | null;
  /**
   * Resolves once the node has left; rejected with what ended it: an error of a listener, a session that was released
   * or whose worker died.
   */
  readonly finished: Promise<void>;
  /**
   * Ends the round that is under way and leaves. The session stays usable, with the parameters of the last round that
   * was complete.
   */
  leave(): Promise<void>;
}
