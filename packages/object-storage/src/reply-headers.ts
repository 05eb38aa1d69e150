import { CONTENT_HEADERS, type ObjectContent } from "./object-service.ts";

/** Returns the value of a header by its name in lower case. */
export type ReplyHeaders = (name: string) => string | undefined;

/** Returns the time in a header, in milliseconds since the Unix epoch; NaN if it is missing or not a date. */
function dateOf(text: string | undefined): number {
  // oxlint-disable-next-line eslint/no-restricted-globals -- reads a text, and no clock
  return Date.parse(text ?? "");
}

/** Returns the date of the reply minus the date of the object. Both are in whole seconds. */
export function ageOf(headers: ReplyHeaders): number {
  return dateOf(headers("date")) - dateOf(headers("last-modified"));
}

/** Returns what a reply shows of an object besides its content. @param prefix the beginning of the headers of its metadata. */
export function contentOf(names: Iterable<string>, headers: ReplyHeaders, prefix: string): Omit<ObjectContent, "body"> {
  const metadata: Record<string, string> = {};
  for (const name of names) {
    if (name.startsWith(prefix)) metadata[name.slice(prefix.length)] = headers(name) ?? "";
  }
  const content: Partial<Record<(typeof CONTENT_HEADERS)[number], string>> = {};
  for (const field of CONTENT_HEADERS) {
    const value = headers(headerName(field));
    if (value !== undefined) content[field] = value;
  }
  return { headers: content, metadata };
}

/** Returns the name of a content header on the wire: `content-type` of `contentType`. */
export function headerName(field: (typeof CONTENT_HEADERS)[number]): string {
  return field.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`);
}
