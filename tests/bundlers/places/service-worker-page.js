const { serviceWorker } = navigator;
serviceWorker.onmessage = ({ data }) => {
  document.title = data;
};
await serviceWorker.register('service-worker.js', { type: 'module' });
const { active } = await serviceWorker.ready;
active.postMessage('train');
