/**
 * The public contract of trainlet: every name that users import, by subject. The code is checked against it
 * (contract.d.ts).
 */
export * from './types/adapters.js';
export * from './types/artifacts.js';
export * from './types/data.js';
export * from './types/engine.js';
export * from './types/errors.js';
export * from './types/features.js';
export * from './types/fine-tune.js';
export * from './types/fit.js';
export * from './types/inspection.js';
export * from './types/loss-and-optimizer.js';
export * from './types/media.js';
export * from './types/metrics.js';
export * from './types/schedule.js';
export * from './types/session.js';
export * from './types/storage.js';
export * from './types/table.js';
export * from './types/tensor.js';
export * from './types/text.js';
export * from './types/training-session.js';
