// Loaded by --import: reads one module of the package from another file, $MUTATED_TEXT instead of $MUTATED_FILE.

import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

const [url, text] = [process.env.MUTATED_FILE, process.env.MUTATED_TEXT].map((file) => pathToFileURL(file).href);
const hooks = `import { readFileSync } from 'node:fs';
  export const load = (url, context, next) => url === ${JSON.stringify(url)}
    ? { format: 'module', source: readFileSync(new URL(${JSON.stringify(text)})), shortCircuit: true }
    : next(url, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
