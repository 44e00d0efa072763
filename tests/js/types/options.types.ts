/** Lists of options, checked by the compiler alone: each names all that its type declares, and nothing else. */

import type { ARTIFACT_KEYS } from '../../../js/session/model.js';
import type { DEFAULT_KEYS, ENGINE_KEYS } from '../../../js/engine/options.js';
import type { AUGMENT_KEYS } from '../../../js/data/augment.js';
import type { AUDIO_KEYS, FRAME_KEYS } from '../../../js/media/audio.js';
import type { MEL_KEYS } from '../../../js/media/spectrogram.js';
import type { IMAGE_KEYS } from '../../../js/media/image.js';
import type { BUDGET_KEYS } from '../../../js/fit/budget.js';
import type { CACHE_KEYS, CHECKPOINT_KEYS, EARLY_STOPPING_KEYS, EMA_KEYS, FIT_KEYS } from '../../../js/fit/options.js';
import type { FEATURE_STORE_KEYS } from '../../../js/features/cache.js';
import type { INFERENCE_OPTIONS, PREDICT_OPTIONS, RUN_OPTIONS, STEP_OPTIONS } from '../../../js/session/run.js';
import type { SPLIT_KEYS } from '../../../js/data/split.js';
import type { TABLE_KEYS } from '../../../js/data/read-table.js';
import type { GENERATE_KEYS } from '../../../js/text/generate.js';
import type { PACK_KEYS } from '../../../js/text/pack-text.js';
import type { GROUP_KEYS } from '../../../js/session/training.js';
import type { STORE_KEYS } from '../../../js/storage/samples.js';
import type { SCHEDULE_KEYS } from '../../../js/fit/schedule.js';
import type { ORT_OPTIONS } from '../../../js/session/open.js';
import type { SUPER_NODE_KEYS } from '../../../js/federated/options.js';
import type { PRIVACY_KEYS } from '../../../js/federated/privacy.js';
import type { PrivacyOptions, SuperNodeOptions } from '../../../js/types/federated/index.js';
import type {
  ArtifactOptions, AudioOptions, AugmentOptions, BatchOptions, Budget, CacheFeatures, MelOptions,
  EngineDefaults, EngineOptions,
  FeatureStoreOptions, FitOptions, GenerateOptions, ImageOptions, PackOptions, ParameterGroup, PredictOptions,
  RunOptions, SampleStoreOptions, Schedule, SessionOptions, StepOptions, TableOptions, ValidationSplit,
} from '../../../js/types.js';

type Same<A, B> = [A, B] extends [B, A] ? true : false;
type Names<List extends readonly string[], T> = Same<List[number], keyof T>;
type Declared<Type, S = Schedule> = S extends { type: infer T } ? (Type extends T ? S : never) : never;
type Listed<Type extends keyof typeof SCHEDULE_KEYS> =
  | 'type'
  | 'lr'
  | (Type extends 'one-cycle' ? never : 'warmup')
  | (typeof SCHEDULE_KEYS)[Type][number];

const holds = <T extends true>(_: T) => {};

holds<Names<typeof ENGINE_KEYS, EngineOptions>>(true);
holds<Names<typeof DEFAULT_KEYS, EngineDefaults>>(true);
holds<Names<typeof ARTIFACT_KEYS, Omit<ArtifactOptions, keyof EngineOptions>>>(true);
holds<Names<typeof ORT_OPTIONS, Omit<SessionOptions, keyof EngineOptions>>>(true);
holds<Names<typeof AUGMENT_KEYS, AugmentOptions>>(true);
holds<Names<typeof AUDIO_KEYS, AudioOptions>>(true);
holds<Names<typeof FRAME_KEYS, NonNullable<AudioOptions['frames']>>>(true);
holds<Names<typeof MEL_KEYS, MelOptions>>(true);
holds<Names<typeof IMAGE_KEYS, ImageOptions>>(true);
holds<Names<typeof STORE_KEYS, SampleStoreOptions>>(true);
holds<Names<typeof RUN_OPTIONS, RunOptions>>(true);
holds<Names<typeof STEP_OPTIONS, StepOptions>>(true);
holds<Names<typeof INFERENCE_OPTIONS, RunOptions & BatchOptions>>(true);
holds<Names<typeof PREDICT_OPTIONS, PredictOptions>>(true);
holds<Names<typeof FIT_KEYS, FitOptions>>(true);
holds<Names<typeof CACHE_KEYS, CacheFeatures>>(true);
holds<Names<typeof FEATURE_STORE_KEYS, FeatureStoreOptions>>(true);
holds<Names<typeof EARLY_STOPPING_KEYS, NonNullable<FitOptions['earlyStopping']>>>(true);
holds<Names<typeof BUDGET_KEYS, Budget>>(true);
holds<Names<typeof SUPER_NODE_KEYS, SuperNodeOptions>>(true);
holds<Names<typeof PRIVACY_KEYS, PrivacyOptions>>(true);
holds<Names<typeof EMA_KEYS, NonNullable<FitOptions['ema']>>>(true);
holds<Names<typeof TABLE_KEYS, TableOptions>>(true);
holds<Names<typeof SPLIT_KEYS, ValidationSplit>>(true);
holds<Names<typeof GENERATE_KEYS, GenerateOptions>>(true);
holds<Names<typeof PACK_KEYS, PackOptions>>(true);
holds<Names<typeof GROUP_KEYS, ParameterGroup>>(true);
holds<Names<typeof CHECKPOINT_KEYS, NonNullable<FitOptions['checkpoint']>>>(true);
holds<Same<Listed<'constant'>, keyof Declared<'constant'>>>(true);
holds<Same<Listed<'linear'>, keyof Declared<'linear'>>>(true);
holds<Same<Listed<'cosine'>, keyof Declared<'cosine'>>>(true);
holds<Same<Listed<'step'>, keyof Declared<'step'>>>(true);
holds<Same<Listed<'one-cycle'>, keyof Declared<'one-cycle'>>>(true);
holds<Same<Listed<'plateau'>, keyof Declared<'plateau'>>>(true);
