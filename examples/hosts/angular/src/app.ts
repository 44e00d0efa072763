import { Component, computed, inject } from '@angular/core';
import { tensor } from 'trainlet';
import { Trainer } from './trainer';

@Component({
  selector: 'app-root',
  providers: [Trainer],
  template: `
    <button type="button" (click)="trainer.fit({ inputs, labels }, { epochs: 200 })">Train</button>
    <output>{{ trainer.error()?.message ?? told() }}</output>
  `,
})
export class App {
  protected readonly trainer = inject(Trainer);
  protected readonly inputs = tensor([
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ]);
  protected readonly labels = tensor([0, 1, 1, 0], 'int64'); // exclusive or
  protected readonly told = computed(() => {
    const losses = this.trainer.losses();
    return losses.length > 0 ? `loss ${losses[0].toFixed(4)} → ${losses[losses.length - 1].toFixed(4)}` : '';
  });
}
