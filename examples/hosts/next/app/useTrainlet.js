import { useCallback, useEffect, useRef, useState } from 'react';

/**
 * A training session that lives as long as the component.
 * `create` makes it and must be the same function at each render; `losses` has a number for each epoch of `fit`.
 */
export function useTrainlet(create) {
  const session = useRef(); // a promise
  const [losses, setLosses] = useState([]);
  const [error, setError] = useState();
  useEffect(() => {
    const created = create();
    session.current = created;
    created.catch(setError);
    return () => created.then((ended) => ended.release()).catch(() => {});
  }, [create]);
  const fit = useCallback(async (data, options) => {
    setLosses([]);
    setError();
    const onEpoch = ({ loss }) => setLosses((earlier) => [...earlier, loss]);
    await session.current.then((ready) => ready.fit(data, { ...options, onEpoch })).catch(setError);
  }, []);
  return { session, fit, losses, error };
}
