// The table of what is read correctly: before, after a lesson with rehearsal, and after one without.
import { percent } from './reading.js';

const COLUMNS = ['before', 'rehearsed', 'unrehearsed'];

/** @param {Record<string, import('./learner.js').Figures & { refused?: boolean }>} figures */
export function showFigures(figures) {
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('tr[data-row]')))
    COLUMNS.forEach((column, i) => {
      const cell = row.querySelectorAll('td')[i],
        share = figures[column]?.[row.dataset.row];
      cell.textContent = share == null ? '–' : percent(share);
      cell.classList.toggle('refused', Boolean(figures[column]?.refused));
      cell.title = figures[column]?.refused ? 'refused: the old network stayed' : '';
    });
}
