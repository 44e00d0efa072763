// Starts a SuperLink of Flower on this machine, and a run of server.py on it. It needs Python from 3.11 on; the first
// time it installs Flower from PyPI into .venv beside this file.
//
//   node start.mjs initial.safetensors result.safetensors rounds=10 nodes=2

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const BIN = process.platform === 'win32' ? 'Scripts' : 'bin';
const PORT = 8000;
const STARTED = /Uvicorn running on/;
const OVER = /Finished task/;

/** The folder of Flower's programs, in a virtual environment that is made where there is none. */
export function setUp(folder = join(here, '.venv')) {
  const wanted = readFileSync(join(here, 'requirements.txt'), 'utf8');
  const mark = join(folder, 'installed.txt');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return join(folder, BIN);
  console.log(`Installing Flower from PyPI into ${folder} …`);
  const run = (program, ...args) => {
    const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`);
  };
  run('python3', '-m', 'venv', folder);
  run(join(folder, BIN, 'python'), '-m', 'pip', 'install', '--quiet', '-r', join(here, 'requirements.txt'));
  writeFileSync(mark, wanted);
  return join(folder, BIN);
}

/** A SuperLink, and what it prints. It listens on 127.0.0.1, where a web server in front of it passes pages on. */
export class SuperLink {
  text = '';
  #bin;
  #home = mkdtempSync(join(tmpdir(), 'flower-'));
  #process;
  #ended;
  #changed = () => {};

  /** @param {string} bin of setUp @param {{ port?: number, onText?: (text: string) => void }} [options] */
  static async start(bin, { port = PORT, onText = () => {} } = {}) {
    const link = new SuperLink();
    link.#bin = bin;
    link.port = port;
    const options = ['--insecure', '--port', String(port), '--disable-runtime-dependency-installation'];
    writeFileSync(
      join(link.#home, 'config.toml'),
      `[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:${port}"\ninsecure = true\n`,
    );
    link.#process = spawn(join(bin, 'flower-superlink'), options, { env: link.#env() });
    link.#ended = once(link.#process, 'exit');
    for (const stream of [link.#process.stdout, link.#process.stderr])
      stream.on('data', (data) => {
        link.text += data;
        onText(String(data));
        link.#changed();
      });
    await link.#until(STARTED);
    return link;
  }

  #env() {
    const { PATH, ...env } = process.env;
    return { ...env, PATH: `${this.#bin}${delimiter}${PATH}`, FLWR_HOME: this.#home, FLWR_TELEMETRY_ENABLED: '0' };
  }

  /** Waits for more of its text. @param {RegExp} wanted @param {number} [from] */
  async #until(wanted, from = 0) {
    while (!wanted.test(this.text.slice(from))) {
      if (this.#process.exitCode !== null) throw new Error(`the SuperLink ended:\n${this.text.slice(-2000)}`);
      await Promise.race([new Promise((done) => (this.#changed = () => done())), this.#ended]);
    }
  }

  /** Runs server.py until its end. @param {Record<string, string | number>} config of pyproject.toml */
  async run(config) {
    const from = this.text.length;
    const values = Object.entries(config).map(
      ([key, value]) => `${key}=${typeof value === 'string' ? JSON.stringify(value) : value}`,
    );
    const args = ['run', here, 'here', '--run-config', values.join(' ')];
    const { status, stderr, stdout } = spawnSync(join(this.#bin, 'flwr'), args, { env: this.#env(), encoding: 'utf8' });
    if (status !== 0) throw new Error(`flwr run failed:\n${stdout}${stderr}`);
    await this.#until(OVER, from);
  }

  async stop() {
    this.#process.kill('SIGINT');
    await this.#ended;
    rmSync(this.#home, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [initial, result, ...options] = process.argv.slice(2);
  const config = Object.fromEntries(options.map((option) => option.split('=')));
  for (const key in config) config[key] = Number(config[key]);
  if (!initial || !result || Object.values(config).some(Number.isNaN))
    throw new Error('node start.mjs INITIAL RESULT [rounds=3] [nodes=2] …: see pyproject.toml');
  const link = await SuperLink.start(setUp(), { onText: (text) => process.stdout.write(text) });
  console.log(`The SuperLink is at http://127.0.0.1:${link.port}; ${config.nodes ?? 2} nodes are waited for.`);
  await link.run({ initial: resolve(initial), result: resolve(result), ...config });
  await link.stop();
}
