// A GPU for Node by the package `webgpu` (Dawn): a real one, or SwiftShader, which Chromium brings along and which
// computes on the processor.

import { existsSync } from 'node:fs';

const CHROMIUM = '/usr/lib/chromium';
const DRIVER = `${CHROMIUM}/vk_swiftshader_icd.json`;

/** Environment variables with which Vulkan finds SwiftShader; a process reads them as it starts. */
export const SWIFTSHADER = existsSync(DRIVER)
  ? { LD_LIBRARY_PATH: CHROMIUM, VK_ICD_FILENAMES: DRIVER, VK_DRIVER_FILES: DRIVER }
  : undefined;

/** Puts `navigator.gpu` there, where pages have it. @returns {Promise<string>} the name of the GPU */
export async function openGpu() {
  const { create, globals } = await import('webgpu');
  Object.assign(globalThis, globals);
  const gpu = create(['backend=vulkan']);
  Object.defineProperty(globalThis, 'navigator', { value: { gpu, userAgent: 'Node.js' }, configurable: true });
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new Error("there is no adapter: are Vulkan's loader (libvulkan.so.1) and a driver installed?");
  const { vendor, architecture, device, description } = adapter.info;
  return [vendor, architecture, device, description].filter(Boolean).join(' ');
}
