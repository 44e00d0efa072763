import { Injectable, type OnDestroy, signal } from '@angular/core';
import { type Dataset, type FitOptions, generateArtifacts, TrainingSession } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';

/** A training session that lives as long as the component that provides it. */
@Injectable()
export class Trainer implements OnDestroy {
  /** The loss of each epoch of `fit`. */
  readonly losses = signal<number[]>([]);
  readonly error = signal<Error | undefined>(undefined);
  private readonly session = this.create();

  constructor() {
    this.session.catch((reason) => this.error.set(reason));
  }

  private async create() {
    const network = await sequential([input([2]), dense(8, { activation: 'tanh' }), dense(2)]);
    const artifacts = await generateArtifacts(network, {
      loss: 'cross-entropy',
      optimizer: { type: 'adam', lr: 0.05 },
    });
    return await TrainingSession.create(artifacts);
  }

  async fit(data: Dataset, options: FitOptions) {
    this.losses.set([]);
    this.error.set(undefined);
    const onEpoch = ({ loss }: { loss: number }) => this.losses.update((earlier) => [...earlier, loss]);
    try {
      await (await this.session).fit(data, { ...options, onEpoch });
    } catch (reason) {
      this.error.set(reason as Error);
    }
  }

  ngOnDestroy() {
    this.session.then((session) => session.release()).catch(() => {});
  }
}
