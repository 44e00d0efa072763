const { port } = new SharedWorker('shared-worker.js', { type: 'module' });
port.onmessage = ({ data }) => {
  document.body.dataset.report = data;
};
