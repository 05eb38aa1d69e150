/** A request, over HTTP or from the simulation. */
export interface ObjectRequest {
  readonly method: string;
  /** With the query, and still percent-encoded. */
  readonly target: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface ObjectReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The headers of a content that both services keep. */
export const CONTENT_HEADERS: readonly string[] = [
  "content-type",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
];

/** Splits a path into the bucket and the key. */
export function placeOf(path: string): { readonly bucket: string; readonly key: string } {
  const [, bucket = "", ...rest] = path.split("/");
  return { bucket, key: decodeURIComponent(rest.join("/")) };
}

/** Returns the headers that an object keeps: those of its content, and those that begin with a prefix. */
export function keptHeaders(headers: ObjectRequest["headers"], prefix: string): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => CONTENT_HEADERS.includes(name) || name.startsWith(prefix));
  return Object.fromEntries(kept);
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Returns an error as both services write it in XML. */
export function xmlError(code: string, message: string): Uint8Array {
  return bytes(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
}
