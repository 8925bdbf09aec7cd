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
  if (traits.names) traits.names = named(traits.names);
  return traits;
}

/** Lines of names, of which an empty one stands for the name before with its last number one up. */
function named(packed: DataView): DataView {
  let before = "";
  const names = new TextDecoder()
    .decode(packed)
    .split("\n")
    .map((name) => (before = name || following(before)));
  return new DataView(new TextEncoder().encode(names.join("\n")).buffer);
}

function following(name: string): string {
  const [, head, digits, tail] = /^(.*?)(\d{1,15})(\D*)$/s.exec(name) ?? [name, name, "", ""];
  return digits ? `${head}${Number(digits) + 1}${tail}` : name;
}
