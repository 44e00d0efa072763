import { onDestroy } from 'svelte';

/** A training session that lives as long as the component: `create` makes it. */
export class Trainer {
  /** The loss of each epoch of `fit`. */ losses = $state.raw([]);
  error = $state.raw();

  constructor(create) {
    this.session = create(); // a promise
    this.session.catch(this.#fail);
    onDestroy(() => this.session.then((ended) => ended.release()).catch(() => {}));
  }

  async fit(data, options) {
    this.losses = [];
    this.error = undefined;
    const onEpoch = ({ loss }) => {
      this.losses = [...this.losses, loss];
    };
    await this.session.then((ready) => ready.fit(data, { ...options, onEpoch })).catch(this.#fail);
  }

  #fail = (reason) => {
    this.error = reason;
  };
}
