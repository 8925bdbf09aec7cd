/** What a page of placelab/app/export.py holds: base64 of gzip of [uint32 length of the JSON header, header, buffers]. */

export const PAYLOAD = "placelab-schedule"; // id of the script element that holds the data
export const CODE = "placelab-code"; // … and of the one with the module

/** The bytes in base64 of gzip. */
export async function unzipped(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const data = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The traits in a payload: plain ones, and binary ones by name and length. */
export function unpack(data: Uint8Array): object {
  const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  const { traits, buffers } = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  let at = data.byteOffset + 4 + length;
  for (const [name, bytes] of buffers as [string, number][]) {
    traits[name] = new DataView(data.buffer, at, bytes);
    at += bytes;
  }
  return traits;
}
