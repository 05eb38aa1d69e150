import type { ObjectContent } from "./object-service.ts";

/** Returns an object with this JSON. No cache may keep it. */
export function jsonContent(value: object): ObjectContent {
  const headers = { contentType: "application/json", cacheControl: "no-store" };
  return { body: new TextEncoder().encode(JSON.stringify(value)), headers, metadata: {} };
}
