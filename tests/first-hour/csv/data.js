// Writes houses.csv: 600 houses, whose price (in thousands) depends on area, rooms, age and distance, with noise.

import { writeFileSync } from 'node:fs';

/** Numbers from 0 to 1. @param {number} i */
const noise = (i) => (Math.abs(Math.sin(12.9898 * (i + 1))) * 43758.5453) % 1;

const rows = Array.from({ length: 600 }, (_, i) => {
  const [area, age, distance] = [30 + 170 * noise(4 * i), 100 * noise(4 * i + 1), 25 * noise(4 * i + 2)];
  const rooms = Math.round(area / 30 + 2 * noise(4 * i + 3));
  const price = 3.5 * area * (1 + 10 / (5 + distance)) + 20 * rooms - 1.5 * age + 40 * noise(7 * i);
  return [area, rooms, age, distance, price].map((x) => x.toFixed(1)).join(',');
});
writeFileSync('houses.csv', `area,rooms,age,distance,price\n${rows.join('\n')}\n`);
