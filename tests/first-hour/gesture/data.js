// Gestures: 32 steps of 6 sensor channels. Each of the four moves some channels, early or late, fast or slowly.

/** Numbers from 0 to 1. @param {number} i */
const noise = (i) => (Math.abs(Math.sin(12.9898 * (i + 1))) * 43758.5453) % 1;

/** @param {number} count @param {number} seed @returns {{ signals: number[][][], labels: number[] }} */
export function gestures(count, seed) {
  const labels = Array.from({ length: count }, (_, i) => i % 4);
  const signals = labels.map((label, i) => {
    const start = 12 * noise(1000 * seed + i);
    const speed = (label % 2 ? 0.9 : 0.45) * (0.9 + 0.2 * noise(2000 * seed + i));
    return Array.from({ length: 32 }, (_, t) =>
      Array.from({ length: 6 }, (_, channel) => {
        const moves = t >= start && t < start + 16 && channel % 2 === Number(label > 1);
        return (
          (moves ? Math.sin(speed * (t - start) + channel) : 0) + 0.8 * (noise(seed + 192 * i + 6 * t + channel) - 0.5)
        );
      }),
    );
  });
  return { signals, labels };
}
