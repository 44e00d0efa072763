// Five slots, which fill as one draws: a lesson begins when the last is full.
import { picture } from './gallery.js';

export const SLOTS = 5;

/**
 * @param {HTMLElement} room @param {import('./drawings.js').Drawing[]} drawings
 * @param {boolean} open  the next slot waits for a drawing
 */
export function showSlots(room, drawings, open) {
  room.replaceChildren(
    ...Array.from({ length: SLOTS }, (_, i) => {
      const slot = document.createElement('li'),
        drawing = drawings[i];
      slot.className = drawing ? 'full' : open && i === drawings.length ? 'next' : '';
      slot.setAttribute('aria-label', drawing ? `${drawing.label}, drawn` : 'empty');
      if (drawing) slot.append(picture(drawing.pixels));
      return slot;
    }),
  );
}
