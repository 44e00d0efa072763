// Judges a model of the zoo by the findings of check.js.

/** Relative, of outputs and of losses; an output that a step has changed has gone through as many roundings more. */
export const CLOSE = 1e-4;

export const isNear = (number, within = CLOSE) => number !== undefined && number !== null && number < within;

/** An exporter that fails, or a file of which onnxruntime-web too computes those other numbers. */
function isWrittenWrong({ notExported, forward, both, peer, within }) {
  return notExported !== undefined || (!isNear(forward, within) && isNear(both) && !isNear(peer, within));
}

/** A loss without a yardstick only has to fall. */
function hasLearned({ forward, falls, within }, loss) {
  return isNear(forward, within) && (falls || isNear(loss, within));
}

/** whole; early: its first three losses alone; run: it has nothing that trains; miswritten; apart. */
export function outcomeOf(found) {
  if (isWrittenWrong(found)) return 'miswritten';
  if (found.untrained) return isNear(found.forward, found.within) ? 'run' : 'apart';
  if (hasLearned(found, found.loss) && isNear(found.export, found.within)) return 'whole';
  return hasLearned(found, found.early) ? 'early' : 'apart';
}

/** An architecture by its name without the way in which it was exported or made smaller. */
export const architectureOf = (name) =>
  name.replace(
    /, (script|README's options|optimize=False|training mode|fixed shapes|int8|float16|ONNX Runtime's artifacts)\b.*/,
    '',
  );
