/** Chooses the versions of a checkpoint that a store drops. A version that diverged never drops one that did not. */

/**
 * @template {{ meta?: Record<string, unknown> }} V
 * @param {readonly V[]} versions newest first; one without meta is not whole, and counts as none
 * @param {number} keep
 * @returns {V[]} those beyond the newest `keep`, and diverged ones that are older than another
 */
export function superfluous(versions, keep) {
  let [good, diverged] = [0, 0];
  return versions.filter(({ meta }) => {
    const isDiverged = meta?.diverged === true;
    if (good >= keep || (isDiverged && (good || diverged >= keep))) return true;
    if (isDiverged) diverged++;
    else good += Number(meta !== undefined);
    return false;
  });
}
