import * as trainlet from 'trainlet';
import * as layers from 'trainlet/layers';
import { loadPyodide } from './node_modules/pyodide/pyodide.mjs';

const pyodide = await loadPyodide();
pyodide.registerJsModule('trainlet', trainlet);
pyodide.registerJsModule('trainlet_layers', layers);
const program = await (await fetch('train.py')).text();

const [button, output] = document.querySelectorAll('button, output');
button.onclick = async () => {
  output.textContent = await pyodide.runPythonAsync(program);
};
button.disabled = false;
