// Browsers with a new profile each: a visitor who was never there before.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startFirefox } from './firefox.js';
import { launchIn } from './visitor.js';

/** Each opens an address in a profile that it makes and removes. `ended`: why the browser did, in a sentence. */
export const BROWSERS = {
  Firefox: (url) => startFirefox(url),
  async Chromium(url) {
    const profile = mkdtempSync(path.join(tmpdir(), 'trainlet-chromium-'));
    const context = await launchIn(profile);
    await (await context.newPage()).goto(url);
    return {
      ended: new Promise(() => {}),
      close: async () => {
        await context.close();
        rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  },
};
