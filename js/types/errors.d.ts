/** Errors: the class and its codes. */

import type { History } from './fit.js';

/** Kinds of errors. Cause and cure of each: `docs/guides/errors.md`, under the code's name. */
export type ErrorCode =
  | 'invalid-model'
  | 'unsupported-op'
  | 'invalid-feed'
  | 'invalid-argument'
  | 'out-of-memory'
  | 'too-much-work'
  | 'checkpoint-mismatch'
  | 'checkpoint-corrupt'
  /**
   * The file is of a version of its format that this release does not read, as a newer one: checkpoints, compact files,
   * models (.onnx by IR version, .ort), `.onnx_adapter`, `.npy`, and what stores have kept. A newer ai.onnx opset is a
   * warning. The versions: `schema/VERSIONS.md`.
   */
  | 'unsupported-version'
  | 'non-finite-loss'
  | 'aborted'
  | 'released'
  | 'worker-died'
  | 'quota-exceeded'
  | 'source-unreadable'
  | 'integrity-mismatch'
  | 'store-failed'
  | 'unsupported-browser'
  | 'internal';

/** Everything that is thrown is one of these. The message is one sentence; `code` is stable. */
export class TrainletError extends Error {
  constructor(
    code: ErrorCode,
    message: string,
    options?: {
      /** The name of the node that the message is about. */
      node?: string;
      /** The error behind it. */
      cause?: unknown;
    },
  );
  /** The kind of error, which stays the same from release to release. */
  readonly code: ErrorCode;
  /** The node of the model that the message is about. */
  readonly node?: string;
  /** The history of a fit that was aborted or failed. */
  readonly history?: History;
}
