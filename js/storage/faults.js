/** Why a stored version was not read. */

/** The beginning of a reason why a version was not read: its format is newer. */
export const OTHER_VERSION = 'is of version ';

/** The code of an error for a reason that something was not read. @param {string} reason */
export const codeOfFault = (reason) =>
  reason.startsWith(OTHER_VERSION) ? 'unsupported-version' : 'checkpoint-corrupt';
