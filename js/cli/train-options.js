/** Options of `trainlet train` that are those of fit by the same names: accumulate, schedule, patience. */

import { SCHEDULE_KEYS } from '../fit/schedule.js';
import { text } from './help.js';
import { number, wholeNumber } from './options.js';
import { UsageError } from './run-main.js';

/** @import { FitOptions, Schedule } from '../types.js' */
/** @import { Values } from './commands.js' */

/** @type {import('./help.js').OptionTable} */
export const TRAIN_OPTIONS = {
  accumulate: text('N', 'batches that make an optimizer step; their gradients are added up (default: 1)'),
  schedule: text(
    'S',
    "learning rate by step, as cosine or cosine,warmup=100,end=1e-5, with the settings of fit's schedule; from --lr " +
      `on, or its own lr=RATE: ${Object.keys(SCHEDULE_KEYS).join(', ')}`,
  ),
  patience: text(
    'N',
    'stops after N epochs without a better loss, of what --validation holds out where it does, and takes the ' +
      'parameters of the best epoch',
  ),
};

/** @param {Values} values @returns {Pick<FitOptions, 'accumulate' | 'schedule' | 'earlyStopping'>} */
export function trainOptionsIn({ accumulate, schedule, patience, lr }) {
  return {
    accumulate: accumulate && wholeNumber('accumulate', accumulate, 1),
    schedule: schedule && scheduleIn(schedule, number('lr', lr, { least: 0 })),
    earlyStopping: patience && { patience: wholeNumber('patience', patience, 1), restoreBest: true },
  };
}

/** @param {string} text TYPE or TYPE,KEY=VALUE,… @param {number | undefined} lr @returns {Schedule} */
function scheduleIn(text, lr) {
  const [type, ...settings] = text.split(',');
  if (!Object.hasOwn(SCHEDULE_KEYS, type))
    throw new UsageError(`--schedule must begin with ${Object.keys(SCHEDULE_KEYS).join(', ')}, not '${type}'`);
  const special = SCHEDULE_KEYS[/** @type {keyof typeof SCHEDULE_KEYS} */ (type)];
  const keys = ['lr', ...(type === 'one-cycle' ? [] : ['warmup']), ...special];
  const pairs = settings.map((setting) => {
    const [key, value] = setting.split('=');
    if (!keys.includes(key) || !value)
      throw new UsageError(`--schedule: ${type} has settings ${keys.join('=, ')}=, not '${setting}'`);
    return [key, ['annealStrategy', 'monitor'].includes(key) ? value : number('schedule', value)];
  });
  const schedule = { type, lr, ...Object.fromEntries(pairs) };
  if (schedule.lr === undefined) throw new UsageError('--schedule needs the rate that it begins at: --lr RATE');
  return schedule;
}
