// The code in the address: deflated, as base64url behind `#code=`.

const KEY = 'code=';
const MOST = 200_000;

/** @param {string} code */
export async function hashOf(code) {
  const stream = new Blob([code]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return `#${KEY}${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/** The code of such a hash; undefined for others. A damaged one is refused in a sentence. @param {string} hash */
export async function codeOf(hash) {
  if (!hash.startsWith(`#${KEY}`)) return undefined;
  try {
    const binary = atob(
      hash
        .slice(1 + KEY.length)
        .replaceAll('-', '+')
        .replaceAll('_', '/'),
    );
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return await textOf(stream);
  } catch (error) {
    throw new Error('The code in this link is damaged. Perhaps a part of the link is missing.', { cause: error });
  }
}

/** A small link may unpack to a huge text: no more than some is read. @param {ReadableStream<Uint8Array>} stream */
async function textOf(stream) {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > MOST) throw new Error('too long');
  }
  return text + decoder.decode();
}
