/** Why a model cannot be an .ort file; the caller makes an error of it. */

export class Refusal extends Error {
  /** @param {import('../types.js').ErrorCode} code @param {string} message @param {string} [node] */
  constructor(code, message, node) {
    super(message);
    this.code = code;
    this.node = node;
  }
}
