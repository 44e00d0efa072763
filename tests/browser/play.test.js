// The playground in Chromium and Firefox: code runs in a worker of its own with the package, errors have their line,
// nothing reaches another site, a stop ends every worker that the code has started, a foreign link does not run.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer } from '../../tools/serve-demo.js';
import { hashOf } from '../../web-demo/play/link.js';
import { startFirefox } from './firefox.js';
import { FIRST_LAYOUT, launch, Visitor } from './visitor.js';

const PATIENCE_MS = 90_000;
/** Trains in a worker of the engine's, keeps one of its own busy, and never waits. */
const ENDLESS = `import { generateArtifacts, Tensor, TrainingSession } from 'trainlet';
import { dense, input, sequential } from 'trainlet/layers';
const beats = "postMessage(0); setInterval(() => new BroadcastChannel('alive').postMessage(0), 20)";
const child = new Worker(URL.createObjectURL(new Blob([beats])));
await new Promise((resolve) => {
  child.onmessage = resolve;
});
const artifacts = await generateArtifacts(await sequential([input([1]), dense(1)]), { loss: 'mse' });
const session = await TrainingSession.create(artifacts);
const data = { inputs: new Tensor('float32', [0], [1, 1]), labels: new Tensor('float32', [0], [1, 1]) };
await new Promise((onBatch) => session.fit(data, { epochs: 1e9, onBatch, onWarning() {} }));
console.log('busy');
for (;;);`;
const CODES = {
  thrown: "const a = 1;\n\nthrow new TypeError('on purpose');",
  unparsed: 'const a = 1;\nlet b = ;',
  unknown: "import { Tensr } from 'trainlet';\nTensr;",
  bare: "import leftPad from 'left-pad';",
  away: "await fetch('https://other.test/').catch((error) => console.log('refused', error.name));",
  late: "setTimeout(() => { throw new Error('late') }, 50);",
  shown:
    "console.log({ a: [1.5, 'b'] });\ndownload('a.txt', 'text');\nshow({ width: 1, height: 1, data: [0.5] }, 'grey');",
};

/** Runs in the page. Presses what a visitor presses; resolves with what the page says. */
async function press({ endless, codes }) {
  const $ = (selector) => document.querySelector(selector);
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const until = async (isSo) => {
    while (!(await isSo())) await wait(20);
  };
  const locks = async () => (await navigator.locks.query()).held.filter(({ name }) => name.startsWith('trainlet-'));
  const run = async (code) => {
    $('textarea').value = code;
    $('#run').click();
    await until(() => $('#output').ariaBusy !== 'true' && $('#output').getAttribute('aria-busy') === 'false');
    return $('#output').innerText;
  };
  await until(() => $('textarea').value);
  const said = {
    xor: await run($('textarea').value),
    charts: document.querySelectorAll('#output svg polyline').length,
  };
  for (const [name, code] of Object.entries(codes)) said[name] = await run(code);
  said.file = $('#output a').download;
  said.late = await run(codes.late).then(() => until(() => /late/.test($('#output').innerText)));
  said.late = $('#output').innerText;

  let beats = 0;
  new BroadcastChannel('alive').onmessage = () => beats++;
  $('textarea').value = endless;
  $('#run').click();
  await until(async () => beats && (await locks()).length && /busy/.test($('#output').innerText));
  said.before = { beats, locks: (await locks()).length };
  $('#stop').click();
  said.stopped = $('#output').innerText;
  await until(async () => !(await locks()).length);
  await wait(300);
  beats = 0;
  await wait(200);
  said.after = { beats, locks: (await locks()).length };
  return said;
}

function check(said) {
  assert.match(said.xor, /^Done in [\d.]+ s\.[\s\S]*0 xor 0 = 0\n0 xor 1 = 1\n1 xor 0 = 1\n1 xor 1 = 0/);
  assert.equal(said.charts, 1);
  assert.match(said.thrown, /error in line 3\.\s+TypeError: on purpose/);
  assert.match(said.unparsed, /error in line 2\.\s+SyntaxError/);
  assert.match(said.unknown, /SyntaxError: .*'?trainlet'?.*Tensr|SyntaxError: .*Tensr/);
  assert.match(said.bare, /'left-pad' cannot be imported here; there are trainlet, trainlet\/layers, trainlet\/models/);
  assert.match(said.away, /^Done[\s\S]*refused TypeError/);
  assert.match(said.late, /error in line 1\.\s+Error: late/);
  assert.match(said.shown, /^Done[\s\S]*\{ a: \[1\.5, "b"\] \}[\s\S]*grey[\s\S]*Save a\.txt \(4 bytes\)/);
  assert.equal(said.file, 'a.txt');
  assert.match(said.stopped, /^Stopped, with all that it had started\./);
  assert.ok(said.before.beats > 0 && said.before.locks > 0);
  assert.deepEqual(said.after, { beats: 0, locks: 0 });
}

let site;
before(async () => {
  site = await startServer();
});
after(() => site.close());

test('Chromium: what a visitor tries, links, and every layout', { timeout: PATIENCE_MS }, async () => {
  const browser = await launch();
  try {
    const visitor = await Player.arrive(browser, `${site.url}play/`, FIRST_LAYOUT);
    check(await visitor.page.evaluate(press, { endless: ENDLESS, codes: CODES }));
    let release = () => {};
    const isReleased = new Promise((resolve) => {
      release = () => resolve(undefined);
    });
    await visitor.page.route('**/presets/sine.js', async (route) => {
      await isReleased;
      await route.continue();
    });
    await visitor.page.selectOption('#preset', 'sine');
    await visitor.page.selectOption('#preset', 'line');
    await visitor.page.waitForFunction(() => /slope 3/.test(document.querySelector('textarea').value));
    const arrived = visitor.page.waitForResponse(/sine\.js$/);
    release();
    await (await arrived).finished();
    await pause(50);
    assert.match(await visitor.page.inputValue('textarea'), /slope 3/, 'the example chosen last stays');
    await visitor.page.press('textarea', 'Control+Enter');
    await visitor.page.waitForFunction(() => /kernel/.test(document.querySelector('#output').innerText));
    await visitor.openToEveryone('play');
    const wanted = /refuse|violat|Refused|nowhere|not allowed|on purpose|Failed to load/i; // refused on purpose
    assert.deepEqual(
      visitor.complaints.filter((complaint) => !wanted.test(complaint)),
      [],
    );

    const blocks = [
      "import { Tensor } from 'trainlet';\nconst one = new Tensor('float32', [1], [1]);\nconsole.log('quiet');",
      `import { Tensor } from 'trainlet';
      const [dot] = await draw('a dot', 1, () => [[0.5, 0.5, 0]]);
      console.log(one.dims, dot);`,
    ];
    const { text, heights, runs } = await visitor.page.evaluate(inFrame, blocks);
    assert.match(text, /^Done in [\d.]+ s\.\s+a dot: 1 drawn\.\s+\[1\] \[\[0\.5, 0\.5, 0\]\]$/);
    assert.equal(runs, 1);
    assert.ok(heights.at(-1) > heights[0], `it grows: ${heights}`);

    await visitor.page.fill('textarea', 'console.log("mine");');
    await visitor.page.click('#link');
    await visitor.page.waitForFunction(() => /^The link with/.test(document.querySelector('#note').textContent));
    const link = visitor.page.url();
    assert.equal(link, `${site.url}play/${await hashOf('console.log("mine");')}`);
    await visitor.page.goto('about:blank');
    await visitor.page.goto(link);
    await visitor.page.waitForFunction(() => /came with the link/.test(document.querySelector('#note').textContent));
    assert.equal(await visitor.page.inputValue('textarea'), 'console.log("mine");');
    await pause(300);
    assert.equal((await visitor.text('#output')).trim(), '', 'it waits to be run');
    await visitor.page.goto('about:blank');
    await visitor.page.goto(`${site.url}play/#code=%%%`);
    await visitor.page.waitForFunction(() => /damaged/.test(document.querySelector('#note').textContent));
  } finally {
    await browser.close();
  }
});

class Player extends Visitor {
  async awake() {
    await this.page.waitForFunction(() => document.querySelector('textarea')?.value);
  }
}

/** Runs in the page. Two blocks in a frame, as a tutorial has them: what it says of the second, and its height. */
async function inFrame(blocks) {
  const frame = document.createElement('iframe');
  const heard = [];
  frame.src = 'frame.html';
  frame.title = 'Run this code';
  const until = async (isSo) => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  addEventListener('message', ({ data }) => heard.push(data));
  document.body.append(frame);
  await until(() => heard.some(({ ready }) => ready));
  frame.contentWindow.postMessage({ blocks });
  const inside = frame.contentDocument;
  await until(() => !inside.querySelector('#run').disabled);
  inside.querySelector('#run').click();
  await until(() => inside.querySelector('#output button'));
  inside.querySelector('#output button').click(); // who cannot draw
  await until(() => /Done|error/.test(inside.body.innerText));
  await new Promise((resolve) => setTimeout(resolve, 100));
  const heights = heard.map(({ height }) => height).filter(Boolean);
  return { text: inside.querySelector('#output').innerText, heights, runs: heard.filter(({ runs }) => runs).length };
}

test('Firefox: the same', { timeout: PATIENCE_MS }, async () => {
  const heard = Promise.withResolvers?.() ?? deferred();
  const front = createServer(async (request, response) => {
    if (request.method === 'POST') {
      heard.resolve(await new Response(request).json());
      return response.end();
    }
    const options = JSON.stringify({ endless: ENDLESS, codes: CODES });
    if (request.url === '/press.js')
      return response
        .setHeader('content-type', 'text/javascript')
        .end(`${press}\nfetch('/talk', { method: 'POST', body: JSON.stringify(await press(${options})) });`);
    const found = await fetch(new URL(request.url, site.url));
    for (const [name, value] of found.headers)
      if (!/^content-(encoding|length)$/.test(name)) response.setHeader(name, value);
    const body = Buffer.from(await found.arrayBuffer());
    const isPage = found.headers.get('content-type').startsWith('text/html');
    response.writeHead(found.status).end(isPage ? `${body}<script type="module" src="/press.js"></script>` : body);
  });
  await new Promise((resolve) => {
    front.listen(0, 'localhost', resolve);
  });
  const firefox = startFirefox(`http://localhost:${front.address().port}/play/`);
  try {
    const late = pause(PATIENCE_MS - 5000, { xor: 'nothing was posted in time' }, { ref: false });
    check(await Promise.race([heard.promise, late, firefox.ended.then((xor) => ({ xor }))]));
  } finally {
    await firefox.close();
    front.closeAllConnections();
    front.close();
  }
});

function deferred() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
