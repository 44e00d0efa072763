import { onScopeDispose, shallowRef } from 'vue';

/**
 * A training session that lives as long as the component: `create` makes it. `losses` has a number for each epoch of
 * `fit`.
 */
export function useTrainlet(create) {
  const losses = shallowRef([]);
  const error = shallowRef();
  const fail = (reason) => {
    error.value = reason;
  };
  const session = create();
  session.catch(fail);
  onScopeDispose(() => session.then((ended) => ended.release()).catch(() => {}));

  async function fit(data, options) {
    losses.value = [];
    error.value = undefined;
    const onEpoch = ({ loss }) => {
      losses.value = [...losses.value, loss];
    };
    await session.then((ready) => ready.fit(data, { ...options, onEpoch })).catch(fail);
  }
  return { session, fit, losses, error };
}
