import { dense, input, sequential } from 'trainlet/layers';

const { serviceWorker } = navigator;
await serviceWorker.register('service-worker.js', { type: 'module' });
const { active } = await serviceWorker.ready;

const [button, output] = document.querySelectorAll('button, output');
serviceWorker.onmessage = ({ data }) => {
  output.textContent = data;
};
button.onclick = async () => {
  active.postMessage(await sequential([input([2]), dense(8, { activation: 'tanh' }), dense(2)]));
};
button.disabled = false;
